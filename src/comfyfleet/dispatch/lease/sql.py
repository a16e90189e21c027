"""Statements by which a worker gets a lease. Built once: they run all day, each with its `rows`."""

from typing import Any

import sqlalchemy as sa

from comfyfleet.db.dialect import InEach, SecondsBetween, batch_rows, constant, now, seconds_from_now
from comfyfleet.db.direct import built_once
from comfyfleet.db.tables import ai_job_dispatches, dispatch_attempts, dispatch_payloads
from comfyfleet.dispatch.lifecycle import DISPATCH, DispatchEvent, DispatchStatus
from comfyfleet.dispatch.sql import LEASE_KEY

d, a = ai_job_dispatches, dispatch_attempts


@built_once
def open_leases() -> sa.Select[Any]:
    """What these workers hold: to count it, and to answer a poll again whose reply was lost."""
    b = batch_rows("b", {"worker_id": sa.Uuid()})
    return (
        sa.select(
            d.c.worker_id,
            d.c.id,
            d.c.lane,
            d.c.tenant_id,
            d.c.traceparent,
            d.c.epoch,
            d.c.attempts,
            d.c.incarnation,
            SecondsBetween(now(), d.c.deadline_at).label("deadline_s"),
            a.c.nonce,
            a.c.poll_id,
        )
        .select_from(b)
        .join(d, sa.and_(d.c.worker_id == b.c.worker_id, d.c.status == constant(DispatchStatus.LEASED)))
        .join(a, sa.and_(a.c.dispatch_id == d.c.id, a.c.epoch == d.c.epoch))
    )


@built_once
def heads(*, tenants: bool) -> sa.Select[Any]:
    """The first rows of each lane past its floor: a short walk of one index per lane, whatever waits behind them."""
    b = batch_rows("b", {"lane": sa.Integer(), "floor_tag": sa.Double(), "floor_seq": sa.BigInteger()})
    inner = d.alias("inner")
    first = (
        sa.select(inner.c.id)
        .where(
            inner.c.lane == b.c.lane,
            inner.c.status == constant(DispatchStatus.QUEUED),
            sa.tuple_(inner.c.fair_tag, inner.c.seq) > sa.tuple_(b.c.floor_tag, b.c.floor_seq),
        )
        .order_by(inner.c.fair_tag, inner.c.seq)
        .limit(sa.bindparam("each", type_=sa.Integer()))
        .correlate(b)
    )
    return (
        sa.select(
            d.c.id,
            d.c.lane,
            # Whose a row is matters where a tenant is blocked, and costs as much to read as all the rest.
            d.c.tenant_id if tenants else sa.null().label("tenant_id"),
            SecondsBetween(d.c.queued_at, now()).label("waited_s"),
            d.c.epoch,
            d.c.run_deadline_s,
            d.c.attempts,
            d.c.fair_tag,
            d.c.seq,
        )
        .select_from(b)
        .join(d, InEach(d.c.id, first))
        .order_by(d.c.lane, d.c.fair_tag, d.c.seq)
    )


@built_once
def claim() -> sa.Update:
    """Only rows that still wait, at the epoch that was seen: of two who saw the same head, one gets it.

    The other does not wait for it: each may have rows that the other wants, and in what order is the planner's choice.
    """
    columns = {**LEASE_KEY, "service_status": sa.Text()}
    b, waits = batch_rows("b", columns), d.c.status.in_(DISPATCH.sources(DispatchEvent.LEASE))
    seen = sa.select(*b.c).join(d, d.c.id == b.c.id).where(waits, d.c.epoch == b.c.epoch - 1)
    free = seen.with_for_update(of=d, skip_locked=True).cte("free")
    return (
        sa.update(d)
        .where(d.c.id == free.c.id, waits, d.c.epoch == free.c.epoch - 1)
        .values(
            status=DISPATCH.target(DispatchEvent.LEASE),
            epoch=d.c.epoch + 1,
            attempts=d.c.attempts + 1,
            lease_hash=free.c.lease_hash,
            worker_id=free.c.worker_id,
            incarnation=free.c.incarnation,
            leased_at=now(),
            provider_job_id=None,
            service_submitted_at=None,
            last_service_check=None,
            service_status=free.c.service_status,
            lease_expires_at=seconds_from_now(sa.bindparam("grace_s", type_=sa.Float())),
            deadline_at=seconds_from_now(d.c.run_deadline_s),
        )
        .returning(d.c.id, d.c.tenant_id, d.c.traceparent)
    )


@built_once
def insert_attempts() -> sa.Insert:
    columns: dict[str, Any] = {
        "id": sa.Uuid(),
        "epoch": sa.BigInteger(),
        "nonce": sa.Text(),
        "poll_id": sa.Text(),
        "worker_id": sa.Uuid(),
        "incarnation": sa.BigInteger(),
    }
    b = batch_rows("b", columns)
    into = ["dispatch_id", "epoch", "nonce", "poll_id", "worker_id", "incarnation", "granted_at"]
    return sa.insert(a).from_select(into, sa.select(*b.c, now()))


@built_once
def last_ends() -> sa.Select[Any]:
    """How long ago the attempts before these ended."""
    b = batch_rows("b", {"id": sa.Uuid(), "epoch": sa.BigInteger()})
    before = sa.and_(a.c.dispatch_id == b.c.id, a.c.epoch == b.c.epoch - 1, a.c.ended_at.is_not(None))
    return sa.select(a.c.dispatch_id, SecondsBetween(a.c.ended_at, now()).label("ago_s")).select_from(b).join(a, before)


@built_once
def payloads() -> sa.Select[Any]:
    b = batch_rows("b", {"n": sa.Integer(), "id": sa.Uuid()})
    p = dispatch_payloads
    return sa.select(b.c.n, p.c.payload).join(b, b.c.id == p.c.dispatch_id)
