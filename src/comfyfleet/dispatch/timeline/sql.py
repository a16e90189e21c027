"""Statements by which attempts are read as blocks of time."""

from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from comfyfleet.db.dialect import SecondsBetween, constant, now
from comfyfleet.db.tables import ai_job_dispatches, dispatch_attempts
from comfyfleet.db.types import UtcTime
from comfyfleet.dispatch.lifecycle import DispatchStatus
from comfyfleet.kernel.ids import WorkerId

d, a = ai_job_dispatches, dispatch_attempts

# One that began before the end of what is asked for, and ended later than this after it, is not found.
ENDED_LATER = timedelta(days=1)


def time_now() -> sa.Select[Any]:
    return sa.select(now().label("at"))


def ended(begin: datetime, end: datetime, last: datetime, *, rows: int, worker_id: WorkerId | None) -> sa.Select[Any]:
    """The latest first, down from `last`. The queue may have forgotten the dispatch meanwhile."""
    found = (
        _blocks(begin, SecondsBetween(_time(begin), a.c.ended_at))
        .outerjoin_from(a, d, d.c.id == a.c.dispatch_id)
        .where(a.c.ended_at >= begin, a.c.ended_at <= last, a.c.granted_at <= end)
        .order_by(a.c.ended_at.desc())
        .limit(rows)
    )
    return found.where(a.c.worker_id == worker_id) if worker_id else found


def still_open(begin: datetime, end: datetime, *, rows: int, worker_id: WorkerId | None) -> sa.Select[Any]:
    found = (
        _blocks(begin, sa.null())
        .select_from(d)
        .join(a, sa.and_(a.c.dispatch_id == d.c.id, a.c.epoch == d.c.epoch))
        .where(d.c.status == constant(DispatchStatus.LEASED), a.c.ended_at.is_(None), a.c.granted_at <= end)
        .limit(rows)
    )
    return found.where(d.c.worker_id == worker_id) if worker_id else found


def _blocks(begin: datetime, ends_s: Any) -> sa.Select[Any]:
    return sa.select(
        a.c.dispatch_id,
        a.c.epoch,
        a.c.worker_id,
        d.c.workflow_id,
        SecondsBetween(_time(begin), a.c.granted_at).label("begins_s"),
        ends_s.label("ends_s"),
        a.c.reason,
    )


def _time(at: datetime) -> sa.ColumnElement[datetime]:
    return sa.literal(at, UtcTime())
