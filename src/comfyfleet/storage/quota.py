"""How much a tenant may keep. What its files have together is added up, not kept in a book that could go wrong."""

from comfyfleet.db import TenantTx
from comfyfleet.kernel.errors import StorageQuotaExceeded
from comfyfleet.storage import sql


async def read_usage(tx: TenantTx) -> int:
    """Bytes of all files that are not deleted: uploads on their way with what was announced, outputs of jobs too."""
    return int((await tx.one(sql.kept_bytes())).total)


async def require_quota(tx: TenantTx, wanted_bytes: int, *, limit_bytes: int | None) -> None:
    """Raises StorageQuotaExceeded. The caller announces the file in the same transaction: two uploads that come at once
    are checked one after the other."""
    if limit_bytes is None:
        return
    await tx.one(sql.hold_quota())
    used_bytes = await read_usage(tx)
    if used_bytes + wanted_bytes > limit_bytes:
        raise StorageQuotaExceeded(used_bytes=used_bytes, limit_bytes=limit_bytes, wanted_bytes=wanted_bytes)
