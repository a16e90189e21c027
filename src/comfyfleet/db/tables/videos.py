"""Tenant pool: what users see of their media: one upload each, what became of it, and a picture of it."""

import sqlalchemy as sa

from comfyfleet.db.tables.base import TENANT, created_at, id_column, one_of
from comfyfleet.db.types import Json, UtcTime

AGES = sa.text("status IN ('uploaded', 'completed', 'failed')")
EXPIRED = sa.text("status = 'expired'")

videos = sa.Table(
    "videos",
    TENANT,
    id_column(),
    sa.Column("tenant_id", sa.Uuid(), nullable=False),
    sa.Column("user_id", sa.Uuid(), nullable=False),
    sa.Column("title", sa.Text(), nullable=False),
    sa.Column("status", sa.Text(), nullable=False),
    sa.Column("job_id", sa.Uuid(), nullable=True),
    sa.Column("original_file_id", sa.Uuid(), nullable=True),
    sa.Column("processed_file_id", sa.Uuid(), nullable=True),
    sa.Column("poster_file_id", sa.Uuid(), nullable=True),
    sa.Column("mime_type", sa.Text(), nullable=True),
    sa.Column("width", sa.Integer(), nullable=True),
    sa.Column("height", sa.Integer(), nullable=True),
    sa.Column("duration_seconds", sa.Float(), nullable=True),
    sa.Column("processing_details", Json, nullable=True),
    created_at(),
    sa.Column("updated_at", UtcTime(), nullable=False),
    one_of("status", ["uploaded", "processing", "completed", "failed", "expired"]),
    sa.CheckConstraint("status <> 'processing' OR job_id IS NOT NULL", name="processing_has_job"),
    sa.CheckConstraint("status <> 'completed' OR processed_file_id IS NOT NULL", name="completed_has_file"),
    sa.Index("ix_videos_owner", "tenant_id", "user_id", "id"),
    sa.Index("uq_videos_original", "tenant_id", "original_file_id", unique=True),
    sa.Index("ix_videos_ages", "updated_at", sqlite_where=AGES, postgresql_where=AGES),
    sa.Index("ix_videos_expired", "updated_at", sqlite_where=EXPIRED, postgresql_where=EXPIRED),
)
