"""Settlements: what each finished dispatch still owes its tenant's database. Written with the outcome, applied once."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self
from uuid import UUID

from comfyfleet.db import ControlTx
from comfyfleet.db.dialect import batch
from comfyfleet.dispatch.lifecycle import NOT_BEGUN, DispatchStatus
from comfyfleet.dispatch.settlements import sql
from comfyfleet.kernel.errors import NotFound
from comfyfleet.kernel.ids import DispatchId, SettlementId, TenantId
from comfyfleet.kernel.page import Page, PageRequest

# Whoever takes settlements has them to himself for so long; if he dies, they are due again after it.
CLAIM_S = 30.0
ERROR_CHARS_MAX = 1_000


@dataclass(frozen=True, slots=True)
class Settlement:
    """`detail` is what the worker reported: outputs, timings."""

    id: SettlementId
    dispatch_id: DispatchId
    tenant_id: TenantId
    pool: str
    outcome: DispatchStatus
    error_class: str | None
    error: str | None
    provider_job_id: str | None
    detail: dict[str, Any]
    tries: int
    last_error: str | None
    parked_at: datetime | None
    created_at: datetime
    duration_s: float | None = None
    never_began: bool = False  # as far as its worker said: no server worked on it
    traceparent: str | None = None  # of its job

    @classmethod
    def from_row(cls, row: Any) -> Self:
        said: dict[str, Any] = json.loads(row.detail)
        return cls(
            id=row.id,
            dispatch_id=row.dispatch_id,
            tenant_id=row.tenant_id,
            pool=row.pool,
            outcome=DispatchStatus(row.outcome),
            error_class=said.get("error_class"),
            error=said.get("error"),
            provider_job_id=row.provider_job_id,
            detail=said,
            tries=row.tries,
            last_error=row.last_error,
            parked_at=row.parked_at,
            created_at=row.created_at,
            duration_s=None if row.duration_seconds is None else round(row.duration_seconds, 3),
            never_began=row.service_status in NOT_BEGUN,
            traceparent=row.traceparent,
        )


async def due_settlements(tx: ControlTx, pool: str, *, rows: int, claim_s: float = CLAIM_S) -> list[Settlement]:
    """Taken for `claim_s`, so that the transaction can end before another database is asked. Oldest first."""
    taken = [row.id for row in await tx.all(sql.take_due(pool, rows=rows, claim_s=claim_s))]
    return await _read(tx, taken)


async def claim_settlement(tx: ControlTx, dispatch_id: DispatchId) -> Settlement | None:
    """For one who wants it applied at once; None: it is in other hands, or was applied."""
    row = await tx.maybe(sql.claim(dispatch_id, claim_s=CLAIM_S))
    return (await _read(tx, [row.id]))[0] if row is not None else None


async def mark_applied(tx: ControlTx, ids: Sequence[SettlementId]) -> int:
    """Also on the dispatch, which from then on may be forgotten in time."""
    if not ids:
        return 0
    applied = [row.dispatch_id for row in await tx.all(sql.mark_applied(), rows=_rows(ids))]
    if applied:
        await tx.run(sql.mark_settled(), rows=_rows(applied))
    return len(applied)


async def release(tx: ControlTx, ids: Sequence[SettlementId]) -> None:
    """Taken, and not tried: due again at once, and it does not count as a try."""
    if ids:
        await tx.run(sql.release(), rows=_rows(ids))


async def postpone(tx: ControlTx, settlement_id: SettlementId, *, error: str, pause_s: float) -> None:
    await tx.maybe(sql.postpone(settlement_id, error=error[:ERROR_CHARS_MAX], pause_s=pause_s))


async def park(tx: ControlTx, settlement_id: SettlementId, *, error: str) -> None:
    """It cannot be applied as things are: set aside for a person to look at. Nothing is lost, nobody is held up."""
    await tx.maybe(sql.park(settlement_id, error=error[:ERROR_CHARS_MAX]))


async def list_parked(tx: ControlTx, request: PageRequest) -> Page[Settlement]:
    """Newest first."""
    rows = await tx.all(sql.parked_page(after=request.after, rows=request.rows))
    return Page.cut([Settlement.from_row(row) for row in rows], [row.id for row in rows], request)


async def replay_parked(tx: ControlTx, settlement_id: SettlementId) -> None:
    """What was in the way is gone: due again, as if never tried."""
    if await tx.maybe(sql.unpark(settlement_id)) is None:
        raise NotFound("parked settlement", settlement_id)


async def _read(tx: ControlTx, ids: Sequence[SettlementId]) -> list[Settlement]:
    if not ids:
        return []
    return [Settlement.from_row(row) for row in await tx.all(sql.by_ids(), rows=_rows(ids))]


def _rows(ids: Sequence[UUID]) -> str:
    return batch([{"id": each} for each in ids])
