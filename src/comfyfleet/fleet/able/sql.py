"""Statements over workers and what they may run."""

from typing import Any

import sqlalchemy as sa

from comfyfleet.db.dialect import batch_rows, seconds_from_now
from comfyfleet.db.tables import comfyui_workers, comfyui_workflow_fleets, worker_workflows, workflows
from comfyfleet.fleet.lifecycle import WorkerStatus
from comfyfleet.kernel.ids import WorkflowId

w, a, o = comfyui_workers, comfyui_workflow_fleets, worker_workflows


def able_by_fleet(workflow_ids: list[WorkflowId], *, seen_s: float) -> sa.Select[Any]:
    return _able(workflow_ids, a, sa.and_(a.c.fleet_id == w.c.fleet_id, a.c.is_active), seen_s=seen_s)


def able_by_name(workflow_ids: list[WorkflowId], *, seen_s: float) -> sa.Select[Any]:
    return _able(workflow_ids, o, o.c.worker_id == w.c.id, seen_s=seen_s)


def _able(
    workflow_ids: list[WorkflowId], allowing: sa.Table, allowed: sa.ColumnElement[bool], *, seen_s: float
) -> sa.Select[Any]:
    asked = batch_rows("asked", {"workflow_id": sa.Uuid()}, [{"workflow_id": each} for each in workflow_ids])
    return (
        sa.select(w.c.id, allowing.c.workflow_id, w.c.providers, w.c.capability_digest)
        .select_from(asked)
        .join(workflows, sa.and_(workflows.c.id == asked.c.workflow_id, workflows.c.is_active))
        .join(allowing, allowing.c.workflow_id == workflows.c.id)
        .join(w, allowed)
        .where(w.c.status == WorkerStatus.APPROVED, w.c.last_seen_at > seconds_from_now(-seen_s))
    )
