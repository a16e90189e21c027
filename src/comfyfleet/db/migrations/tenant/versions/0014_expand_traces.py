"""The trace that a job began with its order: NULL where there is none."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("submissions", sa.Column("traceparent", sa.Text(), nullable=True))
