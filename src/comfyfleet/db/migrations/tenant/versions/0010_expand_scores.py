"""Runs whose gates a scorer opens: which of them have pictures without scores."""

import sqlalchemy as sa
from alembic import op

from comfyfleet.db.types import UtcTime

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("pipeline_runs", schema=None) as batch_op:
        batch_op.add_column(sa.Column("score_due_at", UtcTime(), nullable=True))
        which = sa.text("score_due_at IS NOT NULL")
        batch_op.create_index(
            "ix_pipeline_runs_score_due", ["score_due_at"], unique=False, sqlite_where=which, postgresql_where=which
        )
