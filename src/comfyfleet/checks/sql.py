"""The invariants as statements: each must find no row. They read tables of every slice, and write none."""

from typing import Any

import sqlalchemy as sa

from comfyfleet.checks.model import SHOWN_MAX
from comfyfleet.db.dialect import batch_rows, now, seconds_from_now
from comfyfleet.db.tables import (
    ai_job_dispatches,
    ai_jobs,
    comfyui_workers,
    dispatch_attempts,
    failover_blocks,
    files,
    job_files,
    settlements,
    submissions,
    tenants,
    token_transactions,
    token_wallets,
    videos,
    webhook_events,
)
from comfyfleet.dispatch.lifecycle import DISPATCH, DispatchStatus
from comfyfleet.jobs import JOB, JobStatus
from comfyfleet.kernel.ids import DispatchId, JobId
from comfyfleet.ledger import TransactionType
from comfyfleet.videos import VideoStatus

d, a, s, k, w = ai_job_dispatches, dispatch_attempts, settlements, failover_blocks, comfyui_workers
j, u, t, p = ai_jobs, submissions, token_transactions, token_wallets
f, jf, v, e = files, job_files, videos, webhook_events

ENDED = sorted(DISPATCH.terminal)
UNDER_WAY = sorted(set(JobStatus) - set(JOB.terminal))
ENDS = (TransactionType.JOB_CONSUME, TransactionType.JOB_REFUND)


def _first(broken: sa.Select[Any]) -> sa.Select[Any]:
    """The first few of them, each with the number of all."""
    found = broken.subquery("found")
    return sa.select(*found.c, sa.func.count().over().label("total")).limit(SHOWN_MAX)


# ── the queue ───────────────────────────────────────────────────────────────────────────────


def open_attempts_without_lease() -> sa.Select[Any]:
    return _first(
        sa.select(a.c.dispatch_id, a.c.epoch, d.c.status, d.c.epoch.label("dispatch_epoch"))
        .select_from(a.outerjoin(d, d.c.id == a.c.dispatch_id))
        .where(
            a.c.ended_at.is_(None),
            sa.or_(d.c.id.is_(None), d.c.status != DispatchStatus.LEASED, a.c.epoch != d.c.epoch),
        )
    )


def leases_without_open_attempt() -> sa.Select[Any]:
    own = sa.select(a.c.epoch).where(a.c.dispatch_id == d.c.id, a.c.epoch == d.c.epoch, a.c.ended_at.is_(None))
    leased = d.c.status == DispatchStatus.LEASED
    return _first(sa.select(d.c.id, d.c.epoch, d.c.worker_id).where(leased, ~own.exists()))


def workers_above_their_limit(*, lease_ahead: int) -> sa.Select[Any]:
    # As many again may be uploading: they have left the GPU, and still hold their leases.
    allowed = 2 * w.c.max_concurrency + lease_ahead
    return _first(
        sa.select(w.c.worker_id, d.c.incarnation, sa.func.count().label("held"), allowed.label("allowed"))
        .select_from(d.join(w, w.c.id == d.c.worker_id))
        .where(d.c.status == DispatchStatus.LEASED)
        .group_by(w.c.worker_id, d.c.incarnation, w.c.max_concurrency)
        .having(sa.func.count() > allowed)
    )


def epochs_with_gaps() -> sa.Select[Any]:
    newest, count = sa.func.max(a.c.epoch), sa.func.count()
    return _first(
        sa.select(a.c.dispatch_id, newest.label("newest_epoch"), count.label("attempts"))
        .group_by(a.c.dispatch_id)
        .having(newest != count)
    )


def outcomes_of_another_epoch() -> sa.Select[Any]:
    by_a_worker = [DispatchStatus.COMPLETED, DispatchStatus.FAILED]
    return _first(
        sa.select(d.c.id, d.c.status, d.c.epoch, d.c.done_epoch).where(
            d.c.status.in_(by_a_worker), d.c.attempts > 0, d.c.done_epoch.is_distinct_from(d.c.epoch)
        )
    )


