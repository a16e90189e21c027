"""What is counted of jobs and their tokens, once their transaction has been committed."""

from collections.abc import Iterable

from comfyfleet.jobs.lifecycle import JobStatus
from comfyfleet.jobs.model import Job
from comfyfleet.jobs.settle import Ended
from comfyfleet.kernel.traceparent import trace_id_of
from comfyfleet.metrics.facts import JobSettled, NoteFact, TokensMoved

RESERVE = "reserve"


def count_new(note: NoteFact, new: Iterable[Job]) -> None:
    """Jobs that were made, and what was reserved for them."""
    if tokens := sum(job.reserved_tokens for job in new):
        note(TokensMoved(RESERVE, tokens))


def count_ended(note: NoteFact, ended: Iterable[Ended]) -> None:
    for each in ended:
        note(_settled(each))


def _settled(ended: Ended) -> JobSettled:
    job = ended.job
    over_at, started_at = job.completed_at or job.created_at, job.started_at
    return JobSettled(
        job.id,
        job.tenant_id,
        job.workflow_id,
        outcome=(job.error_class or job.status.value) if job.status is JobStatus.FAILED else job.status.value,
        tokens=job.reserved_tokens,
        total_s=max(0.0, (over_at - job.created_at).total_seconds()),
        wait_s=None if started_at is None else max(0.0, (started_at - job.created_at).total_seconds()),
        run_s=ended.seconds,
        trace_id=trace_id_of(ended.traceparent),
    )
