"""Media of users: what was uploaded, what became of it."""

import sqlalchemy as sa
from alembic import op

from comfyfleet.db.types import Json, UtcTime

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

AGES = "status IN ('uploaded', 'completed', 'failed')"
EXPIRED = "status = 'expired'"


def upgrade() -> None:
    op.create_table(
        "videos",
        sa.Column("id", sa.Uuid(), nullable=False),
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
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.Column("updated_at", UtcTime(), nullable=False),
        sa.CheckConstraint(
            "status IN ('uploaded', 'processing', 'completed', 'failed', 'expired')", name=op.f("ck_videos_status")
        ),
        sa.CheckConstraint("status <> 'processing' OR job_id IS NOT NULL", name=op.f("ck_videos_processing_has_job")),
        sa.CheckConstraint(
            "status <> 'completed' OR processed_file_id IS NOT NULL", name=op.f("ck_videos_completed_has_file")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_videos")),
    )
    op.create_index("ix_videos_owner", "videos", ["tenant_id", "user_id", "id"], unique=False)
    op.create_index("uq_videos_original", "videos", ["tenant_id", "original_file_id"], unique=True)
    for name, rows in (("ix_videos_ages", AGES), ("ix_videos_expired", EXPIRED)):
        op.create_index(
            name, "videos", ["updated_at"], unique=False, sqlite_where=sa.text(rows), postgresql_where=sa.text(rows)
        )
