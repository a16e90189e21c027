"""Statements of the eight metrics. They run once a minute at one replica, while a million jobs may wait."""

from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from comfyfleet.audit import WorkerEventName
from comfyfleet.db.dialect import SecondsBetween, constant, now, seconds_from_now
from comfyfleet.db.tables import (
    ai_job_dispatches,
    comfyui_fleets,
    comfyui_workers,
    comfyui_workflow_fleets,
    dispatch_attempts,
    lanes,
    worker_audit_log,
    workflows,
)
from comfyfleet.dispatch.figures.model import COMPLETED
from comfyfleet.dispatch.lifecycle import DispatchStatus
from comfyfleet.fleet.lifecycle import WorkerStatus
from comfyfleet.kernel.ids import id_at

d, f, w, a, t, e = (
    ai_job_dispatches,
    comfyui_fleets,
    comfyui_workers,
    comfyui_workflow_fleets,
    dispatch_attempts,
    worker_audit_log,
)
AT_WORK = (WorkerStatus.APPROVED, WorkerStatus.DRAINING)


def time_now() -> sa.Select[Any]:
    """Asked for once, and then given: behind a clock that moves, no index is seen."""
    return sa.select(now().label("at"))


def fleets() -> sa.Select[Any]:
    return sa.select(f.c.id, f.c.slug, f.c.stage).order_by(f.c.slug, f.c.stage)


def assignments() -> sa.Select[Any]:
    return (
        sa.select(a.c.fleet_id, a.c.workflow_id)
        .join(workflows, sa.and_(workflows.c.id == a.c.workflow_id, workflows.c.is_active))
        .where(a.c.is_active)
    )


def queued(*, counted_max: int) -> sa.Select[Any]:
    """How many wait in each lane, up to the bound."""
    front = d.alias("front")
    some = (
        sa.select(front.c.lane)
        .where(front.c.lane == lanes.c.id, front.c.status == constant(DispatchStatus.QUEUED))
        .limit(counted_max)
        .correlate(lanes)
        .subquery("some")
    )
    count = sa.select(sa.func.count()).select_from(some).scalar_subquery()
    return sa.select(lanes.c.workflow_id, count.label("queued"))


def leased() -> sa.Select[Any]:
    return (
        sa.select(w.c.fleet_id, sa.func.count().label("leased"))
        .join(w, w.c.id == d.c.worker_id)
        .where(d.c.status == constant(DispatchStatus.LEASED), w.c.fleet_id.is_not(None))
        .group_by(w.c.fleet_id)
    )


def workers(*, active_s: float) -> sa.Select[Any]:
    """Heard of lately; and what those that take jobs could run beside what they do."""
    free = sa.case(
        (
            sa.and_(w.c.status == constant(WorkerStatus.APPROVED), w.c.max_concurrency > w.c.current_load),
            w.c.max_concurrency - w.c.current_load,
        ),
        else_=0,
    )
    return (
        sa.select(w.c.fleet_id, sa.func.count().label("workers"), sa.func.sum(free).label("free"))
        .where(w.c.status.in_([*AT_WORK]), w.c.fleet_id.is_not(None), w.c.last_seen_at > seconds_from_now(-active_s))
        .group_by(w.c.fleet_id)
    )


def ended(since: datetime) -> sa.Select[Any]:
    """Attempts by fleet and how they ended."""
    return (
        sa.select(w.c.fleet_id, t.c.reason, sa.func.count().label("attempts"))
        .join(w, w.c.id == t.c.worker_id)
        .where(t.c.ended_at >= since, w.c.fleet_id.is_not(None))
        .group_by(w.c.fleet_id, t.c.reason)
    )


def completed(since: datetime, *, rows: int) -> sa.Select[Any]:
    """How long each took, the latest first. By what its worker said, else by its lease."""
    took = sa.func.coalesce(d.c.duration_seconds, SecondsBetween(t.c.granted_at, t.c.ended_at))
    return (
        sa.select(w.c.fleet_id, took.label("took_s"))
        .select_from(t)
        .join(w, w.c.id == t.c.worker_id)
        .join(d, d.c.id == t.c.dispatch_id)
        .where(t.c.ended_at >= since, t.c.reason == COMPLETED, w.c.fleet_id.is_not(None))
        .order_by(t.c.ended_at.desc())
        .limit(rows)
    )


def requeued(since: datetime, *, rows: int) -> sa.Select[Any]:
    """By ids, which begin with the time they were made at."""
    first = UUID(int=id_at(since).int >> 80 << 80)
    return (
        sa.select(w.c.fleet_id, e.c.detail)
        .join(w, w.c.worker_id == e.c.worker_id)
        .where(e.c.id >= first, e.c.event == constant(WorkerEventName.REQUEUE), w.c.fleet_id.is_not(None))
        .order_by(e.c.id.desc())
        .limit(rows)
    )
