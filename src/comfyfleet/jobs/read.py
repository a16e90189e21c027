"""Look jobs up. Another user's is not there."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any

from comfyfleet import ledger
from comfyfleet.db import TenantTx
from comfyfleet.jobs import sql
from comfyfleet.jobs.lifecycle import JobStatus
from comfyfleet.jobs.model import Job, JobFile
from comfyfleet.kernel.errors import FileInUse, NotFound
from comfyfleet.kernel.ids import EffectId, FileId, JobId, UserId, VideoId
from comfyfleet.kernel.page import Page, PageRequest


async def get_job(tx: TenantTx, job_id: JobId) -> Job:
    """Whoever's it is: for the house itself."""
    row = await tx.maybe(sql.by_id(job_id))
    if row is None:
        raise NotFound("job", job_id)
    return Job.from_row(row)


async def read_job(tx: TenantTx, job_id: JobId, user_id: UserId) -> Job:
    row = await tx.maybe(sql.of_user(job_id, user_id))
    if row is None:
        raise NotFound("job", job_id)
    return Job.from_row(row)


async def read_whole(tx: TenantTx, job_id: JobId) -> tuple[Job, dict[str, Any]]:
    """With what its worker got; that is empty once the job has been deleted or has expired. For the house itself."""
    row = await tx.maybe(sql.whole(job_id))
    if row is None:
        raise NotFound("job", job_id)
    return Job.from_row(row), dict(row.payload)


async def read_payload(tx: TenantTx, job_id: JobId) -> dict[str, Any]:
    """What its worker got, as long as it is kept. For the house itself."""
    _, payload = await read_whole(tx, job_id)
    if not payload:
        raise NotFound("graph of the job", job_id)
    return payload


async def list_jobs(
    tx: TenantTx,
    user_id: UserId,
    request: PageRequest,
    *,
    status: JobStatus | None = None,
    effect_id: EffectId | None = None,
    video_id: VideoId | None = None,
) -> Page[Job]:
    """Newest first."""
    rows = await tx.all(
        sql.job_page(
            user_id, status=status, effect_id=effect_id, video_id=video_id, after=request.after, rows=request.rows
        )
    )
    return Page.cut([Job.from_row(row) for row in rows], [row.id for row in rows], request)


async def list_outputs(tx: TenantTx, job_ids: Sequence[JobId]) -> dict[JobId, list[JobFile]]:
    """In the order in which their worker named them."""
    found: dict[JobId, list[JobFile]] = defaultdict(list)
    for row in await tx.all(sql.files_of(list(job_ids), sql.OUTPUT)) if job_ids else []:
        found[row.job_id].append(JobFile(row.job_id, row.file_id, row.is_primary))
    return found


async def require_unused(tx: TenantTx, file_ids: Sequence[FileId], user_id: UserId) -> None:
    """Before files go: a job that is to work on one must find it. Raises FileInUse."""
    # The lock under which jobs are made: none that takes them can come until the files are gone.
    await ledger.hold_wallet(tx, user_id)
    row = await tx.maybe(sql.active_with_file(list(file_ids), user_id)) if file_ids else None
    if row is not None:
        raise FileInUse(row.id)


async def effects_of(tx: TenantTx, job_ids: Collection[JobId]) -> dict[JobId, str | None]:
    """By its slug, what each was a job of; also of those that were thrown away."""
    return {row.id: row.effect_slug for row in await tx.all(sql.effects_of(sorted(job_ids)))} if job_ids else {}
