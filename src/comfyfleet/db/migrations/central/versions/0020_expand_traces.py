"""The trace that a dispatch belongs to: NULL where there is none."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("ai_job_dispatches", sa.Column("traceparent", sa.Text(), nullable=True))
