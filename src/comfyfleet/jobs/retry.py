"""A job that ended is tried again by hand: as a new job, newly reserved. The old one never changes."""

from comfyfleet.db import TenantTx
from comfyfleet.dispatch.model import Provider
from comfyfleet.jobs import sql
from comfyfleet.jobs.create import create_job
from comfyfleet.jobs.lifecycle import JOB
from comfyfleet.jobs.model import Job, NewJob
from comfyfleet.kernel.errors import IllegalMove, NotFound
from comfyfleet.kernel.ids import JobId, new_id


async def retry_job(tx: TenantTx, job_id: JobId) -> Job:
    """The same request of the same user at the same price."""
    row = await tx.maybe(sql.whole(job_id))
    if row is None:
        raise NotFound("job", job_id)
    if row.status not in JOB.terminal:
        raise IllegalMove("job", state=row.status, event="retry")
    again = NewJob(
        id=JobId(new_id()),
        user_id=row.user_id,
        workflow_id=row.workflow_id,
        structure_hash=row.structure_hash,
        provider=Provider(row.provider),
        payload={name: value for name, value in row.payload.items() if name != "job_id"},
        priority=row.priority,
        reserved_tokens=row.reserved_tokens,
        expected_s=row.expected_s,
        run_deadline_s=row.run_deadline_s,
        retry_of=job_id,
    )
    return await create_job(tx, again)