def finished_without_one_settlement() -> sa.Select[Any]:
    count = sa.select(sa.func.count()).where(s.c.dispatch_id == d.c.id).scalar_subquery()
    return _first(
        sa.select(d.c.id, d.c.status, count.label("settlements")).where(d.c.finished_at.is_not(None), count != 1)
    )


def settlements_that_say_otherwise() -> sa.Select[Any]:
    return _first(
        sa.select(s.c.id, s.c.dispatch_id, s.c.outcome, d.c.status)
        .join(d, d.c.id == s.c.dispatch_id)
        .where(sa.or_(d.c.finished_at.is_(None), s.c.outcome != d.c.status))
    )


def attempts_after_success() -> sa.Select[Any]:
    later = a.alias("later")
    return _first(
        sa.select(a.c.dispatch_id, a.c.epoch.label("completed_epoch"), later.c.epoch.label("later_epoch"))
        .join(later, later.c.dispatch_id == a.c.dispatch_id)
        .where(a.c.reason == DispatchStatus.COMPLETED, later.c.epoch > a.c.epoch)
    )


def attempts_out_of_bounds() -> sa.Select[Any]:
    return _first(
        sa.select(d.c.id, d.c.attempts, d.c.max_attempts, d.c.releases, d.c.max_releases).where(
            sa.or_(d.c.attempts > d.c.max_attempts + d.c.releases, d.c.releases > d.c.max_releases)
        )
    )


def leases_of_an_earlier_life() -> sa.Select[Any]:
    return _first(
        sa.select(d.c.id, w.c.worker_id, d.c.incarnation, w.c.incarnation.label("worker_incarnation"))
        .join(w, w.c.id == d.c.worker_id)
        .where(d.c.status == DispatchStatus.LEASED, d.c.incarnation != w.c.incarnation)
    )


def probes_that_do_not_run() -> sa.Select[Any]:
    return _first(
        sa.select(k.c.worker_id, k.c.structure_hash, k.c.probe_dispatch_id, d.c.status)
        .join(d, d.c.id == k.c.probe_dispatch_id)
        .where(d.c.status != DispatchStatus.LEASED)
    )


def unfinished_past_deadline() -> sa.Select[Any]:
    late = d.c.queue_deadline_at < now()
    return _first(sa.select(d.c.id, d.c.status, d.c.created_at).where(d.c.finished_at.is_(None), late))


def settlements_left_lying(*, older_than_s: float) -> sa.Select[Any]:
    return _first(
        sa.select(s.c.id, s.c.dispatch_id, s.c.pool, s.c.tries, s.c.created_at).where(
            s.c.applied_at.is_(None), s.c.parked_at.is_(None), s.c.created_at < seconds_from_now(-older_than_s)
        )
    )


def dispatches_in_a_strange_pool() -> sa.Select[Any]:
    return _first(
        sa.select(d.c.id, d.c.tenant_id, d.c.pool, tenants.c.pool.label("tenant_pool"))
        .select_from(d.outerjoin(tenants, tenants.c.id == d.c.tenant_id))
        .where(sa.or_(tenants.c.id.is_(None), tenants.c.pool != d.c.pool))
    )


# ── the ledger ──────────────────────────────────────────────────────────────────────────────


def wallets_that_do_not_add_up() -> sa.Select[Any]:
    total = sa.func.coalesce(sa.func.sum(t.c.amount), 0)
    return _first(
        sa.select(p.c.tenant_id, p.c.id, p.c.balance, sa.cast(total, sa.BigInteger()).label("sum_of_transactions"))
        .select_from(p.outerjoin(t, sa.and_(t.c.tenant_id == p.c.tenant_id, t.c.wallet_id == p.c.id)))
        .group_by(p.c.tenant_id, p.c.id, p.c.balance)
        .having(p.c.balance != total)
    )


