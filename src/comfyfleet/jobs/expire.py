"""Retention: of a job that ended long ago no more is kept than that it was, what it cost and what became of it."""

from collections.abc import Sequence

from comfyfleet import storage
from comfyfleet.db import PoolTx
from comfyfleet.jobs import sql
from comfyfleet.kernel.ids import FileId, JobId
from comfyfleet.storage import File


async def expire_jobs(tx: PoolTx, *, age_s: float, rows: int) -> tuple[int, list[File]]:
    """How many, and what they made, marked deleted: erase the objects after the commit."""
    expired = [JobId(row.id) for row in await tx.all(sql.expire_jobs(age_s=age_s, rows=rows))]
    return len(expired), await storage.drop_files(tx, await _made_by(tx, expired))


async def list_taken(tx: PoolTx, file_ids: Sequence[FileId]) -> set[FileId]:
    """Those of them that a job under way works on: they must not go yet, however old they are."""
    return {row.file_id for row in await tx.all(sql.taken(list(file_ids)))} if file_ids else set()


async def _made_by(tx: PoolTx, job_ids: Sequence[JobId]) -> list[FileId]:
    return [row.file_id for row in await tx.all(sql.made_by(list(job_ids)))] if job_ids else []
