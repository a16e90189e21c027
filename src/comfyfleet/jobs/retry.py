"""A job that ended is tried again by hand: as a new job, newly reserved. The old one never changes."""

from dataclasses import replace
from typing import Any

from comfyfleet import ledger, storage, videos
from comfyfleet.db import TenantTx
from comfyfleet.dispatch.model import Provider
from comfyfleet.jobs import sql
from comfyfleet.jobs.create import create_job
from comfyfleet.jobs.lifecycle import JOB
from comfyfleet.jobs.model import Job, JobRules, NewJob
from comfyfleet.jobs.order import digest_request
from comfyfleet.jobs.place import Placed, find_ordered, follow_video, keep_inputs, require_room
from comfyfleet.jobs.tell import tell_queued
from comfyfleet.kernel.errors import IllegalMove, InvalidInput, NotFound
from comfyfleet.kernel.ids import FileId, JobId, RunId, UserId, VideoId, new_id
from comfyfleet.storage import FileStatus
from comfyfleet.videos import VideoStatus


async def retry_job(tx: TenantTx, job_id: JobId) -> Job:
    """The same request of the same user at the same price, whatever its limits: for the house itself."""
    row = await tx.maybe(sql.whole(job_id))
    if row is None:
        raise NotFound("job", job_id)
    return await create_job(tx, _again(row))


async def retry_order(
    tx: TenantTx,
    job_id: JobId,
    user_id: UserId,
    *,
    idempotency_key: str | None = None,
    rules: JobRules,
    run_id: RunId | None = None,
    traceparent: str | None = None,
) -> Placed:
    """As its user asks for it: once per key, within the limits, and only while what it works on is there.

    With `run_id` it is that run's job again; without, it is the user's own, whatever the old one was.
    """
    await ledger.hold_wallet(tx, user_id)
    before = await find_retried(tx, job_id, user_id, idempotency_key)
    if before is not None:
        return Placed(before, replayed=True)
    row = await tx.maybe(sql.whole_of_user(job_id, user_id))
    if row is None:
        raise NotFound("job", job_id)
    again = _again(row)
    if run_id is None:
        await require_room(tx, user_id, rules)
    inputs = await _require_inputs(tx, job_id, user_id)
    video_id = await _video(tx, row)
    shown = await follow_video(tx, user_id, again.id, video_id=video_id, title=row.effect_slug or "Job")
    job = await create_job(
        tx,
        replace(
            again,
            video_id=shown,
            idempotency_key=idempotency_key,
            request_digest=_digest(job_id),
            run_id=run_id,
            # The limit may have been lowered since.
            priority=min(again.priority, rules.priority_max),
            traceparent=traceparent,
        ),
    )
    await keep_inputs(tx, job.id, inputs, primary=row.input_file_id)
    await tell_queued(tx, job)
    return Placed(job, replayed=False)


async def find_retried(tx: TenantTx, job_id: JobId, user_id: UserId, idempotency_key: str | None) -> Job | None:
    """The job that this key made of it. Raises KeyReused for another request's."""
    return await find_ordered(tx, user_id, idempotency_key, _digest(job_id))


def _digest(job_id: JobId) -> str:
    return digest_request("retry", job_id)


async def _require_inputs(tx: TenantTx, job_id: JobId, user_id: UserId) -> list[FileId]:
    ids = [FileId(row.file_id) for row in await tx.all(sql.files_of([job_id], sql.INPUT))]
    found = await storage.read_files(tx, ids, user_id)
    if any(each not in found or found[each].status is not FileStatus.STORED for each in ids):
        raise InvalidInput("job_id", "a file that this job worked on is not there any more")
    return ids


async def _video(tx: TenantTx, row: Any) -> VideoId | None:
    """The old job's, if it is still there to show what becomes of the new one."""
    try:
        video = await videos.read_video(tx, row.video_id, row.user_id)
    except NotFound:
        return None
    return None if video.status is VideoStatus.EXPIRED else video.id


def _again(row: Any) -> NewJob:
    gone = "deleted" if row.deleted_at else "expired" if row.expired_at else None
    if row.status not in JOB.terminal or gone is not None:
        # What it ran with is no longer known.
        raise IllegalMove("job", state=gone or row.status, event="retry")
    return NewJob(
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
        retry_of=row.id,
        effect_id=row.effect_id,
        effect_slug=row.effect_slug,
        workflow_version=row.workflow_version,
        input_file_id=row.input_file_id,
        properties=row.properties,
        webhook_endpoint_id=row.webhook_endpoint_id,
    )
