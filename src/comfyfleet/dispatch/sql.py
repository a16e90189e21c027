"""Statements of the queue. Hot ones take batches: the same text for one row and for five hundred."""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from comfyfleet.db.dialect import (
    InEach,
    Larger,
    SecondsBetween,
    batch_rows,
    insert_once,
    now,
    seconds_from_now,
)
from comfyfleet.db.tables import (
    ai_job_dispatches,
    dispatch_attempts,
    dispatch_payloads,
    fair_shares,
    lanes,
    settlements,
)
from comfyfleet.dispatch.lifecycle import DISPATCH, DispatchEvent, DispatchStatus
from comfyfleet.dispatch.model import QueueRules
from comfyfleet.kernel.ids import DispatchId, LaneId, WorkerId

d, a = ai_job_dispatches, dispatch_attempts

LEASE_KEY: dict[str, Any] = {
    "id": sa.Uuid(),
    "epoch": sa.BigInteger(),
    "lease_hash": sa.Text(),
    "worker_id": sa.Uuid(),
    "incarnation": sa.BigInteger(),
}


# ── into the queue ──────────────────────────────────────────────────────────────────────────


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
}


def known(ids: list[DispatchId]) -> sa.Select[Any]:
    b = batch_rows("b", {"id": sa.Uuid()}, [{"id": each} for each in ids])
    return sa.select(d.c.id).join(b, b.c.id == d.c.id)


def lanes_of(rows: list[dict[str, Any]]) -> sa.Select[Any]:
    b = batch_rows("b", LANE, rows)
    return sa.select(*lanes.c).join(b, sa.and_(*(lanes.c[name] == b.c[name] for name in LANE)))


def insert_lanes(rows: list[dict[str, Any]]) -> sa.Insert:
    return insert_once(lanes).from_select([*LANE], _each(batch_rows("b", LANE, rows)))