def jobs_not_paid_once() -> sa.Select[Any]:
    reserves, ends = _transactions_of_job([TransactionType.JOB_RESERVE]), _transactions_of_job(list(ENDS))
    due = sa.case((j.c.status.in_(ENDED), 1), else_=0)
    return _first(
        sa.select(j.c.tenant_id, j.c.id, j.c.status, reserves.label("reserves"), ends.label("ends")).where(
            sa.or_(reserves != 1, ends != due)
        )
    )


def _transactions_of_job(types: list[TransactionType]) -> sa.ScalarSelect[Any]:
    own = sa.and_(t.c.tenant_id == j.c.tenant_id, t.c.job_id == j.c.id)
    return sa.select(sa.func.count()).where(own, t.c.type.in_(types)).scalar_subquery()


def ends_that_differ_from_their_reserve() -> sa.Select[Any]:
    r = t.alias("reserve")
    same_job = sa.and_(
        r.c.tenant_id == t.c.tenant_id, r.c.job_id == t.c.job_id, r.c.type == TransactionType.JOB_RESERVE
    )
    given_back = sa.case((t.c.type == TransactionType.JOB_REFUND, -r.c.amount), else_=0)
    return _first(
        sa.select(t.c.tenant_id, t.c.job_id, t.c.type, t.c.amount, r.c.amount.label("reserved"))
        .select_from(t.outerjoin(r, same_job))
        .where(
            t.c.type.in_(ENDS),
            sa.or_(r.c.id.is_(None), t.c.amount != given_back, t.c.wallet_id != r.c.wallet_id),
        )
    )


def jobs_with_the_wrong_end() -> sa.Select[Any]:
    completed = sa.and_(j.c.status == "completed", t.c.type == TransactionType.JOB_REFUND)
    unhappy = sa.and_(j.c.status.in_(["failed", "cancelled"]), t.c.type == TransactionType.JOB_CONSUME)
    return _first(
        sa.select(j.c.tenant_id, j.c.id, j.c.status, t.c.type)
        .join(t, sa.and_(t.c.tenant_id == j.c.tenant_id, t.c.job_id == j.c.id))
        .where(sa.or_(completed, unhappy))
    )


def overdrawn_wallets() -> sa.Select[Any]:
    return _first(sa.select(p.c.tenant_id, p.c.id, p.c.balance).where(p.c.balance < 0))


# ── jobs, their files and what is told of them ──────────────────────────────────────────────


def keys_of_many_jobs() -> sa.Select[Any]:
    return _first(
        sa.select(j.c.tenant_id, j.c.user_id, j.c.idempotency_key, sa.func.count().label("jobs"))
        .where(j.c.idempotency_key.is_not(None))
        .group_by(j.c.tenant_id, j.c.user_id, j.c.idempotency_key)
        .having(sa.func.count() > 1)
    )


def completed_without_one_result() -> sa.Select[Any]:
    """What a job made stays written down when its files have expired."""
    own = sa.and_(jf.c.tenant_id == j.c.tenant_id, jf.c.job_id == j.c.id, jf.c.role == "output", jf.c.is_primary)
    results = sa.select(sa.func.count()).where(own).scalar_subquery()
    return _first(
        sa.select(j.c.tenant_id, j.c.id, results.label("results")).where(
            j.c.status == JobStatus.COMPLETED, j.c.effect_id.is_not(None), results != 1
        )
    )


def events_that_say_otherwise() -> sa.Select[Any]:
    """Once it was queued, a job's start and its end are told, and only the end it came to."""
    ends = {f"job.{status.value}": status for status in JOB.terminal}
    other = [sa.and_(e.c.event_type == kind, j.c.status != status) for kind, status in sorted(ends.items())]
    return _first(
        sa.select(e.c.tenant_id, e.c.id, e.c.event_type, e.c.subject_id, j.c.status)
        .select_from(e.outerjoin(j, sa.and_(j.c.tenant_id == e.c.tenant_id, j.c.id == e.c.subject_id)))
        .where(e.c.event_type.like("job.%"), sa.or_(j.c.id.is_(None), *other))
    )


