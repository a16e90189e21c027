"""Statements over jobs and their submissions."""

from typing import Any
from uuid import UUID

import sqlalchemy as sa

from comfyfleet.db.dialect import batch_rows, constant, insert_once, now, seconds_from_now
from comfyfleet.db.direct import built_once, several
from comfyfleet.db.scope import BOUND_TENANT
from comfyfleet.db.tables import ai_jobs, files, job_files, submissions, videos
from comfyfleet.jobs.lifecycle import JOB, JobEvent, JobStatus
from comfyfleet.kernel.ids import EffectId, EndpointId, FileId, JobId, UserId, VideoId
from comfyfleet.storage import FileStatus
from comfyfleet.videos import VideoStatus

j, s, f, v, o = ai_jobs, submissions, job_files, videos, files

# Without the payload, which is large and wanted only by whoever runs it.
LISTED = [column for column in j.c if column.name != "payload"]

# As much of a job as its place in the queue needs.
PLACED = (
    "id",
    "tenant_id",
    "status",
    "workflow_id",
    "structure_hash",
    "provider",
    "priority",
    "expected_s",
    "run_deadline_s",
    "payload",
    "effect_id",
)
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
    "effect_id",
    "effect_slug",
    "workflow_version",
    "video_id",
    "input_file_id",
    "properties",
    "idempotency_key",
    "request_digest",
    "webhook_endpoint_id",
    "run_id",
    "payload",
]
INPUT, OUTPUT = "input", "output"


# ── one tenant's ────────────────────────────────────────────────────────────────────────────


@built_once
def insert_jobs() -> sa.Insert:
    """For many at once, each with the values of `NEW`. Those that were there before do not come back."""
    given = {name: sa.bindparam(name, type_=j.c[name].type) for name in NEW}
    return (
        insert_once(j).values(tenant_id=BOUND_TENANT, status=JOB.initial, created_at=now(), **given).returning(*LISTED)
    )


@built_once
def insert_submissions() -> sa.Insert:
    given = {name: sa.bindparam(name, type_=s.c[name].type) for name in ("job_id", "traceparent")}
    return sa.insert(s).values(tenant_id=BOUND_TENANT, created_at=now(), **given)


def by_id(job_id: JobId) -> sa.Select[Any]:
    return sa.select(*LISTED).where(j.c.tenant_id == BOUND_TENANT, j.c.id == job_id)


def whole(job_id: JobId) -> sa.Select[Any]:
    """With what its worker got."""
    return sa.select(*j.c).where(j.c.tenant_id == BOUND_TENANT, j.c.id == job_id)


def of_user(job_id: JobId, user_id: UserId) -> sa.Select[Any]:
    return by_id(job_id).where(j.c.user_id == user_id, j.c.deleted_at.is_(None))


def whole_to_send(job_id: JobId) -> sa.Select[Any]:
    """With what its worker got, and the trace that it began. The submission may have been forgotten."""
    begun = sa.select(s.c.traceparent).where(s.c.tenant_id == BOUND_TENANT, s.c.job_id == job_id).scalar_subquery()
    return sa.select(*j.c, begun.label("traceparent")).where(j.c.tenant_id == BOUND_TENANT, j.c.id == job_id)


def whole_of_user(job_id: JobId, user_id: UserId) -> sa.Select[Any]:
    return whole(job_id).where(j.c.user_id == user_id, j.c.deleted_at.is_(None))


@built_once
def by_key() -> sa.Select[Any]:
    """Deleted ones too: a key is spent for good."""
    return sa.select(*LISTED).where(
        j.c.tenant_id == BOUND_TENANT,
        j.c.user_id == sa.bindparam("user_id"),
        j.c.idempotency_key == sa.bindparam("key"),
    )


@built_once
def active_jobs(*, rows: int) -> sa.Select[Any]:
    """So many at most: nobody needs to know how far above the limit he is. A run's jobs have limits of their own."""
    return _active().where(j.c.user_id == sa.bindparam("user_id"), j.c.run_id.is_(None)).limit(rows)


