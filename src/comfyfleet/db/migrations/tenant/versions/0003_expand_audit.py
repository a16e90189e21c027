"""Who credited what; and a job says with the seeds' word what was reserved for it."""

import sqlalchemy as sa
from alembic import op

from comfyfleet.db.dialect import append_only
from comfyfleet.db.types import Json, UtcTime

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:

    op.create_table(
        "tenant_audit_heads",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("mac", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", name=op.f("pk_tenant_audit_heads")),
    )
    op.create_table(
        "tenant_audit_log",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("at", UtcTime(), nullable=False),
        sa.Column("actor_kind", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=True),
        sa.Column("address", sa.Text(), nullable=True),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("mac", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "seq", name=op.f("pk_tenant_audit_log")),
    )
    # Nothing could write a job before this revision: there is nothing to carry over.
    op.drop_index("ix_ai_jobs_owner", "ai_jobs")
    op.drop_table("ai_jobs")
    op.create_table(
        "ai_jobs",
        sa.Column("id", sa.Uuid(), nullable=False),
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
        sa.CheckConstraint("reserved_tokens >= 0", name=op.f("ck_ai_jobs_reserved_not_negative")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_ai_jobs")),
    )
    op.create_index("ix_ai_jobs_owner", "ai_jobs", ["tenant_id", "user_id", "id"], unique=False)
    for ddl in append_only(op.get_bind().dialect.name, "tenant_audit_log"):
        op.execute(ddl)
