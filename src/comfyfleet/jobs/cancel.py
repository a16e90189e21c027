"""A user no longer wants a job. The queue decides: what waits ends at once, what runs is told, and may finish first."""

from collections.abc import Sequence

from comfyfleet.db import PoolTx, TenantTx
from comfyfleet.jobs import sql
from comfyfleet.jobs.lifecycle import JOB, JobEvent
from comfyfleet.jobs.model import Job, Submission
from comfyfleet.jobs.read import read_job
from comfyfleet.kernel.ids import JobId, UserId


async def request_cancel(tx: TenantTx, job_id: JobId, user_id: UserId) -> tuple[Job, Submission | None]:
    """Written down first, so that a crash after it leaves a trace. With the job, what the queue may not have yet; None:
    it is cancelled already, and nothing is to be done.

    Raises IllegalMove for a job that ended otherwise.
    """
    job = await read_job(tx, job_id, user_id)
    if job.status == JOB.target(JobEvent.CANCEL):
        return job, None
    JOB.next(job.status, JobEvent.CANCEL)
    row = await tx.maybe(sql.request_cancel(job_id))
    if row is None:
        # It ended between the two looks.
        return await request_cancel(tx, job_id, user_id)
    whole = await tx.one(sql.whole_to_send(job_id))
    return Job.from_row(row), Submission.from_row(whole, job_ended=False)


async def request_cancels(tx: TenantTx, job_ids: Sequence[JobId]) -> None:
    """With whatever made them unwanted: if nobody lives to tell the queue, upkeep does."""
    if job_ids:
        await tx.run(sql.request_cancels(list(job_ids)))


async def unheard_cancels(tx: PoolTx, *, age_s: float, rows: int) -> list[JobId]:
    """Whoever wrote the wish down may have died before the queue knew."""
    return [row.id for row in await tx.all(sql.unheard_cancels(age_s=age_s, rows=rows))]
