"""Jobs age: their results expire, and what their attempts left behind is collected. A wish to cancel is followed up."""

import sqlalchemy as sa
from alembic import op

from comfyfleet.db.types import UtcTime

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("ai_jobs", schema=None) as batch_op:
        batch_op.add_column(sa.Column("expired_at", UtcTime(), nullable=True))
        batch_op.add_column(sa.Column("collected_at", UtcTime(), nullable=True))
        for name, column, which in (
            ("ix_ai_jobs_unwanted", "cancel_requested_at", "cancel_requested_at IS NOT NULL AND completed_at IS NULL"),
            ("ix_ai_jobs_ages", "completed_at", "completed_at IS NOT NULL AND expired_at IS NULL"),
            ("ix_ai_jobs_uncollected", "completed_at", "completed_at IS NOT NULL AND collected_at IS NULL"),
        ):
            batch_op.create_index(
                name, [column], unique=False, sqlite_where=sa.text(which), postgresql_where=sa.text(which)
            )
