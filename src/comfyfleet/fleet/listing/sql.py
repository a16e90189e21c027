"""Statements by which operators see fleets and workers."""

from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from comfyfleet.db.tables import (
    ai_job_dispatches,
    comfyui_fleets,
    comfyui_workers,
    comfyui_workflow_fleets,
    worker_workflows,
    workflows,
)
from comfyfleet.fleet.lifecycle import LIVE, WorkerStatus
from comfyfleet.kernel.ids import FleetId, WorkerId

f, w, a = comfyui_fleets, comfyui_workers, comfyui_workflow_fleets


def worker_page(
    *, after: UUID | None, rows: int, status: WorkerStatus | None, fleet_id: FleetId | None
) -> sa.Select[Any]:
    page = _workers().order_by(w.c.id.desc()).limit(rows + 1)
    for column, wanted in ((w.c.status, status), (w.c.fleet_id, fleet_id)):
        page = page.where(column == wanted) if wanted is not None else page
    return page.where(w.c.id < after) if after else page


def roster(*, since: datetime, rows: int) -> sa.Select[Any]:
    """Those that are there, and those that were since then."""
    live = w.c.status.in_([*LIVE])
    return _workers().where(sa.or_(live, w.c.last_seen_at >= since)).order_by(w.c.worker_id).limit(rows)


def counts() -> sa.Select[Any]:
    return sa.select(w.c.status, sa.func.count().label("workers")).group_by(w.c.status)


def worker_by_name(worker_id: str) -> sa.Select[Any]:
    return _workers().where(w.c.worker_id == worker_id)


def _workers() -> sa.Select[Any]:
    d = ai_job_dispatches
    open_leases = (
        sa.select(sa.func.count())
        .where(d.c.worker_id == w.c.id, d.c.status == sa.literal_column("'leased'"))
        .scalar_subquery()
    )
    listed = [column for column in w.c if column.name != "token_hash"]
    return sa.select(
        *listed, f.c.slug.label("fleet_slug"), f.c.stage.label("fleet_stage"), open_leases.label("open_leases")
    ).outerjoin(f, f.c.id == w.c.fleet_id)


def assignments_of_fleet(fleet_id: FleetId) -> sa.Select[Any]:
    return (
        sa.select(workflows.c.id, workflows.c.slug, a.c.is_active, workflows.c.is_active.label("workflow_is_active"))
        .join(a, a.c.workflow_id == workflows.c.id)
        .where(a.c.fleet_id == fleet_id)
        .order_by(workflows.c.slug)
    )


def own_assignments(row_id: WorkerId) -> sa.Select[Any]:
    own = worker_workflows
    return (
        sa.select(
            workflows.c.id,
            workflows.c.slug,
            sa.true().label("is_active"),
            workflows.c.is_active.label("workflow_is_active"),
        )
        .join(own, own.c.workflow_id == workflows.c.id)
        .where(own.c.worker_id == row_id)
        .order_by(workflows.c.slug)
    )


def workers_by_status(fleet_id: FleetId) -> sa.Select[Any]:
    return sa.select(w.c.status, sa.func.count().label("workers")).where(w.c.fleet_id == fleet_id).group_by(w.c.status)
