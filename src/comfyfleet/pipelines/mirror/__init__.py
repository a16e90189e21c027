"""What has been made since, over a whole pool, with the name that each has in a folder."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from comfyfleet.db import PoolTx
from comfyfleet.kernel.ids import CandidateId, TenantId
from comfyfleet.pipelines.mirror import sql
from comfyfleet.pipelines.names import extension_of, file_name
from comfyfleet.storage import ObjectKey


@dataclass(frozen=True, slots=True)
class Made:
    """`name`: below the tenant's own folder."""

    id: CandidateId
    tenant_id: TenantId
    name: str
    key: ObjectKey
    disk: str
    size_bytes: int
    created_at: datetime


async def list_made(tx: PoolTx, *, after: UUID | None, rows: int) -> Sequence[Made]:
    """Oldest first; those whose pictures are there."""
    return [
        Made(
            row.id,
            row.tenant_id,
            file_name(
                row.target_folder,
                row.steps[row.position]["slug"],
                str(row.id),
                row.created_at,
                extension_of(row.mime_type),
            ),
            ObjectKey(row.path),
            row.disk,
            row.size,
            row.created_at,
        )
        for row in await tx.all(sql.made_after(after, rows=rows))
    ]
