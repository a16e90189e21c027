"""Statements over fleets and workers."""

from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from comfyfleet.db.dialect import HeldToTheEnd, Larger, SecondsBetween, batch_rows, insert_once, now, seconds_from_now
from comfyfleet.db.direct import built_once
from comfyfleet.db.tables import (
    comfyui_fleets,
    comfyui_workers,
    comfyui_workflow_fleets,
    fleet_machines,
    fleet_scaling,
    fleet_secrets,
    worker_workflows,
    workflows,
)
from comfyfleet.fleet.lifecycle import LIVE, WORKER, WorkerEvent, WorkerStatus
from comfyfleet.fleet.model import NewWorker, revoked_hash
from comfyfleet.fleet.needs.model import Said
from comfyfleet.kernel.ids import FleetId, WorkerId, WorkflowId, new_id

f, w, a, k = comfyui_fleets, comfyui_workers, comfyui_workflow_fleets, fleet_secrets


# ── fleets ──────────────────────────────────────────────────────────────────────────────────


def insert_fleet(*, slug: str, stage: str, name: str, scales_from_zero: bool) -> sa.Insert:
    values = {"slug": slug, "stage": stage, "name": name, "scales_from_zero": scales_from_zero}
    return insert_once(f).values(id=new_id(), created_at=now(), **values).returning(*f.c)


def fleet_by_name(slug: str, stage: str) -> sa.Select[Any]:
    return sa.select(*f.c).where(f.c.slug == slug, f.c.stage == stage)


def fleet_by_id(fleet_id: FleetId) -> sa.Select[Any]:
    return sa.select(*f.c).where(f.c.id == fleet_id)


def set_scaling(fleet_id: FleetId, *, scales_from_zero: bool) -> sa.Update:
    return sa.update(f).where(f.c.id == fleet_id).values(scales_from_zero=scales_from_zero).returning(*f.c)


def lock_fleet(fleet_id: FleetId) -> sa.Select[Any]:
    """Registrations of one fleet take turns, so that its cap is exact."""
    return sa.select(f.c.id).where(f.c.id == fleet_id).with_for_update()


def fleet_page(*, after: UUID | None, rows: int) -> sa.Select[Any]:
    page = sa.select(*f.c).order_by(f.c.id.desc()).limit(rows + 1)
    return page.where(f.c.id < after) if after else page


def assign(fleet_id: FleetId, workflow_id: WorkflowId, *, is_active: bool) -> sa.Insert:
    insert = postgresql.insert(a).values(
        fleet_id=fleet_id, workflow_id=workflow_id, is_active=is_active, created_at=now()
    )
    return insert.on_conflict_do_update(
        index_elements=[a.c.fleet_id, a.c.workflow_id], set_={"is_active": is_active}
    ).returning(*a.c)


def insert_secret(*, name: str, secret_hash: str, fleet_id: FleetId | None, allows_workflows: bool) -> sa.Insert:
    return sa.insert(k).values(
        id=new_id(),
        name=name,
        secret_hash=secret_hash,
        created_at=now(),
        fleet_id=fleet_id,
        allows_workflows=allows_workflows,
    )


def live_secret(secret_hash: str) -> sa.Select[Any]:
    return _secrets().where(k.c.secret_hash == secret_hash, k.c.retired_at.is_(None))


def secret_by_id(secret_id: UUID) -> sa.Select[Any]:
    return _secrets().where(k.c.id == secret_id)


def secret_by_hash(secret_hash: str) -> sa.Select[Any]:
    return _secrets().where(k.c.secret_hash == secret_hash)


def secret_page(*, after: UUID | None, rows: int) -> sa.Select[Any]:
    page = _secrets().order_by(k.c.id.desc()).limit(rows + 1)
    return page.where(k.c.id < after) if after else page


def secrets_without_scope() -> sa.Select[Any]:
    return _secrets().where(k.c.allows_workflows.is_(None), k.c.retired_at.is_(None)).order_by(k.c.id)


def retire_secret(secret_id: UUID) -> sa.Update:
    return sa.update(k).where(k.c.id == secret_id, k.c.retired_at.is_(None)).values(retired_at=now())


def _secrets() -> sa.Select[Any]:
    """With the name of the fleet that each opens."""
    name = (f.c.slug + "/" + f.c.stage).label("fleet")
    shown = (k.c.id, k.c.name, k.c.fleet_id, name, k.c.allows_workflows, k.c.retired_at, k.c.created_at)
    return sa.select(*shown).outerjoin(f, f.c.id == k.c.fleet_id)


# ── workers ─────────────────────────────────────────────────────────────────────────────────


