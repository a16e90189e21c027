"""Statements over workers and what they may run."""

from typing import Any

import sqlalchemy as sa

from comfyfleet.db.dialect import batch_rows, seconds_from_now
from comfyfleet.db.tables import (
    comfyui_fleets,
    comfyui_workers,
    comfyui_workflow_fleets,
    fleet_inventories,
    worker_workflows,
    workflows,
)
from comfyfleet.fleet.lifecycle import WorkerStatus
from comfyfleet.kernel.ids import WorkflowId

w, a, o = comfyui_workers, comfyui_workflow_fleets, worker_workflows
f, i = comfyui_fleets, fleet_inventories
# Silent for longer, a worker is not counted on; it polls and sends heartbeats far more often.
SEEN_WITHIN_S = 180.0


def able_by_fleet(workflow_ids: list[WorkflowId], *, seen_s: float, with_left: bool) -> sa.Select[Any]:
    allowed = sa.and_(a.c.fleet_id == w.c.fleet_id, a.c.is_active)
    return _able(workflow_ids, a, allowed, seen_s=seen_s, with_left=with_left)


def able_by_name(workflow_ids: list[WorkflowId], *, seen_s: float, with_left: bool) -> sa.Select[Any]:
    return _able(workflow_ids, o, o.c.worker_id == w.c.id, seen_s=seen_s, with_left=with_left)


def _able(
    workflow_ids: list[WorkflowId],
    allowing: sa.Table,
    allowed: sa.ColumnElement[bool],
    *,
    seen_s: float,
    with_left: bool,
) -> sa.Select[Any]:
    """`with_left`: also those that signed off and will take work when they are back; not those that were drained."""
    may_work = w.c.status == WorkerStatus.APPROVED
    has_left = w.c.status == WorkerStatus.GONE
    counted = sa.or_(may_work, sa.and_(has_left, w.c.drained_at.is_(None))) if with_left else may_work
    asked = batch_rows("asked", {"workflow_id": sa.Uuid()}, [{"workflow_id": each} for each in workflow_ids])
    return (
        sa.select(
            w.c.id,
            w.c.worker_id,
            allowing.c.workflow_id,
            w.c.providers,
            w.c.capability_digest,
            has_left.label("has_left"),
            (w.c.last_seen_at > seconds_from_now(-SEEN_WITHIN_S)).label("is_online"),
        )
        .select_from(asked)
        .join(workflows, sa.and_(workflows.c.id == asked.c.workflow_id, workflows.c.is_active))
        .join(allowing, allowing.c.workflow_id == workflows.c.id)
        .join(w, allowed)
        .where(counted, w.c.last_seen_at > seconds_from_now(-seen_s))
    )


def fleets_of(workflow_ids: list[WorkflowId]) -> sa.Select[Any]:
    """The fleets that may run these; with each kind of machine of those that scale from zero."""
    asked = batch_rows("asked", {"workflow_id": sa.Uuid()}, [{"workflow_id": each} for each in workflow_ids])
    kept = sa.and_(i.c.fleet_id == f.c.id, f.c.scales_from_zero)
    return (
        sa.select(
            a.c.workflow_id, f.c.slug, f.c.stage, f.c.scales_from_zero, i.c.kind, i.c.providers, i.c.capability_digest
        )
        .select_from(asked)
        .join(a, sa.and_(a.c.workflow_id == asked.c.workflow_id, a.c.is_active))
        .join(f, f.c.id == a.c.fleet_id)
        .outerjoin(i, kept)
    )
