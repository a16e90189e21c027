"""Tenant pool: jobs, and the outbox by which they reach the central queue."""

import sqlalchemy as sa

from comfyfleet.db.tables.base import TENANT, created_at, id_column, one_of
from comfyfleet.db.types import Json, UtcTime

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
    one_of("status", ["queued", "processing", "completed", "failed", "cancelled"]),
    sa.CheckConstraint("reserved_tokens >= 0", name="reserved_not_negative"),
    sa.CheckConstraint(
        "(status IN ('completed', 'failed', 'cancelled')) = (completed_at IS NOT NULL)", name="ended_has_time"
    ),
    sa.Index("ix_ai_jobs_owner", "tenant_id", "user_id", "id"),
)

submissions = sa.Table(
    "submissions",
    TENANT,
    sa.Column("job_id", sa.Uuid(), primary_key=True),
    sa.Column("tenant_id", sa.Uuid(), nullable=False),
    created_at(),
    sa.Column("sent_at", UtcTime(), nullable=True),
    sa.Index(
        "ix_submissions_unsent",
        "created_at",
        sqlite_where=sa.text("sent_at IS NULL"),
        postgresql_where=sa.text("sent_at IS NULL"),
    ),
)
