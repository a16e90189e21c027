"""Retention: of a job that ended long ago no more is kept than that it was, what it cost and what became of it; of a
file that nothing belongs to, nothing."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from comfyfleet import storage, videos
from comfyfleet.db import PoolTx, TenantTx
from comfyfleet.jobs import sql
from comfyfleet.jobs.read import require_unused
from comfyfleet.kernel.ids import EndpointId, FileId, JobId, TenantId, UserId
from comfyfleet.storage import File


async def expire_jobs(tx: PoolTx, *, age_s: float, rows: int) -> tuple[int, list[File]]:
    """How many, and what they made, marked deleted: erase the objects after the commit."""
    expired = [JobId(row.id) for row in await tx.all(sql.expire_jobs(age_s=age_s, rows=rows))]
    return len(expired), await storage.drop_files(tx, await _made_by(tx, expired))


async def list_taken(tx: PoolTx, file_ids: Sequence[FileId]) -> set[FileId]:
    """Those of them that a job under way works on: they must not go yet, however old they are."""
    return {row.file_id for row in await tx.all(sql.taken(list(file_ids)))} if file_ids else set()


async def list_told(tx: PoolTx, endpoint_ids: Sequence[EndpointId]) -> set[EndpointId]:
    """Those of them that hear of a job under way: they must not go yet."""
    rows = await tx.all(sql.told(list(endpoint_ids))) if endpoint_ids else []
    return {row.webhook_endpoint_id for row in rows}


async def list_loose(tx: PoolTx, *, age_s: float, rows: int) -> Mapping[tuple[TenantId, UserId], list[FileId]]:
    """By their owners, those that were uploaded so long ago and are part of nothing."""
    found: dict[tuple[TenantId, UserId], list[FileId]] = defaultdict(list)
    for row in await tx.all(sql.loose_files(age_s=age_s, rows=rows)):
        found[row.tenant_id, row.user_id].append(row.id)
    return found


async def drop_loose(tx: TenantTx, file_ids: Sequence[FileId], user_id: UserId) -> list[File]:
    """Under the lock under which jobs are made. What somebody took since it was listed stays: raises FileInUse."""
    await require_unused(tx, file_ids, user_id)
    free = [each for each in file_ids if await videos.find_video(tx, each, user_id) is None]
    return await storage.delete_files(tx, free, user_id)


async def _made_by(tx: PoolTx, job_ids: Sequence[JobId]) -> list[FileId]:
    return [row.file_id for row in await tx.all(sql.made_by(list(job_ids)))] if job_ids else []