def live_workers(fleet_id: FleetId | None, *, but: str, stale_s: float) -> sa.Select[Any]:
    """Of a fleet, or of none."""
    return sa.select(sa.func.count().label("live")).where(
        w.c.fleet_id == fleet_id if fleet_id is not None else w.c.fleet_id.is_(None),
        w.c.worker_id != but,
        w.c.status.in_(LIVE),
        w.c.last_seen_at > seconds_from_now(-stale_s),
    )


def scaling_limit(fleet_id: FleetId, *, machine_id: str) -> sa.Select[Any]:
    """Of a fleet that scales: how many workers it may have, and the machine of that name, if it was launched."""
    s, m = fleet_scaling, fleet_machines
    launched = sa.and_(m.c.fleet_id == s.c.fleet_id, m.c.machine_id == machine_id)
    return (
        sa.select(s.c.max_workers, m.c.machine_id, m.c.end_asked_at, m.c.end_reason)
        .outerjoin(m, launched)
        .where(s.c.fleet_id == fleet_id)
    )


def lock_worker(worker_id: str, *, window_s: float) -> sa.Select[Any]:
    """With whether it was taken over within the window, and how long it has made no call."""
    recent = (w.c.takeovers_since > seconds_from_now(-window_s)).label("in_window")
    return (
        sa.select(*w.c, recent, SecondsBetween(w.c.last_seen_at, now()).label("silent_s"))
        .where(w.c.worker_id == worker_id)
        .with_for_update()
    )


def insert_worker(
    new: NewWorker, said: Said, *, fleet_id: FleetId | None, token_hash: str, status: WorkerStatus
) -> sa.Insert:
    return (
        insert_once(w)
        .values(
            id=new_id(),
            worker_id=new.worker_id,
            fleet_id=fleet_id,
            registration_source="fleet",
            incarnation=1,
            token_hash=token_hash,
            current_load=0,
            takeovers=0,
            last_seen_at=now(),
            created_at=now(),
            **_said(new, said),
            **_status(status),
        )
        .returning(*w.c)
    )


def take_over(
    row_id: WorkerId,
    new: NewWorker,
    said: Said,
    *,
    fleet_id: FleetId | None,
    token_hash: str,
    status: WorkerStatus,
    starts_window: bool,
) -> sa.Update:
    return (
        sa.update(w)
        .where(w.c.id == row_id)
        .values(
            fleet_id=fleet_id,
            incarnation=w.c.incarnation + 1,
            token_hash=token_hash,
            takeovers=1 if starts_window else w.c.takeovers + 1,
            takeovers_since=now() if starts_window else w.c.takeovers_since,
            last_seen_at=now(),
            **_said(new, said),
            **_status(status),
        )
        .returning(*w.c)
    )


def repeat_registration(row_id: WorkerId, new: NewWorker, said: Said, *, fleet_id: FleetId | None) -> sa.Update:
    """The same life, with what the worker says of itself now."""
    return (
        sa.update(w)
        .where(w.c.id == row_id)
        .values(fleet_id=fleet_id, last_seen_at=now(), **_said(new, said))
        .returning(*w.c)
    )


def _said(new: NewWorker, said: Said) -> dict[str, Any]:
    return {
        "address": new.address,
        "boot_id": new.boot_id,
        "capabilities": said.facts,
        "capability_digest": said.digest,
        "providers": list(new.providers),
        "max_concurrency": new.max_concurrency,
    }


def _status(status: WorkerStatus) -> dict[str, Any]:
    """The seeds' two columns follow the one that decides."""
    return {
        "status": status,
        "is_approved": status in (WorkerStatus.APPROVED, WorkerStatus.DRAINING),
        "is_draining": status is WorkerStatus.DRAINING,
    }


def move_worker(row_id: WorkerId, event: WorkerEvent) -> sa.Update:
    return (
        sa.update(w)
        .where(w.c.id == row_id, w.c.status.in_(WORKER.sources(event)))
        .values(**_status(WORKER.target(event)), **_drain(event))
        .returning(*w.c)
    )


def _drain(event: WorkerEvent) -> dict[str, Any]:
    """It lasts until an operator says otherwise: leaving and coming back does not end it. The status decides: a replica
    that knows nothing of this column may have changed it."""
    if event is WorkerEvent.LEAVE:
        since = sa.func.coalesce(w.c.drained_at, now())
        return {"drained_at": sa.case((w.c.status == WorkerStatus.DRAINING, since), else_=None)}
    return {"drained_at": now() if event is WorkerEvent.DRAIN else None}


def revoke_worker(row_id: WorkerId) -> sa.Update:
    """Also a new incarnation, and a token hash that no token has: approving it again revives no old process."""
    return move_worker(row_id, WorkerEvent.REVOKE).values(
        incarnation=w.c.incarnation + 1, token_hash=sa.literal(revoked_hash(row_id), sa.Text())
    )


def forget_worker(row_id: WorkerId) -> sa.Delete:
    return sa.delete(w).where(w.c.id == row_id)


