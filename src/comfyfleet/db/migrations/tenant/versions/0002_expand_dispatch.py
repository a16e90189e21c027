"""Jobs and their submissions."""

import sqlalchemy as sa
from alembic import op

from comfyfleet.db.types import Json, UtcTime

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "ai_jobs",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("effect_id", sa.Uuid(), nullable=True),
        sa.Column("workflow_id", sa.Uuid(), nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("cost_tokens", sa.BigInteger(), nullable=False),
        sa.Column("expected_s", sa.Float(), nullable=False),
        sa.Column("input_file_id", sa.Uuid(), nullable=True),
        sa.Column("output_file_id", sa.Uuid(), nullable=True),
        sa.Column("idempotency_key", sa.Text(), nullable=True),
        sa.Column("retry_of", sa.Uuid(), nullable=True),
        sa.Column("provider_job_id", sa.Text(), nullable=True),
        sa.Column("error_message", sa.Text(), nullable=True),
        sa.Column("error_class", sa.Text(), nullable=True),
        sa.Column("payload", Json, nullable=False),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.Column("started_at", UtcTime(), nullable=True),
        sa.Column("completed_at", UtcTime(), nullable=True),
        sa.CheckConstraint(
            "(status IN ('completed', 'failed', 'cancelled')) = (completed_at IS NOT NULL)",
            name=op.f("ck_ai_jobs_ended_has_time"),
        ),
        sa.CheckConstraint(
            "status IN ('queued', 'processing', 'completed', 'failed', 'cancelled')", name=op.f("ck_ai_jobs_status")
        ),
        sa.CheckConstraint("cost_tokens >= 0", name=op.f("ck_ai_jobs_cost_not_negative")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_ai_jobs")),
    )
    op.create_index("ix_ai_jobs_owner", "ai_jobs", ["tenant_id", "user_id", "id"], unique=False)
    op.create_table(
        "submissions",
        sa.Column("job_id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.Column("sent_at", UtcTime(), nullable=True),
        sa.PrimaryKeyConstraint("job_id", name=op.f("pk_submissions")),
    )
    op.create_index(
        "ix_submissions_unsent",
        "submissions",
        ["created_at"],
        unique=False,
        sqlite_where=sa.text("sent_at IS NULL"),
        postgresql_where=sa.text("sent_at IS NULL"),
    )
