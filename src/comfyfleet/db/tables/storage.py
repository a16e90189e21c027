"""Tenant pool: what is known of each object in the store. URLs are signed when asked for, never kept."""

import sqlalchemy as sa

from comfyfleet.db.tables.base import TENANT, created_at, id_column, one_of
from comfyfleet.db.types import Json, UtcTime

KEPT = sa.text("status <> 'deleted'")
STORED = sa.text("status = 'stored'")

files = sa.Table(
    "files",
    TENANT,
    id_column(),
    sa.Column("tenant_id", sa.Uuid(), nullable=False),
    sa.Column("user_id", sa.Uuid(), nullable=False),
    sa.Column("name", sa.Text(), nullable=False),
    sa.Column("disk", sa.Text(), nullable=False),
    sa.Column("path", sa.Text(), nullable=False, unique=True),
    sa.Column("mime_type", sa.Text(), nullable=False),
    sa.Column("size", sa.BigInteger(), nullable=False),
    sa.Column("status", sa.Text(), nullable=False),
    sa.Column("multipart_id", sa.Text(), nullable=True),
    created_at(),
    sa.Column("stored_at", UtcTime(), nullable=True),
    sa.Column("deleted_at", UtcTime(), nullable=True),
    sa.Column("sha256", sa.Text(), nullable=True),
    # Of one that a worker made: by which attempt, from which node.
    sa.Column("metadata", Json, nullable=True),
    one_of("disk", ["local", "s3"]),
    one_of("status", ["pending", "stored", "deleted"]),
    sa.CheckConstraint("size >= 0", name="size_not_negative"),
    sa.CheckConstraint("status <> 'stored' OR stored_at IS NOT NULL", name="stored_has_time"),
    sa.CheckConstraint("(status = 'deleted') = (deleted_at IS NOT NULL)", name="deleted_has_time"),
    sa.Index("ix_files_owner", "tenant_id", "user_id", "id"),
    # What a tenant keeps is added up when there is a limit, from this index alone.
    sa.Index("ix_files_kept", "tenant_id", "size", sqlite_where=KEPT, postgresql_where=KEPT),
    sa.Index("ix_files_ages", "stored_at", sqlite_where=STORED, postgresql_where=STORED),
)