def long_gone(*, age_s: float, rows: int) -> sa.Select[Any]:
    return (
        sa.select(w.c.id)
        .where(w.c.status == WorkerStatus.GONE, w.c.last_seen_at < seconds_from_now(-age_s))
        .limit(rows)
        .with_for_update(skip_locked=True)
    )


def forget_workflows_of(row_ids: list[WorkerId]) -> sa.Delete:
    return sa.delete(worker_workflows).where(worker_workflows.c.worker_id.in_(_listed(row_ids)))


def forget_workers(row_ids: list[WorkerId]) -> sa.Delete:
    return sa.delete(w).where(w.c.id.in_(_listed(row_ids)))


def _listed(row_ids: list[WorkerId]) -> sa.Select[Any]:
    return sa.select(batch_rows("b", {"id": sa.Uuid()}, [{"id": each} for each in row_ids]).c.id)


def replace_token(row_id: WorkerId, token_hash: str) -> sa.Update:
    return sa.update(w).where(w.c.id == row_id).values(token_hash=token_hash).returning(*w.c)


def by_tokens(token_hashes: list[str]) -> sa.Select[Any]:
    b = batch_rows("b", {"token_hash": sa.Text()}, [{"token_hash": each} for each in token_hashes])
    return sa.select(*w.c).join(b, b.c.token_hash == w.c.token_hash)


def by_names(worker_ids: list[str]) -> sa.Select[Any]:
    b = batch_rows("b", {"worker_id": sa.Text()}, [{"worker_id": each} for each in worker_ids])
    return sa.select(w.c.worker_id, w.c.status).join(b, b.c.worker_id == w.c.worker_id)


def by_name(worker_id: str) -> sa.Select[Any]:
    return sa.select(*w.c).where(w.c.worker_id == worker_id)


@built_once
def take_turns() -> sa.Select[Any]:
    """One after the other in one order, so that two batches never wait for each other. Costs no write."""
    b = batch_rows("b", {"id": sa.Uuid()})
    ordered = sa.select(b.c.id).order_by(b.c.id).subquery("ordered")
    return sa.select(HeldToTheEnd(ordered.c.id))


@built_once
def workers_now() -> sa.Select[Any]:
    """By their numbers in the batch: an id that was just sent need not come back."""
    b = batch_rows("b", {"id": sa.Uuid(), "n": sa.Integer()})
    standing = (w.c.fleet_id, w.c.status, w.c.incarnation, w.c.token_hash, w.c.capability_digest)
    return sa.select(b.c.n, *standing).join(b, b.c.id == w.c.id)


@built_once
def touch() -> sa.Update:
    b = batch_rows("b", {"id": sa.Uuid(), "ago_s": sa.Float(), "load": sa.Integer()})
    seen_at = seconds_from_now(-b.c.ago_s)
    return (
        sa.update(w)
        .where(w.c.id == b.c.id)
        .values(last_seen_at=Larger(w.c.last_seen_at, seen_at), current_load=b.c.load)
    )


def own_workflows(row_ids: list[WorkerId]) -> sa.Select[Any]:
    b = batch_rows("b", {"id": sa.Uuid()}, [{"id": each} for each in row_ids])
    return sa.select(worker_workflows.c.worker_id, worker_workflows.c.workflow_id).join(
        b, b.c.id == worker_workflows.c.worker_id
    )


def active_workflows() -> sa.Select[Any]:
    return sa.select(workflows.c.id, workflows.c.version).where(workflows.c.is_active)


def forget_workflows(row_id: WorkerId) -> sa.Delete:
    return sa.delete(worker_workflows).where(worker_workflows.c.worker_id == row_id)


def remember_workflow(row_id: WorkerId, workflow_id: WorkflowId) -> sa.Insert:
    return insert_once(worker_workflows).values(worker_id=row_id, workflow_id=workflow_id)


def workflows_of_fleet(fleet_id: FleetId) -> sa.Select[Any]:
    return (
        sa.select(workflows.c.id, workflows.c.slug)
        .join(a, a.c.workflow_id == workflows.c.id)
        .where(a.c.fleet_id == fleet_id, a.c.is_active, workflows.c.is_active)
    )


def workflows_of_worker(row_id: WorkerId) -> sa.Select[Any]:
    return (
        sa.select(workflows.c.id, workflows.c.slug)
        .join(worker_workflows, worker_workflows.c.workflow_id == workflows.c.id)
        .where(worker_workflows.c.worker_id == row_id, workflows.c.is_active)
    )


def stale_workers(*, stale_s: float, rows: int) -> sa.Select[Any]:
    return (
        sa.select(*w.c)
        .where(w.c.status.in_(LIVE), w.c.last_seen_at < seconds_from_now(-stale_s))
        .limit(rows)
        .with_for_update(skip_locked=True)
    )
