"""A video goes, and its files with it."""

from comfyfleet import storage
from comfyfleet.db import TenantTx
from comfyfleet.kernel.errors import IllegalMove
from comfyfleet.kernel.ids import UserId, VideoId
from comfyfleet.storage import File
from comfyfleet.videos import sql
from comfyfleet.videos.model import Video
from comfyfleet.videos.read import read_video


async def delete_video(tx: TenantTx, video_id: VideoId, user_id: UserId) -> list[File]:
    """Its files, marked deleted: erase their objects after the commit. Who crashes before leaves that to upkeep.

    Raises `IllegalMove` while a job works on it.
    """
    row = await tx.maybe(sql.delete_video(video_id, user_id))
    if row is None:
        found = await read_video(tx, video_id, user_id)
        raise IllegalMove("video", state=found.status, event="delete")
    return await storage.delete_files(tx, Video.from_row(row).file_ids, user_id)
