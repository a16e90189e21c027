"""Statements of the queue. Hot ones are built once and take `rows`: the same text for one and for five hundred."""

from typing import Any

import sqlalchemy as sa

from comfyfleet.db.dialect import SecondsBetween, batch_rows, constant, now, seconds_from_now
from comfyfleet.db.direct import built_once
from comfyfleet.db.tables import ai_job_dispatches, attempt_results, dispatch_attempts, lanes, settlements
from comfyfleet.dispatch.lifecycle import DISPATCH, DispatchEvent, DispatchStatus
from comfyfleet.kernel.ids import DispatchId, LaneId, WorkerId

d, a, r = ai_job_dispatches, dispatch_attempts, attempt_results

LEASE_KEY: dict[str, Any] = {
    "id": sa.Uuid(),
    "epoch": sa.BigInteger(),
    "lease_hash": sa.Text(),
    "worker_id": sa.Uuid(),
    "incarnation": sa.BigInteger(),
}


# ── lanes ───────────────────────────────────────────────────────────────────────────────────


def lanes_after(lane: LaneId) -> sa.Select[Any]:
    return sa.select(*lanes.c).where(lanes.c.id > lane).order_by(lanes.c.id)


# ── holding ─────────────────────────────────────────────────────────────────────────────────


SERVICE_FACTS: dict[str, Any] = {
    "service_status": sa.Text(),
    "submitted_ago_s": sa.Float(),
    "checked_ago_s": sa.Float(),
}


def _service_facts(b: Any) -> dict[str, Any]:
    """What the server has of it, as its worker told last: with a heartbeat, or with the end of a job that was shorter
    than one."""
    checked_at = seconds_from_now(-b.c.checked_ago_s)
    return {
        "service_submitted_at": sa.case(
            (d.c.service_submitted_at.is_not(None), d.c.service_submitted_at),
            (b.c.submitted_ago_s.is_not(None), seconds_from_now(-b.c.submitted_ago_s)),
        ),
        "service_status": sa.func.coalesce(b.c.service_status, d.c.service_status),
        # Told as an age: of two reports the second may come faster, and its check must not precede the POST.
        "last_service_check": sa.case(
            (checked_at < d.c.service_submitted_at, d.c.service_submitted_at),
            (b.c.checked_ago_s.is_not(None), checked_at),
            else_=d.c.last_service_check,
        ),
    }


@built_once
def extend() -> sa.Update:
    """An expired lease that nobody has taken yet is still its holder's: time decides liveness, the token safety."""
    columns = {**LEASE_KEY, "provider_job_id": sa.Text(), **SERVICE_FACTS}
    b = batch_rows("b", columns)
    until = seconds_from_now(sa.bindparam("ttl_s", type_=sa.Float()))
    return (
        sa.update(d)
        .where(*_held(b))
        .values(
            lease_expires_at=sa.case((until < d.c.deadline_at, until), else_=d.c.deadline_at),
            provider_job_id=sa.func.coalesce(b.c.provider_job_id, d.c.provider_job_id),
            **_service_facts(b),
        )
        .returning(
            d.c.id,
            d.c.lane,
            d.c.cancel_requested_at,
            SecondsBetween(now(), d.c.lease_expires_at).label("lease_s"),
            SecondsBetween(now(), d.c.deadline_at).label("deadline_s"),
        )
    )


@built_once
def confirm_attempts() -> sa.Update:
    b = batch_rows("b", {"id": sa.Uuid(), "epoch": sa.BigInteger()})
    return (
        sa.update(a)
        .where(a.c.dispatch_id == b.c.id, a.c.epoch == b.c.epoch, a.c.confirmed_at.is_(None))
        .values(confirmed_at=now())
    )


@built_once
def workers_with_leases() -> sa.Select[Any]:
    b = batch_rows("b", {"worker_id": sa.Uuid()})
    return sa.select(d.c.worker_id).join(
        b, sa.and_(d.c.worker_id == b.c.worker_id, d.c.status == constant(DispatchStatus.LEASED))
    )


