"""Statements by which operators see the queue."""

from typing import Any
from uuid import UUID

import sqlalchemy as sa

from comfyfleet.db.dialect import now
from comfyfleet.db.tables import (
    ai_job_dispatches,
    attempt_results,
    comfyui_workers,
    dispatch_attempts,
    failover_blocks,
    lanes,
    tenants,
    workflows,
)
from comfyfleet.dispatch.blocks.sql import IS_BLOCK
from comfyfleet.dispatch.lifecycle import DispatchStatus
from comfyfleet.kernel.ids import DispatchId, TenantId, WorkerId, WorkflowId

d, a, k, w, r = ai_job_dispatches, dispatch_attempts, failover_blocks, comfyui_workers, attempt_results

LISTED = [
    d.c.id,
    d.c.status,
    d.c.tenant_id,
    tenants.c.slug.label("tenant"),
    workflows.c.slug.label("workflow"),
    d.c.lane,
    lanes.c.structure_hash,
    d.c.provider,
    d.c.priority,
    d.c.attempts,
    d.c.max_attempts,
    d.c.releases,
    d.c.epoch,
    w.c.worker_id.label("worker"),
    d.c.queued_at,
    d.c.queue_deadline_at,
    d.c.run_at,
    d.c.lease_expires_at,
    d.c.deadline_at,
    d.c.cancel_requested_at,
    d.c.provider_job_id,
    d.c.service_status,
    d.c.service_submitted_at,
    d.c.last_service_check,
    d.c.error_class,
    d.c.last_error,
    d.c.duration_seconds,
    d.c.finished_at,
    d.c.settled_at,
    d.c.traceparent,
]


def dispatch_page(
    *,
    after: UUID | None,
    rows: int,
    status: DispatchStatus | None,
    workflow_id: WorkflowId | None,
    tenant_id: TenantId | None,
    worker_id: WorkerId | None,
) -> sa.Select[Any]:
    page = _dispatches().order_by(d.c.id.desc()).limit(rows + 1)
    conditions: dict[str, Any] = {"workflow_id": workflow_id, "tenant_id": tenant_id, "worker_id": worker_id}
    for name, wanted in {"status": status, **conditions}.items():
        page = page.where(d.c[name] == wanted) if wanted is not None else page
    return page.where(d.c.id < after) if after else page


def dispatch_by_id(dispatch_id: DispatchId) -> sa.Select[Any]:
    return _dispatches().where(d.c.id == dispatch_id)


def _dispatches() -> sa.Select[Any]:
    """Only the lane is sure to be there: the queue outlives what it names."""
    return (
        sa.select(*LISTED)
        .join(lanes, lanes.c.id == d.c.lane)
        .outerjoin(tenants, tenants.c.id == d.c.tenant_id)
        .outerjoin(workflows, workflows.c.id == d.c.workflow_id)
        .outerjoin(w, w.c.id == d.c.worker_id)
    )


def attempts_of_dispatch(dispatch_id: DispatchId) -> sa.Select[Any]:
    return _attempts().where(a.c.dispatch_id == dispatch_id).order_by(a.c.epoch)


def attempts_of_worker(worker_id: WorkerId, *, rows: int) -> sa.Select[Any]:
    return _attempts().where(a.c.worker_id == worker_id).order_by(a.c.granted_at.desc()).limit(rows)


def _attempts() -> sa.Select[Any]:
    return sa.select(
        a.c.dispatch_id,
        a.c.epoch,
        w.c.worker_id.label("worker"),
        a.c.incarnation,
        a.c.granted_at,
        a.c.confirmed_at,
        a.c.ended_at,
        a.c.reason,
        a.c.provider_job_id,
        a.c.service_reason,
        sa.exists().where(r.c.dispatch_id == a.c.dispatch_id, r.c.epoch == a.c.epoch).label("has_result"),
    ).outerjoin(w, w.c.id == a.c.worker_id)


def block_page(*, after: UUID | None, rows: int, worker_id: WorkerId | None) -> sa.Select[Any]:
    """A block has no id of its own: a page holds all blocks of some workers, and one worker more if there is one."""
    some = sa.select(k.c.worker_id).where(IS_BLOCK).distinct().order_by(k.c.worker_id).limit(rows + 1)
    some = some.where(k.c.worker_id > after) if after else some
    some = some.where(k.c.worker_id == worker_id) if worker_id else some
    return (
        sa.select(
            k.c.worker_id.label("worker_row"),
            w.c.worker_id.label("worker"),
            k.c.structure_hash,
            sa.select(sa.func.min(workflows.c.slug))
            .where(workflows.c.structure_hash == k.c.structure_hash)
            .scalar_subquery()
            .label("workflow"),
            k.c.tenant_id,
            tenants.c.slug.label("tenant"),
            k.c.failure_count,
            k.c.cooldown_s,
            k.c.blocked_until,
            (k.c.blocked_until <= now()).label("half_open"),
            k.c.probe_dispatch_id,
            k.c.created_at,
        )
        .outerjoin(w, w.c.id == k.c.worker_id)
        .outerjoin(tenants, tenants.c.id == k.c.tenant_id)
        .where(k.c.worker_id.in_(some), IS_BLOCK)
        .order_by(k.c.worker_id, k.c.structure_hash)
    )
