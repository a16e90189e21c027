"""Uploads that never came, and files that were deleted: their objects go, then their rows."""

from collections.abc import Sequence

from comfyfleet.db import PoolTx
from comfyfleet.kernel.ids import FileId
from comfyfleet.storage import sql
from comfyfleet.storage.model import Disk, File, ObjectKey


async def abandon_uploads(tx: PoolTx, *, age_s: float, rows: int) -> int:
    """A pending file that nobody confirmed for so long counts as deleted."""
    return len(await tx.all(sql.abandon_uploads(age_s=age_s, rows=rows)))


async def list_long_deleted(tx: PoolTx, disk: Disk, *, age_s: float, rows: int) -> list[File]:
    """Deleted so long ago that no signed upload can create the object anew. Erase them, then `forget_files`."""
    return [File.from_row(row) for row in await tx.all(sql.long_deleted(disk, age_s=age_s, rows=rows))]


async def keys_of(tx: PoolTx, file_ids: Sequence[FileId]) -> dict[FileId, ObjectKey]:
    """Of those that are not deleted: what must not be erased."""
    return {row.id: row.path for row in await tx.all(sql.keys_of(list(file_ids)))} if file_ids else {}


async def forget_files(tx: PoolTx, file_ids: Sequence[FileId]) -> int:
    """Their objects are gone: so are the rows. Never before, or nobody would know what to erase."""
    return await tx.run(sql.forget_files(list(file_ids))) if file_ids else 0
