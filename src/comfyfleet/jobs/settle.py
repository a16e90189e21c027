"""What the queue decided comes home: a job's status, files, video and tokens, in one transaction, once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from comfyfleet import ledger, storage, videos
from comfyfleet.db import TenantTx
from comfyfleet.db.direct import each_of, length_of
from comfyfleet.dispatch import DispatchStatus
from comfyfleet.dispatch.settlements import Settlement
from comfyfleet.jobs import sql
from comfyfleet.jobs.lifecycle import JOB, JobEvent, JobStatus
from comfyfleet.jobs.model import Job
from comfyfleet.jobs.read import get_job
from comfyfleet.jobs.sanitize import sanitize_worker_error
from comfyfleet.jobs.tell import tell_moved
from comfyfleet.kernel.ids import JobId, RunId, UserId
from comfyfleet.storage import MadeFile, ObjectKey

EVENTS = {
    DispatchStatus.COMPLETED: JobEvent.COMPLETE,
    DispatchStatus.FAILED: JobEvent.FAIL,
    DispatchStatus.CANCELLED: JobEvent.CANCEL,
}
CANCELLED = "Cancelled."
VIDEO_CANCELLED = "cancelled"  # the word that pollers of videos know
NO_OUTPUT = "Processing ended without a result."


@dataclass(frozen=True, slots=True)
class Ended:
    """A job as it is now that it is over, and all that it made, the result first. `seconds`: what its run took."""

    job: Job
    made: Sequence[MadeFile]
    seconds: float | None
    traceparent: str | None = None


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose job it is, of which run a step, and whether it is known to have begun."""

    user_id: UserId
    run_id: RunId | None
    is_started: bool = False


async def apply_settlement(tx: TenantTx, settlement: Settlement, *, is_started: bool = False) -> Ended | None:
    """None: it had been applied before, and nothing moved. `is_started`: it is known to have begun.

    A missing job or reservation, or a job that ended otherwise, is an error: somebody has to look at it.
    """
    event, job_id = EVENTS[settlement.outcome], JobId(settlement.dispatch_id)
    # One that failed or was cancelled while it waited on its worker has not begun.
    ran_s = (
        None if settlement.never_began and not is_started and event is not JobEvent.COMPLETE else settlement.duration_s
    )
    if ran_s is not None and not is_started:
        # Most that are over so soon, or whose replica died, have not been told to have begun.
        await start_job(tx, job_id, ago_s=ran_s)
    made = _made(settlement) if event is JobEvent.COMPLETE else []
    moved = await tx.maybe(
        sql.end_job(event),
        job_id=job_id,
        error_message=_message(settlement, event),
        error_class=settlement.error_class,
        from_now_s=-ran_s if ran_s is not None else None,
        made_file_id=made[0].id if made else None,
        prompt_id=settlement.provider_job_id,
    )
    if moved is None:
        job = await get_job(tx, job_id)
        if job.status != JOB.target(event):
            JOB.next(job.status, event)
        return None
    settle_tokens = ledger.consume_tokens if event is JobEvent.COMPLETE else ledger.refund_tokens
    await settle_tokens(tx, job_id)
    job = Job.from_row(moved)
    await _keep_outputs(tx, job, made)
    await _move_video(tx, job, settlement, made)
    await tell_moved(tx, job)
    return Ended(job, made, settlement.duration_s, settlement.traceparent)


async def start_job(tx: TenantTx, job_id: JobId, *, ago_s: float = 0.0) -> bool:
    """A worker has it, or had it. False when it has started or ended already."""
    row = await tx.maybe(sql.start_job(), job_id=job_id, from_now_s=-ago_s)
    if row is None:
        return False
    await tell_moved(tx, Job.from_row(row))
    return True


async def read_owners(tx: TenantTx, settlements: Sequence[Settlement]) -> dict[JobId, Owner]:
    job_ids = [JobId(each.dispatch_id) for each in settlements]
    rows = await tx.all(sql.owners_of(length_of(job_ids)), **each_of("job", job_ids)) if job_ids else []
    return {row.id: Owner(row.user_id, row.run_id, row.status != JobStatus.QUEUED) for row in rows}


def _made(settlement: Settlement) -> list[MadeFile]:
    """Every object that the worker named, each found in the store before it was believed. The first is the result.
    The worker's hash of it is not taken over: nobody has checked it, and workers refuse inputs whose hash is wrong."""
    detail = settlement.detail
    attempt: dict[str, Any] = {"job_id": str(settlement.dispatch_id), "attempt": detail.get("epoch")}
    known = {"prompt_id": settlement.provider_job_id, "worker": detail.get("worker")}
    attempt |= {name: value for name, value in known.items() if value}
    return [
        storage.made_file(
            ObjectKey(output["path"]),
            disk=detail["disk"],
            name=output["name"],
            media_type=output["mime_type"],
            size_bytes=output["size"],
            metadata={**output.get("metadata", {}), **attempt},
        )
        for output in detail.get("outputs", [])
    ]


async def _keep_outputs(tx: TenantTx, job: Job, made: Sequence[MadeFile]) -> None:
    rows = [
        {"job_id": job.id, "position": position, "file_id": file.id, "is_primary": position == 0}
        for position, file in enumerate(made)
    ]
    if rows:
        await storage.record_made(tx, made, user_id=job.user_id)
        await tx.run_each(sql.insert_files(sql.OUTPUT), rows)


async def _move_video(tx: TenantTx, job: Job, settlement: Settlement, made: Sequence[MadeFile]) -> None:
    if job.video_id is None:
        return
    if made:
        told = {"duration_seconds": settlement.duration_s, "worker": settlement.detail.get("worker")}
        details = {**{name: value for name, value in told.items() if value is not None}, "outputs": len(made)}
        result = made[0]
        await videos.complete_video(
            tx, job.video_id, result.id, job_id=job.id, media_type=result.media_type, details=details
        )
        return
    errors = {JobStatus.COMPLETED: NO_OUTPUT, JobStatus.CANCELLED: VIDEO_CANCELLED}
    error = errors.get(job.status, job.error_message) or NO_OUTPUT
    await videos.fail_video(tx, job.video_id, error, job_id=job.id)


def _message(settlement: Settlement, event: JobEvent) -> str | None:
    if event is JobEvent.COMPLETE:
        return None
    if event is JobEvent.CANCEL:
        return CANCELLED
    return sanitize_worker_error(settlement.error)