@built_once
def unwanted_leases() -> sa.Select[Any]:
    b = batch_rows("b", {"worker_id": sa.Uuid(), "incarnation": sa.BigInteger()})
    holds = sa.and_(
        d.c.worker_id == b.c.worker_id,
        d.c.incarnation == b.c.incarnation,
        d.c.status == constant(DispatchStatus.LEASED),
    )
    return sa.select(d.c.id, d.c.worker_id).join(b, holds).where(d.c.cancel_requested_at.is_not(None))


@built_once
def held_leases() -> sa.Select[Any]:
    b = batch_rows("b", LEASE_KEY)
    return (
        sa.select(d.c.id, d.c.tenant_id, d.c.epoch, d.c.cancel_requested_at, a.c.nonce)
        .select_from(b)
        .join(d, sa.and_(*_held(b)))
        .join(a, sa.and_(a.c.dispatch_id == d.c.id, a.c.epoch == d.c.epoch))
    )


def leases_with_nonces(worker_id: WorkerId) -> sa.Select[Any]:
    """What a worker holds, in whatever life, held on to until the transaction ends."""
    return open_leases(worker_id).with_for_update(of=d)


def open_leases(worker_id: WorkerId) -> sa.Select[Any]:
    """The same without a lock, for who has not taken the worker's turn yet."""
    return (
        sa.select(d.c.id, d.c.epoch, d.c.lease_hash, d.c.worker_id, d.c.incarnation, a.c.nonce)
        .join(a, sa.and_(a.c.dispatch_id == d.c.id, a.c.epoch == d.c.epoch))
        .where(d.c.status == constant(DispatchStatus.LEASED), d.c.worker_id == worker_id)
        .order_by(d.c.id)
    )


REBIND: dict[str, Any] = {**LEASE_KEY, "new_hash": sa.Text(), "new_incarnation": sa.BigInteger()}


@built_once
def rebind() -> sa.Update:
    """The same lease in its worker's next life: what the old process still sends no longer fits."""
    b = batch_rows("b", REBIND)
    return (
        sa.update(d)
        .where(*_held(b))
        .values(
            lease_hash=b.c.new_hash,
            incarnation=b.c.new_incarnation,
            lease_expires_at=seconds_from_now(sa.bindparam("grace_s", type_=sa.Float())),
        )
        .returning(d.c.id)
    )


@built_once
def rebind_attempts() -> sa.Update:
    b = batch_rows("b", REBIND)
    return (
        sa.update(a)
        .where(
            a.c.dispatch_id == b.c.id,
            a.c.epoch == b.c.epoch,
            a.c.incarnation == b.c.incarnation,
            a.c.ended_at.is_(None),
        )
        .values(incarnation=b.c.new_incarnation)
    )


def _held(b: sa.TableValuedAlias) -> tuple[sa.ColumnElement[bool], ...]:
    """The guard of every write under a lease: this row, this epoch, this token, this life of the worker."""
    return (
        d.c.id == b.c.id,
        d.c.epoch == b.c.epoch,
        d.c.lease_hash == b.c.lease_hash,
        d.c.worker_id == b.c.worker_id,
        d.c.incarnation == b.c.incarnation,
        # Bound, not a constant: the way in is the id, and not the index of all that is leased.
        d.c.status == DispatchStatus.LEASED,
    )


# ── ending a lease ──────────────────────────────────────────────────────────────────────────

# What follows from the end of a lease needs no more of the row.
ENDED = (
    d.c.id,
    d.c.lane,
    d.c.status,
    d.c.epoch,
    d.c.error_class,
    d.c.last_error,
    d.c.provider_job_id,
    d.c.tenant_id,
    d.c.workflow_id,
    d.c.traceparent,
    SecondsBetween(d.c.leased_at, now()).label("leased_s"),
)
_RELEASED: dict[str, Any] = {"lease_hash": None, "lease_expires_at": None, "deadline_at": None}


