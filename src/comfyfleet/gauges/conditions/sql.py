"""Statements of the alert conditions. Each walks an index over at most an hour: they run once a minute."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa

from comfyfleet.db.dialect import SecondsBetween, constant, now
from comfyfleet.db.tables import (
    ai_job_dispatches,
    comfyui_fleets,
    comfyui_workers,
    comfyui_workflow_fleets,
    dispatch_attempts,
    fleet_machines,
    settlements,
    webhook_deliveries,
    webhook_events,
    worker_workflows,
)
from comfyfleet.db.types import UtcTime
from comfyfleet.dispatch.failures import FailureClass
from comfyfleet.dispatch.lifecycle import DispatchStatus
from comfyfleet.fleet.lifecycle import WorkerStatus
from comfyfleet.scaling import Market
from comfyfleet.webhooks.lifecycle import DeliveryStatus

d, a, s = ai_job_dispatches, dispatch_attempts, settlements
e, h, w, f = webhook_events, webhook_deliveries, comfyui_workers, comfyui_workflow_fleets
m = fleet_machines
USER_FAULTS = (FailureClass.USER_INPUT.value, FailureClass.WORKFLOW_INVALID.value)


def time_now() -> sa.Select[Any]:
    return sa.select(now().label("at"))


def ended_jobs(since: datetime, *, recent: datetime, late_s: float) -> sa.Select[Any]:
    """Jobs that ended: how many counted for success and failed, how many started and were late; of all and recently."""
    started_at = sa.select(sa.func.min(a.c.granted_at)).where(a.c.dispatch_id == d.c.id).correlate(d).scalar_subquery()
    ended = (
        sa.select(
            (s.c.created_at >= _time(recent)).label("is_recent"),
            _is_counted().label("is_counted"),
            sa.and_(_is_counted(), s.c.outcome == DispatchStatus.FAILED.value).label("is_failed"),
            SecondsBetween(d.c.created_at, started_at).label("waited_s"),
        )
        .join(d, d.c.id == s.c.dispatch_id)
        .where(s.c.created_at >= since)
        .subquery("ended")
    )
    started, late = ended.c.waited_s.is_not(None), ended.c.waited_s > late_s
    found = {"counted": ended.c.is_counted, "failed": ended.c.is_failed, "started": started, "late": late}
    all_ = [_count(which).label(name) for name, which in found.items()]
    recently = [_count(sa.and_(which, ended.c.is_recent)).label(f"{name}_recent") for name, which in found.items()]
    found_: sa.Select[Any] = sa.select(*all_, *recently)
    return found_


def _is_counted() -> sa.ColumnElement[bool]:
    """Neither cancelled nor a fault of its user."""
    fault = sa.func.coalesce(d.c.error_class, "").in_(USER_FAULTS)
    return sa.and_(s.c.outcome != DispatchStatus.CANCELLED.value, ~fault)


def ended_leases(since: datetime) -> sa.Select[Any]:
    return sa.select(sa.func.count().label("ended"), _count(a.c.reason == "expired").label("expired")).where(
        a.c.ended_at >= since
    )


def arrived_webhooks(since: datetime, *, made_since: datetime, recent: datetime, late_s: float) -> sa.Select[Any]:
    """First deliveries that arrived: all of them, and those that were late; since then and recently."""
    late = SecondsBetween(h.c.created_at, h.c.ended_at) > late_s
    is_recent = h.c.ended_at >= recent
    return (
        sa.select(
            sa.func.count().label("arrived"),
            _count(late).label("late"),
            _count(is_recent).label("arrived_recent"),
            _count(sa.and_(late, is_recent)).label("late_recent"),
        )
        .select_from(e)
        .join(h, sa.and_(h.c.tenant_id == e.c.tenant_id, h.c.event_id == e.c.id))
        .where(
            e.c.created_at >= made_since,
            h.c.status == constant(DeliveryStatus.DELIVERED),
            h.c.attempts_before == 0,
            h.c.ended_at >= since,
        )
    )


def fleets_of_workflows() -> sa.Select[Any]:
    return sa.select(f.c.workflow_id, f.c.fleet_id).where(f.c.is_active)


def fleet_names() -> sa.Select[Any]:
    return sa.select(comfyui_fleets.c.id, comfyui_fleets.c.slug, comfyui_fleets.c.stage)


def spot_machines(since: datetime) -> sa.Select[Any]:
    """Machines of a fleet since then, and those of them that Spot took: nobody had asked for their end."""
    was_there = sa.or_(m.c.ended_at.is_(None), m.c.ended_at >= since)
    lost = sa.and_(m.c.market == Market.SPOT.value, m.c.ended_at >= since, m.c.end_asked_at.is_(None))
    columns = (comfyui_fleets.c.slug, comfyui_fleets.c.stage)
    return (
        sa.select(*columns, sa.func.count().label("machines"), _count(lost).label("lost"))
        .select_from(m)
        .join(comfyui_fleets, comfyui_fleets.c.id == m.c.fleet_id)
        .where(was_there)
        .group_by(*columns)
    )


def fleets_with_workers(*, silent_s: float) -> sa.Select[Any]:
    """Fleets of which a worker that may take work was heard of lately."""
    return sa.select(w.c.fleet_id).where(*_takes_work(silent_s), w.c.fleet_id.is_not(None)).distinct()


def workflows_with_workers(*, silent_s: float) -> sa.Select[Any]:
    """Those that such a worker may run by itself, whatever its fleet."""
    own = worker_workflows
    return sa.select(own.c.workflow_id).join(w, w.c.id == own.c.worker_id).where(*_takes_work(silent_s)).distinct()


def _takes_work(silent_s: float) -> tuple[sa.ColumnElement[bool], ...]:
    heard = SecondsBetween(w.c.last_seen_at, now()) <= silent_s
    return (w.c.status == constant(WorkerStatus.APPROVED), heard)


def _count(which: sa.ColumnElement[bool]) -> sa.ColumnElement[Any]:
    return sa.func.coalesce(sa.func.sum(sa.case((which, 1), else_=0)), 0)


def _time(at: datetime) -> sa.ColumnElement[datetime]:
    return sa.literal(at, UtcTime())
