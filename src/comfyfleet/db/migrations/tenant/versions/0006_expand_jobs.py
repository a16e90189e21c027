"""Jobs of effects: what was asked for and by which key, the files they take and make."""

import sqlalchemy as sa
from alembic import op

from comfyfleet.db.types import Json, UtcTime

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "job_files",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("job_id", sa.Uuid(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("file_id", sa.Uuid(), nullable=False),
        sa.Column("is_primary", sa.Boolean(), nullable=False),
        sa.CheckConstraint("role IN ('input', 'output')", name=op.f("ck_job_files_role")),
        sa.PrimaryKeyConstraint("job_id", "role", "position", name=op.f("pk_job_files")),
    )
    with op.batch_alter_table("job_files", schema=None) as batch_op:
        batch_op.create_index("ix_job_files_file", ["tenant_id", "file_id"], unique=False)

    with op.batch_alter_table("ai_jobs", schema=None) as batch_op:
        batch_op.add_column(sa.Column("effect_slug", sa.Text(), nullable=True))
        batch_op.add_column(sa.Column("workflow_version", sa.Integer(), nullable=True))
        batch_op.add_column(sa.Column("video_id", sa.Uuid(), nullable=True))
        batch_op.add_column(sa.Column("properties", Json, nullable=True))
        batch_op.add_column(sa.Column("request_digest", sa.Text(), nullable=True))
        batch_op.add_column(sa.Column("webhook_endpoint_id", sa.Uuid(), nullable=True))
        batch_op.add_column(sa.Column("cancel_requested_at", UtcTime(), nullable=True))
        batch_op.add_column(sa.Column("deleted_at", UtcTime(), nullable=True))
        batch_op.create_index(
            "ix_ai_jobs_active",
            ["tenant_id", "user_id"],
            unique=False,
            sqlite_where=sa.text("status IN ('queued', 'processing')"),
            postgresql_where=sa.text("status IN ('queued', 'processing')"),
        )
        batch_op.create_index("uq_ai_jobs_idempotency_key", ["tenant_id", "user_id", "idempotency_key"], unique=True)
