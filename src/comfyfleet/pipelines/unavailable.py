"""Runs that paused because an effect could not be used go on by themselves once it can."""

from dataclasses import dataclass
from typing import Self

from comfyfleet.db import PoolTx, TenantTx
from comfyfleet.kernel.errors import EffectUnavailable
from comfyfleet.kernel.ids import RunId, TenantId
from comfyfleet.pipelines import sql
from comfyfleet.pipelines.control import go_on_again
from comfyfleet.pipelines.lifecycle import RunStatus

# Of a run's `status_reason`; then come the effect, a colon, and the reason in words.
UNAVAILABLE = "effect_unavailable:"


@dataclass(frozen=True, slots=True)
class PausedRun:
    """`effect`: the one that could not be used."""

    id: RunId
    tenant_id: TenantId
    effect: str

    @classmethod
    def of(cls, run_id: RunId, tenant_id: TenantId, reason: str) -> Self:
        return cls(run_id, tenant_id, reason.removeprefix(UNAVAILABLE).partition(":")[0])


def pause_reason(problem: EffectUnavailable) -> str:
    return f"{UNAVAILABLE}{problem.facts['effect']}: {problem.message}"


async def list_unavailable(tx: PoolTx, *, rows: int) -> list[PausedRun]:
    """Of all tenants of a pool, the oldest first."""
    found = await tx.all(sql.paused_because(UNAVAILABLE, rows=rows))
    return [PausedRun.of(row.id, row.tenant_id, row.status_reason) for row in found]


async def resume_available(tx: TenantTx, run: PausedRun) -> bool:
    """False: it has moved on, or waits for something else by now."""
    row = await tx.maybe(sql.hold_run_of_house(), of_run=run.id)
    if row is None or row.status != RunStatus.PAUSED or not (row.status_reason or "").startswith(UNAVAILABLE):
        return False
    await go_on_again(tx, run.id)
    return True
