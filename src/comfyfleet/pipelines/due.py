"""Runs that somebody should look at: something has ended, or been decided, since anybody did."""

from dataclasses import dataclass

from comfyfleet.db import PoolTx
from comfyfleet.kernel.ids import RunId, TenantId
from comfyfleet.pipelines import sql


@dataclass(frozen=True, slots=True)
class DueRun:
    id: RunId
    tenant_id: TenantId
    effects: frozenset[str]


async def list_due(tx: PoolTx, *, rows: int) -> list[DueRun]:
    """Of all tenants of a pool, whoever waited longest first."""
    return [
        DueRun(row.id, row.tenant_id, frozenset(step["effect"] for step in row.steps))
        for row in await tx.all(sql.due_runs(rows=rows))
    ]
