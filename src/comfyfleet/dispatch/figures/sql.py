"""Statements by which the queue is counted. Each walks an index, and ends at a bound: they run while a million wait."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa

from comfyfleet.db.dialect import InEach, SecondsBetween, WholePart, batch_rows, constant, now
from comfyfleet.db.tables import ai_job_dispatches, dispatch_attempts, lanes, settlements, waiting_reasons
from comfyfleet.db.types import UtcTime
from comfyfleet.dispatch.lifecycle import DispatchStatus
from comfyfleet.kernel.ids import LaneId

d, a, r, s = ai_job_dispatches, dispatch_attempts, waiting_reasons, settlements


def time_now() -> sa.Select[Any]:
    """Asked for once, and then given: behind a clock that moves, no index is seen."""
    return sa.select(now().label("at"))


def depths(*, counted_max: int) -> sa.Select[Any]:
    """How many wait in each lane, one more than the bound at most."""
    front = d.alias("front")
    some = (
        sa.select(front.c.lane)
        .where(front.c.lane == lanes.c.id, front.c.status == constant(DispatchStatus.QUEUED))
        .limit(counted_max + 1)
        .correlate(lanes)
        .subquery("some")
    )
    count = sa.select(sa.func.count()).select_from(some).scalar_subquery()
    return sa.select(lanes.c.id.label("lane"), lanes.c.workflow_id, count.label("queued"))


def who_waits(lane_ids: list[LaneId], *, seen_max: int) -> sa.Select[Any]:
    """Of the first of each lane: whose they are, and since when."""
    b, front = batch_rows("b", {"lane": sa.Integer()}, [{"lane": each} for each in lane_ids]), d.alias("front")
    first = (
        sa.select(front.c.id)
        .where(front.c.lane == b.c.lane, front.c.status == constant(DispatchStatus.QUEUED))
        .order_by(front.c.fair_tag, front.c.seq)
        .limit(seen_max)
        .correlate(b)
    )
    return (
        sa.select(
            d.c.lane,
            d.c.tenant_id,
            sa.func.count().label("queued"),
            SecondsBetween(sa.func.min(d.c.queued_at), now()).label("oldest_s"),
        )
        .select_from(b)
        .join(d, InEach(d.c.id, first))
        .group_by(d.c.lane, d.c.tenant_id)
    )


def running() -> sa.Select[Any]:
    return (
        sa.select(d.c.workflow_id, sa.func.count().label("running"))
        .where(d.c.status == constant(DispatchStatus.LEASED))
        .group_by(d.c.workflow_id)
    )


def delayed(*, counted_max: int) -> sa.Select[Any]:
    some = sa.select(d.c.run_at).where(d.c.status == constant(DispatchStatus.DELAYED)).limit(counted_max + 1)
    return sa.select(sa.func.count().label("delayed")).select_from(some.subquery("some"))


def reasons() -> sa.Select[Any]:
    """Kept by lane, one row however many wait for it."""
    return (
        sa.select(lanes.c.workflow_id, sa.func.min(r.c.reason).label("reason"))
        .join(lanes, lanes.c.id == r.c.lane)
        .group_by(lanes.c.workflow_id)
    )


def ends(since: datetime, *, stretch_s: float) -> sa.Select[Any]:
    stretch = WholePart(SecondsBetween(_time(since), a.c.ended_at) / stretch_s).label("stretch")
    return (
        sa.select(stretch, a.c.reason, sa.func.count().label("attempts"))
        .where(a.c.ended_at >= since)
        .group_by(stretch, a.c.reason)
    )


def ended_spans(since: datetime, *, rows: int) -> sa.Select[Any]:
    """The latest first."""
    return (
        sa.select(
            a.c.worker_id,
            SecondsBetween(_time(since), a.c.granted_at).label("begins_s"),
            SecondsBetween(_time(since), a.c.ended_at).label("ends_s"),
        )
        .where(a.c.ended_at >= since)
        .order_by(a.c.ended_at.desc())
        .limit(rows)
    )


def open_spans(since: datetime) -> sa.Select[Any]:
    return sa.select(d.c.worker_id, SecondsBetween(_time(since), d.c.leased_at).label("begins_s")).where(
        d.c.status == constant(DispatchStatus.LEASED), d.c.leased_at.is_not(None)
    )


def parked(*, counted_max: int) -> sa.Select[Any]:
    some = sa.select(s.c.id).where(s.c.parked_at.is_not(None)).limit(counted_max)
    return sa.select(sa.func.count().label("parked")).select_from(some.subquery("some"))


def _time(at: datetime) -> sa.ColumnElement[datetime]:
    return sa.literal(at, UtcTime())
