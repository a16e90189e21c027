"""Tenant pool: jobs, the files they take and make, and the outbox by which they reach the central queue."""

import sqlalchemy as sa

from comfyfleet.db.tables.base import TENANT, created_at, id_column, one_of
from comfyfleet.db.types import Json, UtcTime

ACTIVE = sa.text("status IN ('queued', 'processing')")
UNWANTED = sa.text("cancel_requested_at IS NOT NULL AND completed_at IS NULL")
AGES = sa.text("completed_at IS NOT NULL AND expired_at IS NULL")
UNCOLLECTED = sa.text("completed_at IS NOT NULL AND collected_at IS NULL")

ai_jobs = sa.Table(
    "ai_jobs",
    TENANT,
    id_column(),
    sa.Column("tenant_id", sa.Uuid(), nullable=False),
    sa.Column("user_id", sa.Uuid(), nullable=False),
    sa.Column("effect_id", sa.Uuid(), nullable=True),
    sa.Column("workflow_id", sa.Uuid(), nullable=False),
    sa.Column("structure_hash", sa.Text(), nullable=False),
    sa.Column("provider", sa.Text(), nullable=False),
    sa.Column("status", sa.Text(), nullable=False),
    sa.Column("priority", sa.Integer(), nullable=False),
    sa.Column("reserved_tokens", sa.BigInteger(), nullable=False),
    sa.Column("expected_s", sa.Float(), nullable=False),
    sa.Column("run_deadline_s", sa.Float(), nullable=True),
    sa.Column("input_file_id", sa.Uuid(), nullable=True),
    sa.Column("output_file_id", sa.Uuid(), nullable=True),
    sa.Column("idempotency_key", sa.Text(), nullable=True),
    sa.Column("retry_of", sa.Uuid(), nullable=True),
    sa.Column("provider_job_id", sa.Text(), nullable=True),
    sa.Column("error_message", sa.Text(), nullable=True),
    sa.Column("error_class", sa.Text(), nullable=True),
    sa.Column("payload", Json, nullable=False),
    created_at(),
    sa.Column("started_at", UtcTime(), nullable=True),
    sa.Column("completed_at", UtcTime(), nullable=True),
    sa.Column("effect_slug", sa.Text(), nullable=True),
    sa.Column("workflow_version", sa.Integer(), nullable=True),
    sa.Column("video_id", sa.Uuid(), nullable=True),
    sa.Column("properties", Json, nullable=True),
    # Of the request that came with the idempotency key: another one with the same key is refused.
    sa.Column("request_digest", sa.Text(), nullable=True),
    sa.Column("webhook_endpoint_id", sa.Uuid(), nullable=True),
    sa.Column("cancel_requested_at", UtcTime(), nullable=True),
    # Hidden from its user. The row stays: the ledger names it.
    sa.Column("deleted_at", UtcTime(), nullable=True),
    # What it made has been thrown away for its age, and what it was made of.
    sa.Column("expired_at", UtcTime(), nullable=True),
    # Objects that attempts of it left in the store, and that nobody names, have been looked for.
    sa.Column("collected_at", UtcTime(), nullable=True),
    # A step of a pipeline's run: counts against the run's limits, not against its user's.
    sa.Column("run_id", sa.Uuid(), nullable=True),
    one_of("status", ["queued", "processing", "completed", "failed", "cancelled"]),
    sa.CheckConstraint("reserved_tokens >= 0", name="reserved_not_negative"),
    sa.CheckConstraint(
        "(status IN ('completed', 'failed', 'cancelled')) = (completed_at IS NOT NULL)", name="ended_has_time"
    ),
    sa.Index("ix_ai_jobs_owner", "tenant_id", "user_id", "id"),
    sa.Index("uq_ai_jobs_idempotency_key", "tenant_id", "user_id", "idempotency_key", unique=True),
    sa.Index("ix_ai_jobs_active", "tenant_id", "user_id", sqlite_where=ACTIVE, postgresql_where=ACTIVE),
    sa.Index("ix_ai_jobs_unwanted", "cancel_requested_at", sqlite_where=UNWANTED, postgresql_where=UNWANTED),
    sa.Index("ix_ai_jobs_ages", "completed_at", sqlite_where=AGES, postgresql_where=AGES),
    sa.Index("ix_ai_jobs_uncollected", "completed_at", sqlite_where=UNCOLLECTED, postgresql_where=UNCOLLECTED),
)

job_files = sa.Table(
    "job_files",
    TENANT,
    sa.Column("tenant_id", sa.Uuid(), nullable=False),
    sa.Column("job_id", sa.Uuid(), primary_key=True),
    sa.Column("role", sa.Text(), primary_key=True),
    sa.Column("position", sa.Integer(), primary_key=True, autoincrement=False),
    sa.Column("file_id", sa.Uuid(), nullable=False),
    sa.Column("is_primary", sa.Boolean(), nullable=False),
    one_of("role", ["input", "output"]),
    sa.Index("ix_job_files_file", "tenant_id", "file_id"),
)

submissions = sa.Table(
    "submissions",
    TENANT,
    sa.Column("job_id", sa.Uuid(), primary_key=True),
    sa.Column("tenant_id", sa.Uuid(), nullable=False),
    created_at(),
    sa.Column("sent_at", UtcTime(), nullable=True),
    # The span of the order, as W3C writes it.
    sa.Column("traceparent", sa.Text(), nullable=True),
    sa.Index(
        "ix_submissions_unsent",
        "created_at",
        sqlite_where=sa.text("sent_at IS NULL"),
        postgresql_where=sa.text("sent_at IS NULL"),
    ),
)
