"""Statements that bring jobs into the queue."""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from comfyfleet.db.dialect import Larger, batch_rows, constant, insert_once, now, seconds_from_now
from comfyfleet.db.direct import built_once
from comfyfleet.db.tables import ai_job_dispatches, dispatch_payloads, fair_shares, lanes
from comfyfleet.dispatch.lifecycle import DISPATCH, DispatchStatus
from comfyfleet.dispatch.model import QueueRules

d = ai_job_dispatches

LANE: dict[str, Any] = {
    "workflow_id": sa.Uuid(),
    "structure_hash": sa.Text(),
    "provider": sa.Text(),
    "priority": sa.Integer(),
}
PLACE: dict[str, Any] = {
    "id": sa.Uuid(),
    "tenant_id": sa.Uuid(),
    "pool": sa.Text(),
    "workflow_id": sa.Uuid(),
    "provider": sa.Text(),
    "lane": sa.Integer(),
    "priority": sa.Integer(),
    "fair_tag": sa.Double(),
    "seq": sa.BigInteger(),
    "run_deadline_s": sa.Float(),
    "delivers": sa.Boolean(),
    "traceparent": sa.Text(),
}


@built_once
def known() -> sa.Select[Any]:
    b = batch_rows("b", {"id": sa.Uuid()})
    return sa.select(d.c.id).join(b, b.c.id == d.c.id)


@built_once
def lanes_of() -> sa.Select[Any]:
    b = batch_rows("b", LANE)
    return sa.select(*lanes.c).join(b, sa.and_(*(lanes.c[name] == b.c[name] for name in LANE)))


@built_once
def insert_lanes() -> sa.Insert:
    return insert_once(lanes).from_select([*LANE], _each(batch_rows("b", LANE)))


@built_once
def advance_shares() -> sa.Insert:
    """`fairness.finish_tag` for many at once. Taken in one order, so that two batches never wait for each other.

    The head is the first row that nobody has leased yet (epoch 0): what comes back keeps its old tag, and would turn
    the lane's time back for everybody who queues after it.
    """
    b = batch_rows("b", {"lane": sa.Integer(), "tenant_id": sa.Uuid(), "cost": sa.Double()})
    f = fair_shares.alias("f")
    head = (
        sa.select(d.c.fair_tag)
        .where(d.c.lane == b.c.lane, d.c.status == constant(DispatchStatus.QUEUED), d.c.epoch == 0)
        .order_by(d.c.fair_tag, d.c.seq)
        .limit(1)
        .correlate(b)
        .scalar_subquery()
    )
    latest = (
        sa.select(f.c.finish_tag)
        .where(f.c.lane == b.c.lane)
        .order_by(f.c.finish_tag.desc())
        .limit(1)
        .correlate(b)
        .scalar_subquery()
    )
    virtual_now = sa.func.coalesce(head, latest, sa.literal(0.0, sa.Double()))
    listed = (
        sa.select(b.c.lane, b.c.tenant_id, virtual_now + b.c.cost, b.c.cost)
        .where(sa.true())
        .order_by(b.c.lane, b.c.tenant_id)
    )
    insert = postgresql.insert(fair_shares).from_select(["lane", "tenant_id", "finish_tag", "last_cost"], listed)
    again = insert.excluded
    return insert.on_conflict_do_update(
        index_elements=[fair_shares.c.lane, fair_shares.c.tenant_id],
        set_={
            "finish_tag": Larger(fair_shares.c.finish_tag + again.last_cost, again.finish_tag),
            "last_cost": again.last_cost,
        },
    ).returning(*fair_shares.c)


@built_once
def insert_dispatches(rules: QueueRules) -> sa.Insert:
    b = batch_rows("b", PLACE)
    fixed: dict[str, Any] = {
        "tenant_job_id": b.c.id,
        "status": sa.literal(DISPATCH.initial.value, sa.Text()),
        "attempts": sa.literal(0, sa.Integer()),
        "max_attempts": sa.literal(rules.max_attempts, sa.Integer()),
        "releases": sa.literal(0, sa.Integer()),
        "max_releases": sa.literal(rules.max_releases, sa.Integer()),
        "epoch": sa.literal(0, sa.BigInteger()),
        "queued_at": now(),
        "queue_deadline_at": seconds_from_now(rules.queue_deadline_s),
        "created_at": now(),
    }
    listed = sa.select(*b.c, *fixed.values()).where(sa.true())
    return insert_once(d).from_select([*PLACE, *fixed], listed).returning(d.c.id)


@built_once
def insert_payload() -> sa.Insert:
    p = dispatch_payloads
    return insert_once(p).values(dispatch_id=sa.bindparam("dispatch_id"), payload=sa.bindparam("payload"))


def _each(rows: sa.TableValuedAlias) -> sa.Select[Any]:
    """All rows of a batch, for an insert. SQLite needs the WHERE: it would take an ON CONFLICT for a join's ON."""
    return sa.select(*rows.c).where(sa.true())
