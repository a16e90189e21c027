"""Statements over what waits, and why."""

from typing import Any

import sqlalchemy as sa

from comfyfleet.db.dialect import InEach, batch_rows, now, seconds_from_now
from comfyfleet.db.tables import ai_job_dispatches, failover_blocks, lanes, waiting_reasons
from comfyfleet.dispatch.blocks.sql import IS_BLOCK
from comfyfleet.dispatch.lifecycle import DispatchStatus
from comfyfleet.dispatch.matching import SKIPPED_ROWS_MAX
from comfyfleet.kernel.ids import LaneId, TenantId, WorkerId

d, k, r = ai_job_dispatches, failover_blocks, waiting_reasons


def starving(*, waited_s: float) -> sa.Select[Any]:
    """As many rows of each lane as leasing would look at, whatever waits behind them."""
    inner = d.alias("inner")
    first = (
        sa.select(inner.c.id)
        .where(inner.c.lane == lanes.c.id, inner.c.status == DispatchStatus.QUEUED)
        .order_by(inner.c.fair_tag, inner.c.seq)
        .limit(SKIPPED_ROWS_MAX)
        .correlate(lanes)
    )
    return (
        sa.select(
            lanes.c.id.label("lane"),
            lanes.c.workflow_id,
            lanes.c.structure_hash,
            lanes.c.provider,
            d.c.tenant_id,
        )
        .select_from(lanes)
        .join(d, InEach(d.c.id, first))
        .where(d.c.queued_at < seconds_from_now(-waited_s))
        .distinct()
    )


def blocks_on(structure_hashes: list[str]) -> sa.Select[Any]:
    b = batch_rows("b", {"hash": sa.Text()}, [{"hash": each} for each in structure_hashes])
    opens = (k.c.blocked_until <= now()).label("opens")
    return sa.select(*k.c, opens).join(b, b.c.hash == k.c.structure_hash).where(IS_BLOCK)


def open_block(worker_id: WorkerId, structure_hash: str) -> sa.Update:
    """Not one that opened by itself, nor one whose probe is under way."""
    return (
        sa.update(k)
        .where(
            k.c.worker_id == worker_id,
            k.c.structure_hash == structure_hash,
            k.c.blocked_until > now(),
            sa.or_(k.c.probe_dispatch_id.is_(None), k.c.probe_until <= now()),
        )
        .values(blocked_until=now())
        .returning(k.c.worker_id)
    )


def forget_reasons() -> sa.Delete:
    return sa.delete(r)


def insert_reasons(rows: list[dict[str, Any]]) -> sa.Insert:
    columns: dict[str, Any] = {"id": sa.Uuid(), "lane": sa.Integer(), "tenant_id": sa.Uuid(), "reason": sa.Text()}
    b = batch_rows("b", columns, rows)
    return sa.insert(r).from_select([*columns, "created_at"], sa.select(*b.c, now()))


def reason_of(lane: LaneId, tenant_id: TenantId) -> sa.Select[Any]:
    return (
        sa.select(r.c.reason)
        .where(r.c.lane == lane, sa.or_(r.c.tenant_id.is_(None), r.c.tenant_id == tenant_id))
        .order_by(r.c.id)
        .limit(1)
    )