def job_page(
    user_id: UserId,
    *,
    status: JobStatus | None,
    effect_id: EffectId | None,
    video_id: VideoId | None,
    after: UUID | None,
    rows: int,
) -> sa.Select[Any]:
    page = sa.select(*LISTED).where(j.c.tenant_id == BOUND_TENANT, j.c.user_id == user_id, j.c.deleted_at.is_(None))
    if status:
        page = page.where(j.c.status == status)
    if effect_id:
        page = page.where(j.c.effect_id == effect_id)
    if video_id:
        page = page.where(j.c.video_id == video_id)
    if after:
        page = page.where(j.c.id < after)
    return page.order_by(j.c.id.desc()).limit(rows + 1)


def effects_of(job_ids: list[JobId]) -> sa.Select[Any]:
    return sa.select(j.c.id, j.c.effect_slug).where(j.c.tenant_id == BOUND_TENANT, j.c.id.in_(job_ids))


def request_cancel(job_id: JobId) -> sa.Update:
    """When it was first asked for."""
    return (
        sa.update(j)
        .where(j.c.tenant_id == BOUND_TENANT, j.c.id == job_id, j.c.status.in_(JOB.sources(JobEvent.CANCEL)))
        .values(cancel_requested_at=sa.func.coalesce(j.c.cancel_requested_at, now()))
        .returning(*LISTED)
    )


def hide_job(job_id: JobId, user_id: UserId) -> sa.Executable:
    """What the user said and made goes; that there was a job stays."""
    return (
        sa.update(j)
        .where(
            j.c.tenant_id == BOUND_TENANT,
            j.c.id == job_id,
            j.c.user_id == user_id,
            j.c.status.in_(sorted(JOB.terminal)),
            j.c.deleted_at.is_(None),
        )
        .values(deleted_at=now(), payload={}, properties=None)
        .returning(*LISTED)
    )


@built_once
def insert_files(role: str) -> sa.Insert:
    given = {name: sa.bindparam(name, type_=f.c[name].type) for name in ("job_id", "position", "file_id", "is_primary")}
    return sa.insert(f).values(tenant_id=BOUND_TENANT, role=role, **given)


def files_of(job_ids: list[JobId], role: str) -> sa.Select[Any]:
    return (
        sa.select(*f.c)
        .where(f.c.tenant_id == BOUND_TENANT, f.c.job_id.in_(job_ids), f.c.role == role)
        .order_by(f.c.job_id, f.c.position)
    )


def active_with_file(file_ids: list[FileId], user_id: UserId) -> sa.Select[Any]:
    """A job of this user under way that takes one of these."""
    return (
        _active()
        .join(f, f.c.job_id == j.c.id)
        .where(f.c.tenant_id == BOUND_TENANT, f.c.file_id.in_(file_ids), f.c.role == INPUT, j.c.user_id == user_id)
        .limit(1)
    )


def _active() -> sa.Select[Any]:
    return _under_way(j.c.id, j.c.tenant_id == BOUND_TENANT)


def _under_way(wanted: sa.Column[Any], *which: sa.ColumnElement[bool]) -> sa.Select[Any]:
    # Written into the statement: SQLite sees its partial index only behind plain words.
    names = [JobStatus.QUEUED.value, JobStatus.PROCESSING.value]
    waits = sa.bindparam("active", names, type_=sa.Text(), expanding=True, literal_execute=True)
    return sa.select(wanted).where(*which, j.c.status.in_(waits))


@built_once
def owners_of(count: int) -> sa.Select[Any]:
    mine = j.c.tenant_id == BOUND_TENANT, j.c.id.in_(several("job", count))
    return sa.select(j.c.id, j.c.user_id, j.c.run_id, j.c.status).where(*mine)


def request_cancels(job_ids: list[JobId]) -> sa.Update:
    """Of those that are still under way."""
    return (
        sa.update(j)
        .where(j.c.tenant_id == BOUND_TENANT, j.c.id.in_(job_ids), j.c.status.in_(JOB.sources(JobEvent.CANCEL)))
        .values(cancel_requested_at=sa.func.coalesce(j.c.cancel_requested_at, now()))
    )


@built_once
def start_job() -> sa.Update:
    """`from_now_s`: zero, or less if it began earlier, and nobody said so then."""
    return _move(JobEvent.START).values(started_at=seconds_from_now(sa.bindparam("from_now_s", type_=sa.Float())))