def submissions_left_lying(*, older_than_s: float) -> sa.Select[Any]:
    return _first(
        sa.select(u.c.tenant_id, u.c.job_id, u.c.created_at).where(
            u.c.sent_at.is_(None), u.c.created_at < seconds_from_now(-older_than_s)
        )
    )


def inputs_that_are_not_there() -> sa.Select[Any]:
    there = sa.and_(
        f.c.tenant_id == jf.c.tenant_id, f.c.id == jf.c.file_id, f.c.user_id == j.c.user_id, f.c.status == "stored"
    )
    return _first(
        sa.select(jf.c.tenant_id, jf.c.job_id, jf.c.file_id)
        .select_from(jf.join(j, sa.and_(j.c.tenant_id == jf.c.tenant_id, j.c.id == jf.c.job_id)).outerjoin(f, there))
        .where(jf.c.role == "input", j.c.status.in_(UNDER_WAY), f.c.id.is_(None))
    )


def videos_nobody_works_on() -> sa.Select[Any]:
    own = sa.select(j.c.id).where(
        j.c.tenant_id == v.c.tenant_id, j.c.id == v.c.job_id, j.c.video_id == v.c.id, j.c.status.in_(UNDER_WAY)
    )
    return _first(
        sa.select(v.c.tenant_id, v.c.id, v.c.job_id).where(v.c.status == VideoStatus.PROCESSING, ~own.exists())
    )


# ── between the databases ───────────────────────────────────────────────────────────────────


def dispatches_after(pool: str, after: DispatchId | None, *, rows: int) -> sa.Select[Any]:
    page = _dispatches().where(d.c.pool == pool).order_by(d.c.id).limit(rows)
    return page.where(d.c.id > after) if after is not None else page


def dispatches_by_id(ids: list[DispatchId]) -> sa.Select[Any]:
    b = batch_rows("b", {"id": sa.Uuid()}, [{"id": each} for each in ids])
    return _dispatches().join(b, b.c.id == d.c.id)


def _dispatches() -> sa.Select[Any]:
    return sa.select(d.c.id, d.c.tenant_id, d.c.status, d.c.done_epoch, d.c.settled_at.is_not(None).label("settled"))


def jobs_by_id(ids: list[DispatchId]) -> sa.Select[Any]:
    b = batch_rows("b", {"id": sa.Uuid()}, [{"id": each} for each in ids])
    return sa.select(j.c.id, j.c.tenant_id, j.c.status).join(b, b.c.id == j.c.id)


def outputs_by_job(ids: list[DispatchId]) -> sa.Select[Any]:
    b = batch_rows("b", {"id": sa.Uuid()}, [{"id": each} for each in ids])
    return (
        sa.select(jf.c.job_id, f.c.path)
        .select_from(b)
        .join(jf, sa.and_(jf.c.job_id == b.c.id, jf.c.role == "output"))
        .join(f, sa.and_(f.c.tenant_id == jf.c.tenant_id, f.c.id == jf.c.file_id))
    )


def sent_after(after: JobId | None, *, rows: int) -> sa.Select[Any]:
    page = _sent().order_by(u.c.job_id).limit(rows)
    return page.where(u.c.job_id > after) if after is not None else page


def sent_by_id(ids: list[JobId]) -> sa.Select[Any]:
    b = batch_rows("b", {"id": sa.Uuid()}, [{"id": each} for each in ids])
    return _sent().join(b, b.c.id == u.c.job_id)


def _sent() -> sa.Select[Any]:
    return sa.select(u.c.job_id, u.c.tenant_id).where(u.c.sent_at.is_not(None))
