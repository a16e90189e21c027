"""Statements over videos."""

from typing import Any, Literal
from uuid import UUID

import sqlalchemy as sa

from comfyfleet.db.dialect import batch_rows, constant, insert_once, now, seconds_from_now
from comfyfleet.db.direct import built_once
from comfyfleet.db.scope import BOUND_TENANT
from comfyfleet.db.tables import videos
from comfyfleet.kernel.ids import FileId, JobId, UserId, VideoId
from comfyfleet.videos.lifecycle import REMOVABLE, VIDEO, VideoEvent, VideoStatus
from comfyfleet.videos.model import NewVideo

v = videos


# ── one tenant's ────────────────────────────────────────────────────────────────────────────


def insert_video(video_id: VideoId, new: NewVideo) -> sa.Insert:
    """Nothing comes back if its file has a video already."""
    return (
        insert_once(v)
        .values(
            id=video_id,
            tenant_id=BOUND_TENANT,
            user_id=new.user_id,
            title=new.title,
            status=VIDEO.initial,
            original_file_id=new.original_file_id,
            poster_file_id=new.poster_file_id,
            mime_type=new.media_type,
            width=new.width,
            height=new.height,
            duration_seconds=new.duration_s,
            created_at=now(),
            updated_at=now(),
        )
        .returning(*v.c)
    )


@built_once
def insert_made() -> sa.Insert:
    """Of a job that needs no input: it is being processed from the start."""
    given = {name: sa.bindparam(name, type_=v.c[name].type) for name in ("id", "user_id", "title", "job_id")}
    return (
        sa.insert(v)
        .values(
            **given,
            tenant_id=BOUND_TENANT,
            status=VIDEO.target(VideoEvent.START),
            created_at=now(),
            updated_at=now(),
        )
        .returning(*v.c)
    )


def by_id(video_id: VideoId, user_id: UserId) -> sa.Select[Any]:
    return sa.select(*v.c).where(v.c.tenant_id == BOUND_TENANT, v.c.id == video_id, v.c.user_id == user_id)


def by_original(file_id: FileId, user_id: UserId) -> sa.Select[Any]:
    return sa.select(*v.c).where(v.c.tenant_id == BOUND_TENANT, v.c.original_file_id == file_id, v.c.user_id == user_id)


def video_page(
    user_id: UserId,
    *,
    status: VideoStatus | None,
    kind: Literal["image", "video"] | None,
    after: UUID | None,
    rows: int,
) -> sa.Select[Any]:
    page = sa.select(*v.c).where(v.c.tenant_id == BOUND_TENANT, v.c.user_id == user_id)
    if status:
        page = page.where(v.c.status == status)
    if kind:
        page = page.where(v.c.mime_type.like(f"{kind}/%"))
    if after:
        page = page.where(v.c.id < after)
    return page.order_by(v.c.id.desc()).limit(rows + 1)


def start_processing(video_id: VideoId, user_id: UserId, job_id: JobId) -> sa.Update:
    """From now on only this job's outcome counts; what an earlier one made stays with that job."""
    return (
        _move(video_id, VideoEvent.START)
        .where(v.c.user_id == user_id)
        .values(job_id=job_id, processed_file_id=None, processing_details=sa.null())
    )


@built_once
def complete_video() -> sa.Update:
    made = sa.bindparam("made_file_id", type_=sa.Uuid()), sa.bindparam("made_type", type_=sa.Text())
    return _followed(VideoEvent.COMPLETE).values(
        processed_file_id=made[0], mime_type=sa.func.coalesce(v.c.mime_type, made[1])
    )


@built_once
def fail_video() -> sa.Update:
    return _followed(VideoEvent.FAIL)


def _followed(event: VideoEvent) -> sa.Update:
    """Only while it follows the job that is given as `of_job_id`."""
    return (
        _move(sa.bindparam("video_id", type_=sa.Uuid()), event)
        .where(v.c.job_id == sa.bindparam("of_job_id", type_=sa.Uuid()))
        .values(processing_details=sa.bindparam("details", type_=v.c.processing_details.type))
    )


def delete_video(video_id: VideoId, user_id: UserId) -> sa.Executable:
    return (
        sa.delete(v)
        .where(v.c.tenant_id == BOUND_TENANT, v.c.id == video_id, v.c.user_id == user_id, v.c.status.in_(REMOVABLE))
        .returning(*v.c)
    )


def _move(video_id: VideoId | sa.BindParameter[Any], event: VideoEvent) -> sa.Update:
    return (
        sa.update(v)
        .where(v.c.tenant_id == BOUND_TENANT, v.c.id == video_id, v.c.status.in_(VIDEO.sources(event)))
        .values(status=VIDEO.target(event), updated_at=now())
        .returning(*v.c)
    )


# ── over a whole pool: upkeep ───────────────────────────────────────────────────────────────


AGES = v.c.status.in_([constant(each) for each in VIDEO.sources(VideoEvent.EXPIRE)])


def aged_videos(*, age_s: float, rows: int) -> sa.Select[Any]:
    """Untouched for so long. One that a job has does not age."""
    return (
        sa.select(*v.c)
        .where(AGES, v.c.updated_at < seconds_from_now(-age_s))
        .order_by(v.c.updated_at)
        .limit(rows)
        .with_for_update(skip_locked=True)
    )


def expire_videos(video_ids: list[VideoId]) -> sa.Update:
    b = batch_rows("b", {"id": sa.Uuid()}, [{"id": each} for each in video_ids])
    return (
        sa.update(v)
        .where(v.c.id == b.c.id, AGES)
        .values(status=VIDEO.target(VideoEvent.EXPIRE), updated_at=now())
        .returning(*v.c)
    )


def forget_videos(*, age_s: float, rows: int) -> sa.Delete:
    old = (
        sa.select(v.c.id)
        .where(v.c.status == constant(VideoStatus.EXPIRED), v.c.updated_at < seconds_from_now(-age_s))
        .order_by(v.c.updated_at)
        .limit(rows)
    )
    return sa.delete(v).where(v.c.id.in_(old))
