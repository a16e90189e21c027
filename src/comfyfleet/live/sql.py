"""Statements by which watched jobs and runs are read, and by which replicas find each other."""

from functools import cache
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from comfyfleet.db.dialect import batch_rows, constant, insert_once, now, seconds_from_now
from comfyfleet.db.scope import BOUND_TENANT
from comfyfleet.db.tables import (
    ai_job_dispatches,
    ai_jobs,
    effects,
    pipeline_run_steps,
    pipeline_runs,
    replicas,
    waiting_reasons,
)
from comfyfleet.dispatch.lifecycle import DispatchStatus
from comfyfleet.kernel.ids import JobId, RunId, UserId, WorkflowId

j, d, e, r = ai_jobs, ai_job_dispatches, effects, replicas
p, s, q = pipeline_runs, pipeline_run_steps, waiting_reasons

WATCHED = (
    j.c.id,
    j.c.tenant_id,
    j.c.user_id,
    j.c.workflow_id,
    j.c.provider,
    j.c.status,
    j.c.expected_s,
    j.c.error_message,
    j.c.error_class,
    j.c.created_at,
    j.c.started_at,
    j.c.completed_at,
)


# ── jobs ────────────────────────────────────────────────────────────────────────────────────


def job_of(job_id: JobId, user_id: UserId) -> sa.Select[Any]:
    return sa.select(j.c.id, j.c.tenant_id, j.c.user_id).where(
        j.c.tenant_id == BOUND_TENANT, j.c.id == job_id, j.c.user_id == user_id
    )


def newest_of(user_id: UserId, *, rows: int) -> sa.Select[Any]:
    return (
        sa.select(*WATCHED, now().label("read_at"))
        .where(j.c.tenant_id == BOUND_TENANT, j.c.user_id == user_id)
        .order_by(j.c.id.desc())
        .limit(rows)
    )


@cache
def watched_jobs() -> sa.Select[Any]:
    b = batch_rows("b", {"id": sa.Uuid()})
    return sa.select(*WATCHED, now().label("read_at")).select_from(b).join(j, j.c.id == b.c.id)


@cache
def places(*, ahead_max: int) -> sa.Select[Any]:
    """Where each stands; of those that wait, how many are leased before it. The count ends at `ahead_max`: the walk
    along the index must not grow with the queue."""
    b, front = batch_rows("b", {"id": sa.Uuid()}), d.alias("front")
    before = (
        sa.select(front.c.id)
        .where(
            front.c.lane == d.c.lane,
            front.c.status == constant(DispatchStatus.QUEUED),
            sa.tuple_(front.c.fair_tag, front.c.seq) < sa.tuple_(d.c.fair_tag, d.c.seq),
        )
        .order_by(front.c.fair_tag, front.c.seq)
        .limit(ahead_max)
        .correlate(d)
        .subquery("before")
    )
    count = sa.select(sa.func.count()).select_from(before).scalar_subquery()
    ahead = sa.case((d.c.status == constant(DispatchStatus.QUEUED), count), else_=0)
    reason = (
        sa.select(q.c.reason)
        .where(q.c.lane == d.c.lane, sa.or_(q.c.tenant_id.is_(None), q.c.tenant_id == d.c.tenant_id))
        .order_by(q.c.id)
        .limit(1)
        .scalar_subquery()
    )
    other = d.alias("other")
    leased = other.c.status == constant(DispatchStatus.LEASED), d.c.status == constant(DispatchStatus.LEASED)
    behind = sa.select(other.c.id).where(*leased, other.c.worker_id == d.c.worker_id, other.c.id != d.c.id)
    told = reason.label("reason"), ahead.label("ahead"), d.c.service_status, behind.exists().label("behind")
    return sa.select(d.c.id, d.c.status, d.c.queue_deadline_at, *told).select_from(b).join(d, d.c.id == b.c.id)


def past_times(workflow_ids: list[WorkflowId]) -> sa.Select[Any]:
    """What jobs of these workflows took last, by their effects."""
    return (
        sa.select(e.c.workflow_id, sa.func.avg(e.c.last_processing_time_seconds).label("past_s"))
        .where(e.c.workflow_id.in_(workflow_ids), e.c.last_processing_time_seconds.is_not(None))
        .group_by(e.c.workflow_id)
    )


# ── runs ────────────────────────────────────────────────────────────────────────────────────

RUN = (
    p.c.id,
    p.c.status,
    p.c.status_reason,
    p.c.in_flight,
    p.c.jobs_started,
    p.c.jobs_max,
    p.c.tokens_spent,
    p.c.tokens_max,
    p.c.ended_at,
)


def newest_runs_of(user_id: UserId, *, rows: int) -> sa.Select[Any]:
    return (
        sa.select(*RUN).where(p.c.tenant_id == BOUND_TENANT, p.c.user_id == user_id).order_by(p.c.id.desc()).limit(rows)
    )


def runs_of(user_id: UserId, run_ids: list[RunId]) -> sa.Select[Any]:
    return sa.select(*RUN).where(p.c.tenant_id == BOUND_TENANT, p.c.user_id == user_id, p.c.id.in_(run_ids))


def steps_of_runs(run_ids: list[RunId]) -> sa.Select[Any]:
    return (
        sa.select(*s.c).where(s.c.tenant_id == BOUND_TENANT, s.c.run_id.in_(run_ids)).order_by(s.c.run_id, s.c.position)
    )


# ── replicas ────────────────────────────────────────────────────────────────────────────────


def add_replica(replica_id: UUID, url: str) -> sa.Insert:
    return insert_once(r).values(id=replica_id, url=url, started_at=now(), seen_at=now())


def touch_replica(replica_id: UUID) -> sa.Update:
    return sa.update(r).where(r.c.id == replica_id).values(seen_at=now()).returning(r.c.id)


def other_replicas(replica_id: UUID, *, within_s: float, rows: int) -> sa.Select[Any]:
    return (
        sa.select(r.c.id, r.c.url)
        .where(r.c.id != replica_id, r.c.seen_at > seconds_from_now(-within_s))
        .order_by(r.c.id)
        .limit(rows)
    )


def remove_replica(replica_id: UUID) -> sa.Delete:
    return sa.delete(r).where(r.c.id == replica_id)


def forget_replicas(*, age_s: float) -> sa.Delete:
    return sa.delete(r).where(r.c.seen_at < seconds_from_now(-age_s))