@built_once
def end_job(event: JobEvent) -> sa.Update:
    """Only from a state that may end so: a job that has ended never changes."""
    given = {name: sa.bindparam(name, type_=j.c[name].type) for name in ("error_message", "error_class")}
    began = seconds_from_now(sa.bindparam("from_now_s", type_=sa.Float()))
    return _move(event).values(
        **given,
        # It was told to have begun when a worker had it; there it may have waited behind another. NULL: nobody had it.
        started_at=sa.func.coalesce(began, j.c.started_at),
        completed_at=now(),
        output_file_id=sa.bindparam("made_file_id", type_=sa.Uuid()),
        provider_job_id=sa.func.coalesce(sa.bindparam("prompt_id", type_=sa.Text()), j.c.provider_job_id),
    )


def _move(event: JobEvent) -> sa.Update:
    """Of the job that is given as `job_id`."""
    return (
        sa.update(j)
        .where(
            j.c.tenant_id == BOUND_TENANT,
            j.c.id == sa.bindparam("job_id", type_=sa.Uuid()),
            j.c.status.in_(JOB.sources(event)),
        )
        .values(status=JOB.target(event))
        .returning(*LISTED)
    )


# ── over a whole pool: the relay, and upkeep ────────────────────────────────────────────────


@built_once
def unsent(*, rows: int) -> sa.Select[Any]:
    """Oldest first, with all that a place in the queue needs."""
    return (
        sa.select(*(j.c[name] for name in PLACED), s.c.traceparent)
        .join(s, s.c.job_id == j.c.id)
        .where(s.c.sent_at.is_(None))
        .order_by(s.c.created_at, s.c.job_id)
        .limit(rows)
    )


@built_once
def mark_sent() -> sa.Update:
    b = batch_rows("b", {"id": sa.Uuid()})
    return sa.update(s).where(s.c.job_id == b.c.id, s.c.sent_at.is_(None)).values(sent_at=now())


@built_once
def begin_traces() -> sa.Update:
    """The first to give a job its trace decides; whoever comes later gets that one."""
    b = batch_rows("b", {"id": sa.Uuid(), "traceparent": sa.Text()})
    return (
        sa.update(s)
        .where(s.c.job_id == b.c.id)
        .values(traceparent=sa.func.coalesce(s.c.traceparent, b.c.traceparent))
        .returning(s.c.job_id, s.c.traceparent)
    )


@built_once
def traceparents_of() -> sa.Select[Any]:
    b = batch_rows("b", {"id": sa.Uuid()})
    return sa.select(s.c.job_id, s.c.traceparent).join(b, b.c.id == s.c.job_id).where(s.c.traceparent.is_not(None))


def forget_sent(*, age_s: float, rows: int) -> sa.Delete:
    """Of the oldest by job id, which is by age: what was sent long ago."""
    oldest = sa.select(s.c.job_id, s.c.sent_at).order_by(s.c.job_id).limit(rows).subquery("oldest")
    old = sa.select(oldest.c.job_id).where(oldest.c.sent_at < seconds_from_now(-age_s))
    return sa.delete(s).where(s.c.job_id.in_(old))


def unheard_cancels(*, age_s: float, rows: int) -> sa.Select[Any]:
    """Asked for so long ago, and still under way."""
    asked = j.c.cancel_requested_at.is_not(None), j.c.completed_at.is_(None)
    return (
        sa.select(j.c.id)
        .where(*asked, j.c.cancel_requested_at < seconds_from_now(-age_s))
        .order_by(j.c.cancel_requested_at)
        .limit(rows)
    )


def taken(file_ids: list[FileId]) -> sa.Select[Any]:
    """Those of them that a job under way takes."""
    b = batch_rows("b", {"id": sa.Uuid()}, [{"id": each} for each in file_ids])
    return (
        sa.select(f.c.file_id)
        .join(b, b.c.id == f.c.file_id)
        .join(j, sa.and_(j.c.tenant_id == f.c.tenant_id, j.c.id == f.c.job_id))
        .where(f.c.role == INPUT, j.c.completed_at.is_(None))
    )


