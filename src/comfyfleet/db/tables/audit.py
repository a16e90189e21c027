"""Both databases: who did what. The chained log can only be added to; each row's mac holds the one before it."""

import sqlalchemy as sa

from comfyfleet.db.tables.base import CENTRAL, TENANT, id_column
from comfyfleet.db.types import UtcTime


def _said() -> list[sa.Column[object]]:
    return [
        sa.Column("at", UtcTime(), nullable=False),
        sa.Column("actor_kind", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=True),
        sa.Column("address", sa.Text(), nullable=True),
        # The exact text that the mac covers: JSON, and never read back by the database.
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("mac", sa.Text(), nullable=False),
    ]


audit_log = sa.Table(
    "audit_log",
    CENTRAL,
    sa.Column("seq", sa.BigInteger(), primary_key=True, autoincrement=False),
    *_said(),
)

audit_head = sa.Table(
    "audit_head",
    CENTRAL,
    # One row: whoever adds to the chain holds it.
    sa.Column("id", sa.Integer(), primary_key=True, autoincrement=False),
    sa.Column("seq", sa.BigInteger(), nullable=False),
    sa.Column("mac", sa.Text(), nullable=False),
    sa.CheckConstraint("id = 1", name="one_row"),
)

tenant_audit_log = sa.Table(
    "tenant_audit_log",
    TENANT,
    sa.Column("tenant_id", sa.Uuid(), primary_key=True),
    sa.Column("seq", sa.BigInteger(), primary_key=True, autoincrement=False),
    *_said(),
)

tenant_audit_heads = sa.Table(
    "tenant_audit_heads",
    TENANT,
    sa.Column("tenant_id", sa.Uuid(), primary_key=True),
    sa.Column("seq", sa.BigInteger(), nullable=False),
    sa.Column("mac", sa.Text(), nullable=False),
)

worker_audit_log = sa.Table(
    "worker_audit_log",
    CENTRAL,
    id_column(),
    sa.Column("at", UtcTime(), nullable=False),
    sa.Column("event", sa.Text(), nullable=False),
    sa.Column("worker_id", sa.Text(), nullable=True),
    sa.Column("dispatch_id", sa.Uuid(), nullable=True),
    sa.Column("tenant_id", sa.Uuid(), nullable=True),
    sa.Column("address", sa.Text(), nullable=True),
    sa.Column("detail", sa.Text(), nullable=False),
    sa.Index("ix_worker_audit_log_worker", "worker_id", "id"),
    sa.Index("ix_worker_audit_log_dispatch", "dispatch_id", "id"),
)

# A chain that does not hold. Each stays until an operator acknowledges it; the same is not raised again.
audit_alarms = sa.Table(
    "audit_alarms",
    CENTRAL,
    id_column(),
    # Empty: the central database.
    sa.Column("pool", sa.Text(), nullable=False),
    sa.Column("chain", sa.Text(), nullable=False),
    # The first row that is missing or not what it was.
    sa.Column("seq", sa.BigInteger(), nullable=False),
    sa.Column("problem", sa.Text(), nullable=False),
    sa.Column("found_at", UtcTime(), nullable=False),
    sa.Column("acknowledged_at", UtcTime(), nullable=True),
    sa.Column("acknowledged_by", sa.Text(), nullable=True),
    sa.UniqueConstraint("pool", "chain", "seq", "problem"),
)