@built_once
def finish(event: DispatchEvent) -> sa.Update:
    """Complete, fail or cancel under the lease: the row that decides the outcome."""
    columns = {
        **LEASE_KEY,
        "error_class": sa.Text(),
        "last_error": sa.Text(),
        "provider_job_id": sa.Text(),
        "ran_s": sa.Float(),
        "outputs": sa.Integer(),
        **SERVICE_FACTS,
    }
    b = batch_rows("b", columns)
    leased_s = SecondsBetween(d.c.leased_at, now())
    # Nobody pays for nothing.
    delivered = [sa.or_(b.c.outputs > 0, d.c.delivers.is_not(sa.true()))] if event is DispatchEvent.COMPLETE else []
    return (
        sa.update(d)
        .where(*_held(b), *delivered)
        .values(
            status=DISPATCH.target(event),
            done_epoch=d.c.epoch,
            finished_at=now(),
            # What waited behind another on its worker did not run meanwhile. Longer than its lease none can have run.
            duration_seconds=sa.case((b.c.ran_s < leased_s, b.c.ran_s), else_=leased_s),
            error_class=b.c.error_class,
            last_error=b.c.last_error,
            provider_job_id=sa.func.coalesce(b.c.provider_job_id, d.c.provider_job_id),
            **_service_facts(b),
            **_RELEASED,
        )
        .returning(*ENDED)
    )


@built_once
def cancel_unwanted() -> sa.Update:
    """In place of another try: while it ran, somebody asked for its end."""
    return finish(DispatchEvent.CANCEL).where(d.c.cancel_requested_at.is_not(None))


def delay(rows: list[dict[str, Any]]) -> sa.Update:
    """A retryable failure, or an expired lease: back after a pause, unless nobody wants it any more."""
    said: dict[str, Any] = {"error_class": sa.Text(), "last_error": sa.Text(), "pause_s": sa.Float()}
    b = batch_rows("b", {**LEASE_KEY, **said, **SERVICE_FACTS}, rows)
    return (
        sa.update(d)
        .where(*_held(b), d.c.cancel_requested_at.is_(None))
        .values(
            status=DISPATCH.target(DispatchEvent.DELAY),
            run_at=seconds_from_now(b.c.pause_s),
            error_class=b.c.error_class,
            last_error=b.c.last_error,
            worker_id=None,
            incarnation=None,
            **_service_facts(b),
            **_RELEASED,
        )
        .returning(*ENDED)
    )


def requeue(rows: list[dict[str, Any]]) -> sa.Update:
    """Given back by its worker: at its old place in the queue, with the attempt returned (`gives_back` is 1); unless
    nobody wants it any more."""
    said: dict[str, Any] = {"last_error": sa.Text(), "gives_back": sa.Integer()}
    b = batch_rows("b", {**LEASE_KEY, **said, **SERVICE_FACTS}, rows)
    return (
        sa.update(d)
        .where(*_held(b), d.c.cancel_requested_at.is_(None))
        .values(
            status=DISPATCH.target(DispatchEvent.REQUEUE),
            releases=d.c.releases + b.c.gives_back,
            last_error=b.c.last_error,
            worker_id=None,
            incarnation=None,
            **_service_facts(b),
            **_RELEASED,
        )
        .returning(*ENDED)
    )


@built_once
def end_attempts() -> sa.Update:
    columns: dict[str, Any] = {
        "id": sa.Uuid(),
        "epoch": sa.BigInteger(),
        "reason": sa.Text(),
        "request_digest": sa.Text(),
        "status": sa.Text(),
        "provider_job_id": sa.Text(),
        "service_reason": sa.Text(),
    }
    b = batch_rows("b", columns)
    return (
        sa.update(a)
        .where(a.c.dispatch_id == b.c.id, a.c.epoch == b.c.epoch, a.c.ended_at.is_(None))
        .values(
            ended_at=now(),
            reason=b.c.reason,
            request_digest=b.c.request_digest,
            answered_status=b.c.status,
            provider_job_id=b.c.provider_job_id,
            service_reason=b.c.service_reason,
        )
    )


