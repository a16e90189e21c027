"""A user's media become a video: from an upload, or by a job that needs none."""

from comfyfleet import storage
from comfyfleet.db import TenantTx
from comfyfleet.kernel.ids import JobId, UserId, VideoId, new_id
from comfyfleet.videos import sql
from comfyfleet.videos.model import TITLE_CHARS_MAX, NewVideo, Video


async def create_video(tx: TenantTx, new: NewVideo) -> Video:
    """Its two files count as stored from here on. The same upload again is the video that is there, and the poster
    that was made for nothing goes."""
    await storage.confirm_upload(tx, new.original_file_id, new.user_id)
    row = await tx.maybe(sql.insert_video(VideoId(new_id()), new))
    if row is None:
        await storage.delete_files(tx, [new.poster_file_id], new.user_id)
        return Video.from_row(await tx.one(sql.by_original(new.original_file_id, new.user_id)))
    await storage.confirm_upload(tx, new.poster_file_id, new.user_id)
    return Video.from_row(row)


async def make_video(tx: TenantTx, user_id: UserId, *, job_id: JobId, title: str) -> Video:
    """For a job without an input, in the transaction that creates the job."""
    made = {"id": new_id(), "user_id": user_id, "job_id": job_id, "title": title[:TITLE_CHARS_MAX]}
    return Video.from_row(await tx.one(sql.insert_made(), **made))
