"""Look videos up. Another user's is not there."""

from typing import Literal

from comfyfleet import storage
from comfyfleet.db import TenantTx
from comfyfleet.kernel.errors import InvalidInput, NotFound
from comfyfleet.kernel.ids import FileId, UserId, VideoId
from comfyfleet.kernel.page import Page, PageRequest
from comfyfleet.storage import File, FileStatus
from comfyfleet.videos import sql
from comfyfleet.videos.lifecycle import VideoStatus
from comfyfleet.videos.model import Video


async def read_video(tx: TenantTx, video_id: VideoId, user_id: UserId) -> Video:
    row = await tx.maybe(sql.by_id(video_id, user_id))
    if row is None:
        raise NotFound("video", video_id)
    return Video.from_row(row)


async def find_video(tx: TenantTx, original_file_id: FileId, user_id: UserId) -> Video | None:
    """The one that was made of this upload."""
    row = await tx.maybe(sql.by_original(original_file_id, user_id))
    return Video.from_row(row) if row is not None else None


async def read_input(tx: TenantTx, video_id: VideoId, user_id: UserId) -> File:
    """The upload, for a job that is to work on it."""
    video = await read_video(tx, video_id, user_id)
    files = await storage.read_files(tx, video.file_ids, user_id)
    found = files.get(video.original_file_id) if video.original_file_id else None
    if found is None or found.status is not FileStatus.STORED:
        raise InvalidInput("video_id", "this video's upload is not there any more")
    return found


async def list_videos(
    tx: TenantTx,
    user_id: UserId,
    request: PageRequest,
    *,
    status: VideoStatus | None = None,
    kind: Literal["image", "video"] | None = None,
) -> Page[Video]:
    """Newest first."""
    rows = await tx.all(sql.video_page(user_id, status=status, kind=kind, after=request.after, rows=request.rows))
    return Page.cut([Video.from_row(row) for row in rows], [row.id for row in rows], request)
