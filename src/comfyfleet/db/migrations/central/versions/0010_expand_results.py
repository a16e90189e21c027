"""What a server itself said of an attempt's end, and the prompt and the reason with the attempt."""

import sqlalchemy as sa
from alembic import op

from comfyfleet.db.types import UtcTime

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("dispatch_attempts", sa.Column("provider_job_id", sa.Text(), nullable=True))
    op.add_column("dispatch_attempts", sa.Column("service_reason", sa.Text(), nullable=True))
    op.create_table(
        "attempt_results",
        sa.Column("dispatch_id", sa.Uuid(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("result_metadata", sa.Text(), nullable=False),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("dispatch_id", "epoch", name="pk_attempt_results"),
    )
