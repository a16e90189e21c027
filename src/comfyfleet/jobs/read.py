"""Look jobs up."""

from comfyfleet.db import TenantTx
from comfyfleet.jobs import sql
from comfyfleet.jobs.model import Job
from comfyfleet.kernel.errors import NotFound
from comfyfleet.kernel.ids import JobId


async def get_job(tx: TenantTx, job_id: JobId) -> Job:
    row = await tx.maybe(sql.by_id(job_id))
    if row is None:
        raise NotFound("job", job_id)
    return Job.from_row(row)