@built_once
def insert_results() -> sa.Insert:
    b = batch_rows("b", {"id": sa.Uuid(), "epoch": sa.BigInteger(), "result_metadata": sa.Text()})
    listed = sa.select(b.c.id, b.c.epoch, b.c.result_metadata, now())
    return sa.insert(r).from_select(["dispatch_id", "epoch", "result_metadata", "created_at"], listed)


def result_of(dispatch_id: DispatchId, epoch: int | None) -> sa.Select[Any]:
    """None: the last."""
    kept = sa.select(r.c.result_metadata).where(r.c.dispatch_id == dispatch_id).order_by(r.c.epoch.desc()).limit(1)
    return kept if epoch is None else kept.where(r.c.epoch == epoch)


@built_once
def insert_settlements() -> sa.Insert:
    """What it settles stands in the row that was just moved."""
    b = batch_rows("b", {"settlement_id": sa.Uuid(), "id": sa.Uuid(), "detail": sa.Text()})
    listed = sa.select(
        b.c.settlement_id,
        d.c.id,
        d.c.tenant_id,
        d.c.pool,
        d.c.status,
        b.c.detail,
        sa.literal(0, sa.Integer()),
        now(),
        now(),
    ).join(d, d.c.id == b.c.id)
    into = ["id", "dispatch_id", "tenant_id", "pool", "outcome", "detail", "tries", "next_try_at", "created_at"]
    return sa.insert(settlements).from_select(into, listed)


def attempt(dispatch_id: DispatchId, epoch: int) -> sa.Select[Any]:
    return sa.select(*a.c).where(a.c.dispatch_id == dispatch_id, a.c.epoch == epoch)


def by_id(dispatch_id: DispatchId) -> sa.Select[Any]:
    return sa.select(*d.c).where(d.c.id == dispatch_id)


def by_ids(dispatch_ids: list[DispatchId]) -> sa.Select[Any]:
    b = batch_rows("b", {"id": sa.Uuid()}, [{"id": each} for each in dispatch_ids])
    return sa.select(*d.c).join(b, b.c.id == d.c.id)


def started(dispatch_ids: list[DispatchId]) -> sa.Select[Any]:
    """Those that a worker has or had, and how long ago it got them."""
    b = batch_rows("b", {"id": sa.Uuid()}, [{"id": each} for each in dispatch_ids])
    return (
        sa.select(d.c.id, d.c.tenant_id, d.c.pool, SecondsBetween(d.c.leased_at, now()).label("ago_s"))
        .join(b, b.c.id == d.c.id)
        .where(d.c.leased_at.is_not(None))
    )


def attempts_of(dispatch_id: DispatchId) -> sa.Select[Any]:
    return sa.select(*a.c).where(a.c.dispatch_id == dispatch_id).order_by(a.c.epoch)


# ── without a lease ─────────────────────────────────────────────────────────────────────────


def cancel_waiting(dispatch_id: DispatchId) -> sa.Update:
    return _end_waiting(DispatchEvent.CANCEL).where(d.c.id == dispatch_id).values(error_class="cancelled")


def request_cancel(dispatch_id: DispatchId) -> sa.Update:
    return (
        sa.update(d)
        .where(d.c.id == dispatch_id, d.c.status == constant(DispatchStatus.LEASED))
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
        .where(d.c.status == constant(DispatchStatus.DELAYED), d.c.run_at <= now())
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
            d.c.status == constant(DispatchStatus.LEASED),
            sa.or_(d.c.lease_expires_at < now(), d.c.deadline_at < now()),
        )
        .limit(rows)
        .with_for_update(skip_locked=True, of=d)
    )


def leased_by(worker_id: WorkerId) -> sa.Select[Any]:
    return (
        sa.select(*d.c)
        .where(d.c.status == constant(DispatchStatus.LEASED), d.c.worker_id == worker_id)
        .order_by(d.c.id)
        .with_for_update()
    )
