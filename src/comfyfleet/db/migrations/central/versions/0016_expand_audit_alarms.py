"""An audit chain that does not hold raises an alarm, which stops credits until an operator acknowledges it."""

import sqlalchemy as sa
from alembic import op

from comfyfleet.db.types import UtcTime

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "audit_alarms",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("pool", sa.Text(), nullable=False),
        sa.Column("chain", sa.Text(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("problem", sa.Text(), nullable=False),
        sa.Column("found_at", UtcTime(), nullable=False),
        sa.Column("acknowledged_at", UtcTime(), nullable=True),
        sa.Column("acknowledged_by", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_alarms")),
        sa.UniqueConstraint("pool", "chain", "seq", "problem", name=op.f("uq_audit_alarms_pool_chain_seq_problem")),
    )