def advance_shares(rows: list[dict[str, Any]]) -> sa.Insert:
    """`fairness.finish_tag` for many at once. Taken in one order, so that two batches never wait for each other.

    The head is the first row that nobody has leased yet (epoch 0): what comes back keeps its old tag, and would turn
    the lane's time back for everybody who queues after it.
    """
    b = batch_rows("b", {"lane": sa.Integer(), "tenant_id": sa.Uuid(), "cost": sa.Double()}, rows)
    f = fair_shares.alias("f")
    head = (
        sa.select(d.c.fair_tag)
        .where(d.c.lane == b.c.lane, d.c.status == DispatchStatus.QUEUED, d.c.epoch == 0)
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


def insert_dispatches(rows: list[dict[str, Any]], *, rules: QueueRules) -> sa.Insert:
    b = batch_rows("b", PLACE, rows)
    constant: dict[str, Any] = {
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
    listed = sa.select(*b.c, *constant.values()).where(sa.true())
    return insert_once(d).from_select([*PLACE, *constant], listed).returning(d.c.id, d.c.lane)


def insert_payload() -> sa.Insert:
    p = dispatch_payloads
    return insert_once(p).values(dispatch_id=sa.bindparam("dispatch_id"), payload=sa.bindparam("payload"))


def _each(rows: sa.TableValuedAlias) -> sa.Select[Any]:
    """All rows of a batch, for an insert. SQLite needs the WHERE: it would take an ON CONFLICT for a join's ON."""
    return sa.select(*rows.c).where(sa.true())


# ── leasing ─────────────────────────────────────────────────────────────────────────────────


def heads(lane_ids: list[LaneId], *, rows: int) -> sa.Select[Any]:
    """The first rows of each lane: a short walk of one index per lane, whatever waits behind them."""
    asked = batch_rows("asked", {"lane": sa.Integer()}, [{"lane": lane} for lane in lane_ids])
    inner = d.alias("inner")
    first = (
        sa.select(inner.c.id)
        .where(inner.c.lane == asked.c.lane, inner.c.status == DispatchStatus.QUEUED)
        .order_by(inner.c.fair_tag, inner.c.seq)
        .limit(rows)
        .correlate(asked)
    )
    return (
        sa.select(
            d.c.id,
            d.c.lane,
            d.c.tenant_id,
            lanes.c.structure_hash,
            d.c.priority,
            d.c.fair_tag,
            SecondsBetween(d.c.queued_at, now()).label("waited_s"),
            d.c.epoch,
            d.c.run_deadline_s,
        )
        .select_from(asked)
        .join(d, InEach(d.c.id, first))
        .join(lanes, lanes.c.id == d.c.lane)
        .order_by(d.c.lane, d.c.fair_tag, d.c.seq)
    )


def claim(rows: list[dict[str, Any]], *, grace_s: float) -> sa.Update:
    """Only rows that still wait, at the epoch that was seen: of two who saw the same head, one gets it."""
    b = batch_rows("b", LEASE_KEY, rows)
    return (
        sa.update(d)
        .where(d.c.id == b.c.id, d.c.status.in_(DISPATCH.sources(DispatchEvent.LEASE)), d.c.epoch == b.c.epoch - 1)
        .values(
            status=DISPATCH.target(DispatchEvent.LEASE),
            epoch=d.c.epoch + 1,
            attempts=d.c.attempts + 1,
            lease_hash=b.c.lease_hash,
            worker_id=b.c.worker_id,
            incarnation=b.c.incarnation,
            lease_expires_at=seconds_from_now(grace_s),
            deadline_at=seconds_from_now(d.c.run_deadline_s),
        )
        .returning(*d.c)
    )


def insert_attempts(rows: list[dict[str, Any]]) -> sa.Insert:
    columns: dict[str, Any] = {
        "dispatch_id": sa.Uuid(),
        "epoch": sa.BigInteger(),
        "nonce": sa.Text(),
        "poll_id": sa.Text(),
        "worker_id": sa.Uuid(),
        "incarnation": sa.BigInteger(),
    }
    b = batch_rows("b", columns, rows)
    return sa.insert(a).from_select([*columns, "granted_at"], sa.select(*b.c, now()))


def open_leases(worker_ids: list[WorkerId]) -> sa.Select[Any]:
    asked = batch_rows("asked", {"worker_id": sa.Uuid()}, [{"worker_id": each} for each in worker_ids])
    return (
        sa.select(d.c.worker_id, sa.func.count().label("held"))
        .select_from(asked)
        .join(d, sa.and_(d.c.worker_id == asked.c.worker_id, d.c.status == DispatchStatus.LEASED))
        .group_by(d.c.worker_id)
    )


def leases_of_polls(rows: list[dict[str, Any]]) -> sa.Select[Any]:
    """Leases that an earlier sending of the same polls got: the reply was lost, not the lease."""
    b = batch_rows("b", {"worker_id": sa.Uuid(), "poll_id": sa.Text()}, rows)
    return (
        sa.select(*d.c, a.c.nonce, a.c.poll_id)
        .select_from(b)
        .join(a, sa.and_(a.c.worker_id == b.c.worker_id, a.c.poll_id == b.c.poll_id, a.c.ended_at.is_(None)))
        .join(d, sa.and_(d.c.id == a.c.dispatch_id, d.c.epoch == a.c.epoch, d.c.incarnation == a.c.incarnation))
        .where(d.c.status == DispatchStatus.LEASED)
    )


def payloads(ids: list[DispatchId]) -> sa.Select[Any]:
    b = batch_rows("b", {"id": sa.Uuid()}, [{"id": each} for each in ids])
    p = dispatch_payloads
    return sa.select(p.c.dispatch_id, p.c.payload).join(b, b.c.id == p.c.dispatch_id)


# ── holding ─────────────────────────────────────────────────────────────────────────────────


def extend(rows: list[dict[str, Any]], *, ttl_s: float) -> sa.Update:
    """An expired lease that nobody has taken yet is still its holder's: time decides liveness, the token safety."""
    columns = {**LEASE_KEY, "provider_job_id": sa.Text(), "service_status": sa.Text()}
    b = batch_rows("b", columns, rows)
    until = seconds_from_now(ttl_s)
    return (
        sa.update(d)
        .where(*_held(b))
        .values(
            lease_expires_at=sa.case((until < d.c.deadline_at, until), else_=d.c.deadline_at),
            provider_job_id=sa.func.coalesce(b.c.provider_job_id, d.c.provider_job_id),
            service_status=sa.func.coalesce(b.c.service_status, d.c.service_status),
            last_service_check=now(),
        )
        .returning(
            d.c.id,
            d.c.cancel_requested_at,
            SecondsBetween(now(), d.c.lease_expires_at).label("lease_s"),
            SecondsBetween(now(), d.c.deadline_at).label("deadline_s"),
        )
    )


def confirm_attempts(rows: list[dict[str, Any]]) -> sa.Update:
    b = batch_rows("b", {"id": sa.Uuid(), "epoch": sa.BigInteger()}, rows)
    return (
        sa.update(a)
        .where(a.c.dispatch_id == b.c.id, a.c.epoch == b.c.epoch, a.c.confirmed_at.is_(None))
        .values(confirmed_at=now())
    )


def _held(b: sa.TableValuedAlias) -> tuple[sa.ColumnElement[bool], ...]:
    """The guard of every write under a lease: this row, this epoch, this token, this life of the worker."""
    return (
        d.c.id == b.c.id,
        d.c.epoch == b.c.epoch,
        d.c.lease_hash == b.c.lease_hash,
        d.c.worker_id == b.c.worker_id,
        d.c.incarnation == b.c.incarnation,
        d.c.status == DispatchStatus.LEASED,
    )


# ── ending a lease ──────────────────────────────────────────────────────────────────────────

_RELEASED: dict[str, Any] = {"lease_hash": None, "lease_expires_at": None, "deadline_at": None}


def finish(rows: list[dict[str, Any]], event: DispatchEvent) -> sa.Update:
    """Complete, fail or cancel under the lease: the row that decides the outcome."""
    columns = {**LEASE_KEY, "error_class": sa.Text(), "last_error": sa.Text(), "provider_job_id": sa.Text()}
    b = batch_rows("b", columns, rows)
    granted = (
        sa.select(SecondsBetween(a.c.granted_at, now()))
        .where(a.c.dispatch_id == d.c.id, a.c.epoch == d.c.epoch)
        .scalar_subquery()
    )
    return (
        sa.update(d)
        .where(*_held(b))
        .values(
            status=DISPATCH.target(event),
            done_epoch=d.c.epoch,
            finished_at=now(),
            duration_seconds=granted,
            error_class=b.c.error_class,
            last_error=b.c.last_error,
            provider_job_id=sa.func.coalesce(b.c.provider_job_id, d.c.provider_job_id),
            **_RELEASED,
        )
        .returning(*d.c)
    )


def delay(rows: list[dict[str, Any]]) -> sa.Update:
    """A retryable failure, or an expired lease: back after a pause."""
    b = batch_rows("b", {**LEASE_KEY, "error_class": sa.Text(), "last_error": sa.Text(), "pause_s": sa.Float()}, rows)
    return (
        sa.update(d)
        .where(*_held(b))
        .values(
            status=DISPATCH.target(DispatchEvent.DELAY),
            run_at=seconds_from_now(b.c.pause_s),
            error_class=b.c.error_class,
            last_error=b.c.last_error,
            worker_id=None,
            incarnation=None,
            **_RELEASED,
        )
        .returning(*d.c)
    )


def requeue(rows: list[dict[str, Any]]) -> sa.Update:
    """Given back by its worker: at its old place in the queue, with the attempt returned (`gives_back` is 1)."""
    b = batch_rows("b", {**LEASE_KEY, "last_error": sa.Text(), "gives_back": sa.Integer()}, rows)
    return (
        sa.update(d)
        .where(*_held(b))
        .values(
            status=DISPATCH.target(DispatchEvent.REQUEUE),
            releases=d.c.releases + b.c.gives_back,
            last_error=b.c.last_error,
            worker_id=None,
            incarnation=None,
            **_RELEASED,
        )
        .returning(*d.c)
    )


def end_attempts(rows: list[dict[str, Any]]) -> sa.Update:
    columns: dict[str, Any] = {
        "id": sa.Uuid(),
        "epoch": sa.BigInteger(),
        "reason": sa.Text(),
        "request_digest": sa.Text(),
        "status": sa.Text(),
    }
    b = batch_rows("b", columns, rows)
    return (
        sa.update(a)
        .where(a.c.dispatch_id == b.c.id, a.c.epoch == b.c.epoch, a.c.ended_at.is_(None))
        .values(ended_at=now(), reason=b.c.reason, request_digest=b.c.request_digest, answered_status=b.c.status)
    )


def insert_settlements(rows: list[dict[str, Any]]) -> sa.Insert:
    columns: dict[str, Any] = {
        "id": sa.Uuid(),
        "dispatch_id": sa.Uuid(),
        "tenant_id": sa.Uuid(),
        "pool": sa.Text(),
        "outcome": sa.Text(),
        "detail": sa.Text(),
    }
    b = batch_rows("b", columns, rows)
    listed = sa.select(*b.c, sa.literal(0, sa.Integer()), now(), now())
    return sa.insert(settlements).from_select([*columns, "tries", "next_try_at", "created_at"], listed)


def attempt(dispatch_id: DispatchId, epoch: int) -> sa.Select[Any]:
    return sa.select(*a.c).where(a.c.dispatch_id == dispatch_id, a.c.epoch == epoch)


def by_id(dispatch_id: DispatchId) -> sa.Select[Any]:
    return sa.select(*d.c).where(d.c.id == dispatch_id)


def attempts_of(dispatch_id: DispatchId) -> sa.Select[Any]:
    return sa.select(*a.c).where(a.c.dispatch_id == dispatch_id).order_by(a.c.epoch)


# ── without a lease ─────────────────────────────────────────────────────────────────────────


def cancel_waiting(dispatch_id: DispatchId) -> sa.Update:
    return _end_waiting(DispatchEvent.CANCEL).where(d.c.id == dispatch_id).values(error_class="cancelled")


def request_cancel(dispatch_id: DispatchId) -> sa.Update:
    return (
        sa.update(d)
        .where(d.c.id == dispatch_id, d.c.status == DispatchStatus.LEASED)
        .values(cancel_requested_at=sa.func.coalesce(d.c.cancel_requested_at, now()))
        .returning(*d.c)
    )


def fail_overdue(*, rows: int) -> sa.Update:
    """Waited past the queue deadline."""
    late = (
        sa.select(d.c.id)
        .where(d.c.status.in_([DispatchStatus.QUEUED, DispatchStatus.DELAYED]), d.c.queue_deadline_at < now())
        .limit(rows)
        .with_for_update(skip_locked=True)
        .cte("late")
    )
    return (
        _end_waiting(DispatchEvent.FAIL)
        .where(d.c.id.in_(sa.select(late.c.id)))
        .values(error_class="timeout", last_error=sa.literal("No worker could run this job in time.", sa.Text()))
    )


def _end_waiting(event: DispatchEvent) -> sa.Update:
    waiting = [state for state in DISPATCH.sources(event) if state is not DispatchStatus.LEASED]
    return (
        sa.update(d)
        .where(d.c.status.in_(waiting))
        .values(status=DISPATCH.target(event), finished_at=now(), done_epoch=d.c.epoch, run_at=None)
        .returning(*d.c)
    )


def promote(*, rows: int) -> sa.Update:
    due = (
        sa.select(d.c.id)
        .where(d.c.status == DispatchStatus.DELAYED, d.c.run_at <= now())
        .order_by(d.c.run_at)
        .limit(rows)
        .with_for_update(skip_locked=True)
        .cte("due")
    )
    return (
        sa.update(d)
        .where(d.c.id.in_(sa.select(due.c.id)), d.c.status.in_(DISPATCH.sources(DispatchEvent.PROMOTE)))
        .values(status=DISPATCH.target(DispatchEvent.PROMOTE), run_at=None)
        .returning(d.c.id, d.c.lane)
    )


def expired(*, rows: int) -> sa.Select[Any]:
    """Leases whose time or whose run deadline is over, locked against everybody else who looks."""
    return (
        sa.select(*d.c, (d.c.deadline_at < now()).label("past_deadline"))
        .where(
            d.c.status == DispatchStatus.LEASED,
            sa.or_(d.c.lease_expires_at < now(), d.c.deadline_at < now()),
        )
        .limit(rows)
        .with_for_update(skip_locked=True, of=d)
    )


def leased_by(worker_id: WorkerId) -> sa.Select[Any]:
    return (
        sa.select(*d.c)
        .where(d.c.status == DispatchStatus.LEASED, d.c.worker_id == worker_id)
        .order_by(d.c.id)
        .with_for_update()
    )
