"""A job takes a video, and ends. Only the last one that took it decides: an older one that ends changes nothing."""

from typing import Any

from comfyfleet.db import TenantTx
from comfyfleet.kernel.ids import FileId, JobId, UserId, VideoId
from comfyfleet.videos import sql
from comfyfleet.videos.lifecycle import VIDEO, VideoEvent
from comfyfleet.videos.model import Video
from comfyfleet.videos.read import read_video


async def start_processing(tx: TenantTx, video_id: VideoId, user_id: UserId, *, job_id: JobId) -> Video:
    """In the transaction that creates the job: whoever polls the video must not meet an older job's outcome.

    Raises `NotFound`, and `IllegalMove` for one that has expired.
    """
    row = await tx.maybe(sql.start_processing(video_id, user_id, job_id))
    if row is None:
        found = await read_video(tx, video_id, user_id)
        VIDEO.next(found.status, VideoEvent.START)
        # It changed between the two looks.
        row = await tx.one(sql.start_processing(video_id, user_id, job_id))
    return Video.from_row(row)


async def complete_video(
    tx: TenantTx,
    video_id: VideoId,
    processed_file_id: FileId,
    *,
    job_id: JobId,
    media_type: str | None = None,
    details: dict[str, Any] | None = None,
) -> Video | None:
    """None: it was told before, or the video follows another job by now, or is gone. Nothing moved."""
    row = await tx.maybe(
        sql.complete_video(),
        video_id=video_id,
        of_job_id=job_id,
        made_file_id=processed_file_id,
        made_type=media_type,
        details=details or {},
    )
    return Video.from_row(row) if row is not None else None


async def fail_video(tx: TenantTx, video_id: VideoId, error: str, *, job_id: JobId) -> Video | None:
    """`error` is shown to the user. A cancelled job fails its video with `cancelled`. None as above."""
    row = await tx.maybe(sql.fail_video(), video_id=video_id, of_job_id=job_id, details={"error": error})
    return Video.from_row(row) if row is not None else None
