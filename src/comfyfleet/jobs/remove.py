"""A user throws a job away: it is not seen any more, and what it made goes, but for what a video shows."""

from comfyfleet import storage, videos
from comfyfleet.db import TenantTx
from comfyfleet.jobs import sql
from comfyfleet.jobs.read import list_outputs, read_job, require_unused
from comfyfleet.kernel.errors import IllegalMove, NotFound
from comfyfleet.kernel.ids import FileId, JobId, UserId, VideoId
from comfyfleet.storage import File


async def delete_job(tx: TenantTx, job_id: JobId, user_id: UserId) -> list[File]:
    """Its files, marked deleted: erase their objects after the commit.

    Raises `IllegalMove` for one that is under way: cancel it first; `FileInUse` if another works on what it made.
    """
    made = [each.file_id for each in (await list_outputs(tx, [job_id])).get(job_id, [])]
    if made:
        await require_unused(tx, made, user_id)
    row = await tx.maybe(sql.hide_job(job_id, user_id))
    if row is None:
        found = await read_job(tx, job_id, user_id)
        raise IllegalMove("job", state=found.status, event="delete")
    shown = await _shown_by(tx, row.video_id, user_id)
    return await storage.delete_files(tx, [each for each in made if each not in shown], user_id)


async def _shown_by(tx: TenantTx, video_id: VideoId | None, user_id: UserId) -> set[FileId]:
    try:
        return set((await videos.read_video(tx, video_id, user_id)).file_ids) if video_id is not None else set()
    except NotFound:
        return set()
