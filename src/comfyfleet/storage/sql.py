"""Statements over files. Each names the owner, but those of upkeep: another user's file is not there."""

from typing import Any
from uuid import UUID

import sqlalchemy as sa

from comfyfleet.db.dialect import HeldToTheEnd, batch_rows, now, seconds_from_now
from comfyfleet.db.direct import built_once, several
from comfyfleet.db.scope import BOUND_TENANT
from comfyfleet.db.tables import files
from comfyfleet.kernel.ids import FileId, UserId
from comfyfleet.storage.lifecycle import FILE, FileEvent, FileStatus
from comfyfleet.storage.model import NewUpload

f = files
MADE = ("id", "user_id", "name", "disk", "path", "mime_type", "size", "metadata")


def insert_file(upload: NewUpload, *, user_id: UserId) -> sa.Insert:
    return (
        sa.insert(f)
        .values(
            id=upload.id,
            tenant_id=BOUND_TENANT,
            user_id=user_id,
            name=upload.name,
            disk=upload.disk,
            path=upload.key,
            mime_type=upload.media_type,
            size=upload.size_bytes,
            status=FILE.initial,
            multipart_id=upload.multipart_id,
            created_at=now(),
        )
        .returning(*f.c)
    )


@built_once
def insert_made() -> sa.Insert:
    """For many at once, each with the values of `MADE`. Their bytes are there already."""
    given = {name: sa.bindparam(name, type_=f.c[name].type) for name in MADE}
    stored = FILE.target(FileEvent.STORE)
    return sa.insert(f).values(tenant_id=BOUND_TENANT, status=stored, created_at=now(), stored_at=now(), **given)


def by_id(file_id: FileId, user_id: UserId) -> sa.Select[Any]:
    """Deleted ones too: the verb that reads decides what they mean."""
    return sa.select(*f.c).where(f.c.tenant_id == BOUND_TENANT, f.c.id == file_id, f.c.user_id == user_id)


@built_once
def by_ids(count: int) -> sa.Select[Any]:
    return sa.select(*f.c).where(
        f.c.tenant_id == BOUND_TENANT,
        f.c.id.in_(several("file", count)),
        f.c.user_id == sa.bindparam("of_user", type_=sa.Uuid()),
        f.c.status != FileStatus.DELETED,
    )


def file_page(user_id: UserId, *, after: UUID | None, rows: int) -> sa.Select[Any]:
    page = (
        sa.select(*f.c)
        .where(f.c.tenant_id == BOUND_TENANT, f.c.user_id == user_id, f.c.status != FileStatus.DELETED)
        .order_by(f.c.id.desc())
        .limit(rows + 1)
    )
    return page.where(f.c.id < after) if after else page


@built_once
def kept_bytes() -> sa.Select[Any]:
    total = sa.cast(sa.func.coalesce(sa.func.sum(f.c.size), 0), sa.BigInteger()).label("total")
    return sa.select(total).where(f.c.tenant_id == BOUND_TENANT, f.c.status != FileStatus.DELETED)


@built_once
def hold_quota() -> sa.Select[Any]:
    """Until the transaction ends. A statement of its own, so that the sum after it sees what others committed."""
    one: sa.ColumnElement[Any] = sa.literal(1).label("one")
    return sa.select(one, HeldToTheEnd(sa.literal("storage ").concat(sa.cast(BOUND_TENANT, sa.Text()))))


def mark_stored(file_id: FileId, user_id: UserId) -> sa.Update:
    return _move(file_id, user_id, FileEvent.STORE).values(stored_at=now())


def set_size(file_id: FileId, user_id: UserId, *, size_bytes: int, sha256: str) -> sa.Update:
    """Only while nobody relies on it."""
    return (
        sa.update(f)
        .where(
            f.c.tenant_id == BOUND_TENANT,
            f.c.id == file_id,
            f.c.user_id == user_id,
            f.c.status.in_(FILE.sources(FileEvent.STORE)),
        )
        .values(size=size_bytes, sha256=sha256)
        .returning(*f.c)
    )


def mark_deleted(file_id: FileId, user_id: UserId) -> sa.Update:
    return _move(file_id, user_id, FileEvent.DELETE).values(deleted_at=now())


def mark_all_deleted(file_ids: list[FileId], user_id: UserId) -> sa.Update:
    return _deleted(f.c.id.in_(file_ids)).where(f.c.tenant_id == BOUND_TENANT, f.c.user_id == user_id)


def _deleted(which: sa.ColumnElement[bool]) -> sa.Update:
    return (
        sa.update(f)
        .where(which, f.c.status.in_(FILE.sources(FileEvent.DELETE)))
        .values(status=FILE.target(FileEvent.DELETE), deleted_at=now())
        .returning(*f.c)
    )


def _move(file_id: FileId, user_id: UserId, event: FileEvent) -> sa.Update:
    return (
        sa.update(f)
        .where(
            f.c.tenant_id == BOUND_TENANT,
            f.c.id == file_id,
            f.c.user_id == user_id,
            f.c.status.in_(FILE.sources(event)),
        )
        .values(status=FILE.target(event))
        .returning(*f.c)
    )


# ── over a whole pool: upkeep ───────────────────────────────────────────────────────────────


def abandon_uploads(*, age_s: float, rows: int) -> sa.Update:
    """Announced so long ago that no signed request for them can still be alive."""
    old = (
        sa.select(f.c.id)
        .where(f.c.status == FileStatus.PENDING, f.c.created_at < seconds_from_now(-age_s))
        .order_by(f.c.id)
        .limit(rows)
        .with_for_update(skip_locked=True)
        .cte("old")
    )
    return (
        sa.update(f)
        .where(f.c.id.in_(sa.select(old.c.id)), f.c.status == FileStatus.PENDING)
        .values(status=FILE.target(FileEvent.DELETE), deleted_at=now())
        .returning(f.c.id)
    )


def drop_files(file_ids: list[FileId]) -> sa.Update:
    b = batch_rows("b", {"id": sa.Uuid()}, [{"id": each} for each in file_ids])
    return _deleted(f.c.id.in_(sa.select(b.c.id)))


def long_deleted(disk: str, *, age_s: float, rows: int) -> sa.Select[Any]:
    return (
        sa.select(*f.c)
        .where(f.c.status == FileStatus.DELETED, f.c.disk == disk, f.c.deleted_at < seconds_from_now(-age_s))
        .order_by(f.c.id)
        .limit(rows)
    )


def forget_files(file_ids: list[FileId]) -> sa.Delete:
    b = batch_rows("b", {"id": sa.Uuid()}, [{"id": each} for each in file_ids])
    return sa.delete(f).where(f.c.status == FileStatus.DELETED, f.c.id.in_(sa.select(b.c.id)))


def keys_of(file_ids: list[FileId]) -> sa.Select[Any]:
    b = batch_rows("b", {"id": sa.Uuid()}, [{"id": each} for each in file_ids])
    return sa.select(f.c.id, f.c.path).join(b, b.c.id == f.c.id).where(f.c.status != FileStatus.DELETED)
