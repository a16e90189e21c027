"""A user throws a job away: it is not seen any more, and what it made goes, but for what a video shows."""

from comfyfleet import storage, videos
from comfyfleet.db import TenantTx
from comfyfleet.jobs import sql
from comfyfleet.jobs.read import list_outputs, read_job
from comfyfleet.kernel.errors import IllegalMove, NotFound
from comfyfleet.kernel.ids import JobId, UserId
from comfyfleet.storage import File


async def delete_job(tx: TenantTx, job_id: JobId, user_id: UserId) -> list[File]:
    """Its files, marked deleted: erase their objects after the commit.

    Raises `IllegalMove` for one that is under way: cancel it first.
    """
    row = await tx.maybe(sql.hide_job(job_id, user_id))
    if row is None:
        found = await read_job(tx, job_id, user_id)
        raise IllegalMove("job", state=found.status, event="delete")
    shown = set()
    if row.video_id is not None:
        try:
            shown = set((await videos.read_video(tx, row.video_id, user_id)).file_ids)
        except NotFound:
            shown = set()
    made = (await list_outputs(tx, [job_id])).get(job_id, [])
    return await storage.delete_files(tx, [each.file_id for each in made if each.file_id not in shown], user_id)
