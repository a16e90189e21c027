"""Statements over blocks."""

from typing import Any

import sqlalchemy as sa
from sqlalchemy import Executable
from sqlalchemy.dialects import postgresql

from comfyfleet.db.dialect import batch_rows, now, seconds_from_now
from comfyfleet.db.direct import built_once
from comfyfleet.db.tables import comfyui_workers, failover_blocks, lanes, worker_audit_log
from comfyfleet.dispatch.matching import EVERY_STRUCTURE
from comfyfleet.kernel.ids import DispatchId, LaneId, TenantId, WorkerId

k = failover_blocks
# A row without a cooldown only counts failures: there are fewer than it takes to block.
IS_BLOCK = k.c.cooldown_s > 0


@built_once
def blocks_of() -> sa.Select[Any]:
    asked = batch_rows("asked", {"worker_id": sa.Uuid()})
    return (
        sa.select(
            k.c.worker_id,
            k.c.structure_hash,
            k.c.tenant_id,
            (k.c.blocked_until <= now()).label("half_open"),
            sa.and_(k.c.probe_dispatch_id.is_not(None), k.c.probe_until > now()).label("probing"),
        )
        .where(IS_BLOCK)
        .join(asked, asked.c.worker_id == k.c.worker_id)
    )


def start_probe(worker_id: WorkerId, structure_hash: str, dispatch_id: DispatchId, *, probe_s: float) -> sa.Update:
    """Exactly one: only when the cooldown is over and no other probe is under way."""
    return (
        sa.update(k)
        .where(
            k.c.worker_id == worker_id,
            k.c.structure_hash == structure_hash,
            k.c.blocked_until <= now(),
            sa.or_(k.c.probe_dispatch_id.is_(None), k.c.probe_until <= now()),
        )
        .values(probe_dispatch_id=dispatch_id, probe_until=seconds_from_now(probe_s))
        .returning(k.c.worker_id)
    )


def record_failure(
    worker_id: WorkerId,
    structure_hash: str,
    tenant_id: TenantId,
    *,
    for_all: bool,
    cooldown_s: float,
    cooldown_max_s: float,
    failures_max: int,
) -> sa.Insert:
    """The failure that reaches `failures_max` blocks for `cooldown_s`, each one after it for twice as long as before,
    up to `cooldown_max_s`. Below that it is only counted.

    A block holds for the tenant whose jobs failed; after a second tenant's failure, or a fault of the server, for all.
    """
    first_s = cooldown_s if failures_max <= 1 else 0.0
    insert = postgresql.insert(k).values(
        worker_id=worker_id,
        structure_hash=structure_hash,
        tenant_id=None if for_all else tenant_id,
        failure_count=1,
        cooldown_s=first_s,
        blocked_until=seconds_from_now(first_s),
        created_at=now(),
    )
    next_s = sa.case(
        (k.c.failure_count + 1 < failures_max, 0.0),
        (k.c.cooldown_s == 0, cooldown_s),
        (k.c.cooldown_s * 2 > cooldown_max_s, cooldown_max_s),
        else_=k.c.cooldown_s * 2,
    )
    scope = sa.case(
        (sa.literal(for_all, sa.Boolean()), sa.null()), (k.c.tenant_id == tenant_id, k.c.tenant_id), else_=sa.null()
    )
    return insert.on_conflict_do_update(
        index_elements=[k.c.worker_id, k.c.structure_hash],
        set_={
            "tenant_id": scope,
            "failure_count": k.c.failure_count + 1,
            "cooldown_s": next_s,
            "blocked_until": seconds_from_now(next_s),
            "created_at": sa.case((sa.and_(k.c.cooldown_s == 0, next_s > 0), now()), else_=k.c.created_at),
            "probe_dispatch_id": None,
            "probe_until": None,
        },
    ).returning(*k.c)


@built_once
def end_blocks() -> Executable:
    """These workers succeeded in these lanes: with that structure, and so with the server as such."""
    b = batch_rows("b", {"worker_id": sa.Uuid(), "lane": sa.Integer()})
    proven = (
        sa.select(b.c.worker_id)
        .join(lanes, lanes.c.id == b.c.lane)
        .where(
            b.c.worker_id == k.c.worker_id,
            sa.or_(lanes.c.structure_hash == k.c.structure_hash, k.c.structure_hash == EVERY_STRUCTURE),
        )
        .correlate(k)
    )
    return sa.delete(k).where(sa.exists(proven)).returning(*k.c)


def insert_events(event: str, rows: list[dict[str, Any]]) -> sa.Insert:
    """In the worker's own name, which the queue does not know."""
    log, w = worker_audit_log, comfyui_workers
    columns: dict[str, Any] = {
        "id": sa.Uuid(),
        "worker_id": sa.Uuid(),
        "dispatch_id": sa.Uuid(),
        "tenant_id": sa.Uuid(),
        "detail": sa.Text(),
    }
    b = batch_rows("b", columns, rows)
    listed = sa.select(
        b.c.id, now(), sa.literal(event, sa.Text()), w.c.worker_id, b.c.dispatch_id, b.c.tenant_id, b.c.detail
    ).join(w, w.c.id == b.c.worker_id)
    into = ["id", "at", "event", "worker_id", "dispatch_id", "tenant_id", "detail"]
    return sa.insert(log).from_select(into, listed)


def end_block(worker_id: WorkerId, structure_hash: str) -> Executable:
    return (
        sa.delete(k).where(k.c.worker_id == worker_id, k.c.structure_hash == structure_hash, IS_BLOCK).returning(*k.c)
    )


def forget_workerless() -> sa.Delete:
    """Those of workers that are forgotten."""
    return sa.delete(k).where(~sa.exists().where(comfyui_workers.c.id == k.c.worker_id))


def end_probe(dispatch_id: DispatchId) -> sa.Update:
    """The probe neither succeeded nor failed: the next one may try."""
    return sa.update(k).where(k.c.probe_dispatch_id == dispatch_id).values(probe_dispatch_id=None, probe_until=None)


def give_up_probe(worker_id: WorkerId, structure_hash: str, dispatch_id: DispatchId) -> sa.Update:
    return end_probe(dispatch_id).where(k.c.worker_id == worker_id, k.c.structure_hash == structure_hash)


def hash_of_lane(lane: LaneId) -> sa.Select[Any]:
    return sa.select(lanes.c.structure_hash).where(lanes.c.id == lane)
