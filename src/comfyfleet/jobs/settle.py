"""What the queue decided comes home: the job's status and its tokens, in one transaction, once."""

from comfyfleet import ledger
from comfyfleet.db import TenantTx
from comfyfleet.dispatch import DispatchStatus
from comfyfleet.dispatch.settlements import Settlement
from comfyfleet.jobs import sql
from comfyfleet.jobs.lifecycle import JOB, JobEvent
from comfyfleet.jobs.read import get_job
from comfyfleet.jobs.sanitize import sanitize_worker_error
from comfyfleet.kernel.ids import JobId

EVENTS = {
    DispatchStatus.COMPLETED: JobEvent.COMPLETE,
    DispatchStatus.FAILED: JobEvent.FAIL,
    DispatchStatus.CANCELLED: JobEvent.CANCEL,
}
CANCELLED = "Cancelled."


async def apply_settlement(tx: TenantTx, settlement: Settlement) -> bool:
    """False: it had been applied before, and nothing moved.

    A missing job or reservation, or a job that ended otherwise, is an error: somebody has to look at it.
    """
    event, job_id = EVENTS[settlement.outcome], JobId(settlement.dispatch_id)
    moved = await tx.maybe(
        sql.end_job(
            job_id,
            event,
            error_message=_message(settlement, event),
            error_class=settlement.error_class,
            provider_job_id=settlement.provider_job_id,
        )
    )
    if moved is None:
        job = await get_job(tx, job_id)
        if job.status != JOB.target(event):
            JOB.next(job.status, event)
        return False
    settle_tokens = ledger.consume_tokens if event is JobEvent.COMPLETE else ledger.refund_tokens
    await settle_tokens(tx, job_id)
    return True


async def start_job(tx: TenantTx, job_id: JobId) -> bool:
    """A worker has it. Told as best it goes: False when it has started or ended already."""
    return await tx.maybe(sql.start_job(job_id)) is not None


def _message(settlement: Settlement, event: JobEvent) -> str | None:
    if event is JobEvent.COMPLETE:
        return None
    if event is JobEvent.CANCEL:
        return CANCELLED
    return sanitize_worker_error(settlement.error)