def told(endpoint_ids: list[EndpointId]) -> sa.Select[Any]:
    """Those of them that a job under way names."""
    b = batch_rows("b", {"id": sa.Uuid()}, [{"id": each} for each in endpoint_ids])
    return _under_way(j.c.webhook_endpoint_id).join(b, b.c.id == j.c.webhook_endpoint_id).distinct()


def expire_jobs(*, age_s: float, rows: int) -> sa.Update:
    """Ended so long ago. One whose result a video shows, or another job takes, stays until that is over."""
    shown = sa.select(v.c.id).where(
        v.c.tenant_id == j.c.tenant_id,
        v.c.id == j.c.video_id,
        v.c.processed_file_id == j.c.output_file_id,
        v.c.status != constant(VideoStatus.EXPIRED),
    )
    made, takes, other = f.alias("made"), f.alias("takes"), j.alias("other")
    wanted = (
        sa.select(made.c.file_id)
        .join(takes, sa.and_(takes.c.tenant_id == made.c.tenant_id, takes.c.file_id == made.c.file_id))
        .join(other, sa.and_(other.c.tenant_id == takes.c.tenant_id, other.c.id == takes.c.job_id))
        .where(made.c.job_id == j.c.id, made.c.role == OUTPUT, takes.c.role == INPUT, other.c.completed_at.is_(None))
        .correlate(j)
    )
    ages = j.c.completed_at.is_not(None), j.c.expired_at.is_(None)
    old = (
        sa.select(j.c.id)
        .where(*ages, j.c.completed_at < seconds_from_now(-age_s), ~shown.exists(), ~wanted.exists())
        .order_by(j.c.completed_at)
        .limit(rows)
        .with_for_update(skip_locked=True)
        .cte("old")
    )
    return (
        sa.update(j)
        .where(j.c.id.in_(sa.select(old.c.id)), *ages)
        # Not collected any more: what arrived after the first look is found by a second one.
        .values(expired_at=now(), collected_at=sa.null(), payload={}, properties=sa.null())
        .returning(j.c.id)
    )


def loose_files(*, age_s: float, rows: int) -> sa.Select[Any]:
    """Stored so long ago, and neither a video's, nor what a job made, nor taken by one that is under way."""
    shown = sa.select(v.c.id).where(
        v.c.tenant_id == o.c.tenant_id,
        v.c.user_id == o.c.user_id,
        sa.or_(v.c.original_file_id == o.c.id, v.c.processed_file_id == o.c.id, v.c.poster_file_id == o.c.id),
    )
    held = (
        sa.select(f.c.file_id)
        .join(j, sa.and_(j.c.tenant_id == f.c.tenant_id, j.c.id == f.c.job_id))
        .where(
            f.c.tenant_id == o.c.tenant_id,
            f.c.file_id == o.c.id,
            sa.or_(f.c.role == OUTPUT, j.c.completed_at.is_(None)),
        )
    )
    stored = o.c.status == constant(FileStatus.STORED)
    return (
        sa.select(o.c.id, o.c.tenant_id, o.c.user_id)
        .where(stored, o.c.stored_at < seconds_from_now(-age_s), ~shown.exists(), ~held.exists())
        .order_by(o.c.stored_at)
        .limit(rows)
    )


def made_by(job_ids: list[JobId]) -> sa.Select[Any]:
    b = batch_rows("b", {"id": sa.Uuid()}, [{"id": each} for each in job_ids])
    return sa.select(f.c.job_id, f.c.file_id).join(b, b.c.id == f.c.job_id).where(f.c.role == OUTPUT)


def uncollected(*, age_s: float, rows: int) -> sa.Select[Any]:
    due = j.c.completed_at.is_not(None), j.c.collected_at.is_(None)
    return (
        sa.select(j.c.id, j.c.tenant_id)
        .where(*due, j.c.completed_at < seconds_from_now(-age_s))
        .order_by(j.c.completed_at)
        .limit(rows)
    )


def mark_collected(job_ids: list[JobId]) -> sa.Update:
    b = batch_rows("b", {"id": sa.Uuid()}, [{"id": each} for each in job_ids])
    return sa.update(j).where(j.c.id == b.c.id, j.c.collected_at.is_(None)).values(collected_at=now())
