"""Statements of the gauges. Each walks an index or a small table: they run every 15 s at every replica."""

from typing import Any

import sqlalchemy as sa

from comfyfleet.db.dialect import SecondsBetween, constant, now
from comfyfleet.db.tables import (
    ai_job_dispatches,
    comfyui_fleets,
    comfyui_workers,
    comfyui_workflow_fleets,
    settlements,
    submissions,
    webhook_deliveries,
    workflows,
)
from comfyfleet.dispatch.lifecycle import DispatchStatus
from comfyfleet.fleet.lifecycle import LIVE
from comfyfleet.kernel.ids import WorkflowId
from comfyfleet.webhooks.lifecycle import DeliveryStatus

d, f, w, a, s, o, h = (
    ai_job_dispatches,
    comfyui_fleets,
    comfyui_workers,
    comfyui_workflow_fleets,
    settlements,
    submissions,
    webhook_deliveries,
)


def workflow_names() -> sa.Select[Any]:
    return sa.select(workflows.c.id, workflows.c.slug, workflows.c.expected_s)


def fleets_of(workflow_ids: list[WorkflowId]) -> sa.Select[Any]:
    """Which fleets may run these workflows."""
    return sa.select(a.c.workflow_id, a.c.fleet_id).where(a.c.workflow_id.in_(workflow_ids), a.c.is_active)


def fleet_names() -> sa.Select[Any]:
    return sa.select(f.c.id, f.c.slug, f.c.stage)


def workers(*, silent_s: float) -> sa.Select[Any]:
    """Live ones by fleet, status, whether they were heard of lately, and whether they hold a lease."""
    leased = sa.select(d.c.id).where(d.c.worker_id == w.c.id, d.c.status == constant(DispatchStatus.LEASED))
    silent = (SecondsBetween(w.c.last_seen_at, now()) > silent_s).label("silent")
    busy = leased.correlate(w).exists().label("busy")
    live = sa.select(w.c.fleet_id, w.c.status, silent, busy).where(w.c.status.in_([*LIVE])).subquery("live")
    columns = (live.c.fleet_id, live.c.status, live.c.silent, live.c.busy)
    return sa.select(*columns, sa.func.count().label("workers")).group_by(*columns)


def settlements_lag() -> sa.Select[Any]:
    return (
        sa.select(s.c.pool, SecondsBetween(sa.func.min(s.c.created_at), now()).label("oldest_s"))
        .where(s.c.applied_at.is_(None), s.c.parked_at.is_(None))
        .group_by(s.c.pool)
    )


def submissions_lag() -> sa.Select[Any]:
    oldest = sa.select(o.c.created_at).where(o.c.sent_at.is_(None)).order_by(o.c.created_at).limit(1).subquery("oldest")
    return sa.select(SecondsBetween(oldest.c.created_at, now()).label("oldest_s"))


def webhooks_lag() -> sa.Select[Any]:
    """How long the one that is due has been due: one that waits out a pause is not late."""
    due = h.c.status == constant(DeliveryStatus.PENDING)
    oldest = sa.select(h.c.next_try_at).where(due).order_by(h.c.next_try_at).limit(1).subquery("oldest")
    return sa.select(SecondsBetween(oldest.c.next_try_at, now()).label("oldest_s"))
