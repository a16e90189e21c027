"""Statements over settlements."""

from typing import Any
from uuid import UUID

import sqlalchemy as sa

from comfyfleet.db.dialect import batch_rows, now, seconds_from_now
from comfyfleet.db.direct import built_once
from comfyfleet.db.tables import ai_job_dispatches, settlements
from comfyfleet.kernel.ids import DispatchId, SettlementId

s, d = settlements, ai_job_dispatches

OPEN = (s.c.applied_at.is_(None), s.c.parked_at.is_(None))


@built_once
def take_due(pool: str, *, rows: int, claim_s: float) -> sa.Update:
    """Locked while it is chosen, then not due for a while: of two who take at once, each gets others."""
    due = (
        sa.select(s.c.id)
        .where(*OPEN, s.c.pool == pool, s.c.next_try_at <= now())
        .order_by(s.c.next_try_at)
        .limit(rows)
        .with_for_update(skip_locked=True)
        .cte("due")
    )
    return (
        sa.update(s)
        .where(*OPEN, s.c.id.in_(sa.select(due.c.id)))
        .values(next_try_at=seconds_from_now(claim_s))
        .returning(s.c.id)
    )


@built_once
def by_ids() -> sa.Select[Any]:
    b = _batch()
    return _told().join(b, b.c.id == s.c.id).order_by(s.c.id)


def claim(dispatch_id: DispatchId, *, claim_s: float) -> sa.Update:
    return (
        sa.update(s)
        .where(*OPEN, s.c.dispatch_id == dispatch_id, s.c.next_try_at <= now())
        .values(next_try_at=seconds_from_now(claim_s))
        .returning(s.c.id)
    )


@built_once
def mark_applied() -> sa.Update:
    b = _batch()
    return (
        sa.update(s)
        .where(s.c.id == b.c.id, s.c.applied_at.is_(None))
        .values(applied_at=now(), parked_at=None)
        .returning(s.c.dispatch_id)
    )


@built_once
def mark_settled() -> sa.Update:
    b = _batch()
    return sa.update(d).where(d.c.id == b.c.id, d.c.settled_at.is_(None)).values(settled_at=now())


@built_once
def release() -> sa.Update:
    b = _batch()
    return sa.update(s).where(*OPEN, s.c.id == b.c.id).values(next_try_at=now())


def postpone(settlement_id: SettlementId, *, error: str, pause_s: float) -> sa.Update:
    return (
        sa.update(s)
        .where(*OPEN, s.c.id == settlement_id)
        .values(tries=s.c.tries + 1, last_error=error, next_try_at=seconds_from_now(pause_s))
        .returning(s.c.id)
    )


def park(settlement_id: SettlementId, *, error: str) -> sa.Update:
    return (
        sa.update(s)
        .where(*OPEN, s.c.id == settlement_id)
        .values(tries=s.c.tries + 1, last_error=error, parked_at=now())
        .returning(s.c.id)
    )


def unpark(settlement_id: SettlementId) -> sa.Update:
    return (
        sa.update(s)
        .where(s.c.id == settlement_id, s.c.parked_at.is_not(None), s.c.applied_at.is_(None))
        .values(parked_at=None, tries=0, next_try_at=now())
        .returning(s.c.id)
    )


def parked_page(*, after: UUID | None, rows: int) -> sa.Select[Any]:
    page = _told().where(s.c.parked_at.is_not(None)).order_by(s.c.id.desc()).limit(rows + 1)
    return page.where(s.c.id < after) if after else page


def _told() -> sa.Select[Any]:
    known = (d.c.provider_job_id, d.c.duration_seconds, d.c.service_status, d.c.traceparent)
    return sa.select(*s.c, *known).join(d, d.c.id == s.c.dispatch_id)


def _batch() -> sa.TableValuedAlias:
    return batch_rows("b", {"id": sa.Uuid()})
