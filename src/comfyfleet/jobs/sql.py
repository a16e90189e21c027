"""Statements over jobs and their submissions."""

from typing import Any

import sqlalchemy as sa

from comfyfleet.db.dialect import batch_rows, insert_once, now, seconds_from_now
from comfyfleet.db.scope import BOUND_TENANT
from comfyfleet.db.tables import ai_jobs, submissions
from comfyfleet.jobs.lifecycle import JOB, JobEvent
from comfyfleet.kernel.ids import JobId

j, s = ai_jobs, submissions

# Without the payload, which is large and wanted only by whoever runs it.
LISTED = [column for column in j.c if column.name != "payload"]


NEW = [
    "id",
    "user_id",
    "workflow_id",
    "structure_hash",
    "provider",
    "priority",
    "reserved_tokens",
    "expected_s",
    "run_deadline_s",
    "retry_of",
    "payload",
]


# ── one tenant's ────────────────────────────────────────────────────────────────────────────


def insert_jobs() -> sa.Insert:
    """For many at once, each with the values of `NEW`. Those that were there before do not come back."""
    given = {name: sa.bindparam(name, type_=j.c[name].type) for name in NEW}
    return (
        insert_once(j).values(tenant_id=BOUND_TENANT, status=JOB.initial, created_at=now(), **given).returning(*LISTED)
    )


def insert_submissions() -> sa.Insert:
    return sa.insert(s).values(
        job_id=sa.bindparam("job_id", type_=s.c.job_id.type), tenant_id=BOUND_TENANT, created_at=now()
    )


def by_id(job_id: JobId) -> sa.Select[Any]:
    return sa.select(*LISTED).where(j.c.tenant_id == BOUND_TENANT, j.c.id == job_id)


def whole(job_id: JobId) -> sa.Select[Any]:
    """With what its worker got."""
    return sa.select(*j.c).where(j.c.tenant_id == BOUND_TENANT, j.c.id == job_id)


def start_job(job_id: JobId) -> sa.Update:
    return _move(job_id, JobEvent.START).values(started_at=now())


def end_job(
    job_id: JobId,
    event: JobEvent,
    *,
    error_message: str | None,
    error_class: str | None,
    provider_job_id: str | None,
) -> sa.Update:
    """Only from a state that may end so: a job that has ended never changes."""
    return _move(job_id, event).values(
        completed_at=now(),
        error_message=error_message,
        error_class=error_class,
        provider_job_id=sa.func.coalesce(sa.literal(provider_job_id, sa.Text()), j.c.provider_job_id),
    )


def _move(job_id: JobId, event: JobEvent) -> sa.Update:
    return (
        sa.update(j)
        .where(j.c.tenant_id == BOUND_TENANT, j.c.id == job_id, j.c.status.in_(JOB.sources(event)))
        .values(status=JOB.target(event))
        .returning(*LISTED)
    )


# ── over a whole pool: the relay ────────────────────────────────────────────────────────────


def unsent(*, rows: int) -> sa.Select[Any]:
    """Oldest first, with all that a place in the queue needs."""
    return (
        sa.select(*j.c)
        .join(s, s.c.job_id == j.c.id)
        .where(s.c.sent_at.is_(None))
        .order_by(s.c.created_at, s.c.job_id)
        .limit(rows)
    )


def mark_sent(job_ids: list[JobId]) -> sa.Update:
    b = batch_rows("b", {"id": sa.Uuid()}, [{"id": each} for each in job_ids])
    return sa.update(s).where(s.c.job_id == b.c.id, s.c.sent_at.is_(None)).values(sent_at=now())


def forget_sent(*, age_s: float, rows: int) -> sa.Delete:
    """Of the oldest by job id, which is by age: what was sent long ago."""
    oldest = sa.select(s.c.job_id, s.c.sent_at).order_by(s.c.job_id).limit(rows).subquery("oldest")
    old = sa.select(oldest.c.job_id).where(oldest.c.sent_at < seconds_from_now(-age_s))
    return sa.delete(s).where(s.c.job_id.in_(old))
