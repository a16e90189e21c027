"""Who did what: the chained log of operators, and what workers did."""

import sqlalchemy as sa
from alembic import op

from comfyfleet.db.dialect import append_only
from comfyfleet.db.types import UtcTime

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "audit_head",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("mac", sa.Text(), nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_audit_head_one_row")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_head")),
    )
    op.create_table(
        "audit_log",
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("at", UtcTime(), nullable=False),
        sa.Column("actor_kind", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=True),
        sa.Column("address", sa.Text(), nullable=True),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("mac", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_audit_log")),
    )
    op.create_table(
        "worker_audit_log",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("at", UtcTime(), nullable=False),
        sa.Column("event", sa.Text(), nullable=False),
        sa.Column("worker_id", sa.Text(), nullable=True),
        sa.Column("dispatch_id", sa.Uuid(), nullable=True),
        sa.Column("tenant_id", sa.Uuid(), nullable=True),
        sa.Column("address", sa.Text(), nullable=True),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_worker_audit_log")),
    )
    op.create_index("ix_worker_audit_log_dispatch", "worker_audit_log", ["dispatch_id", "id"], unique=False)
    op.create_index("ix_worker_audit_log_worker", "worker_audit_log", ["worker_id", "id"], unique=False)
    # The hot table bears no index that leasing does not read: each costs two writes in a job's life.
    op.drop_index("ix_ai_job_dispatches_tenant", "ai_job_dispatches")
    op.drop_index("uq_dispatch_attempts_poll", "dispatch_attempts")
    op.add_column("ai_job_dispatches", sa.Column("leased_at", UtcTime(), nullable=True))
    # Nothing could queue a job before this revision: there is nothing to carry over.
    op.drop_index("ix_fair_shares_finish", "fair_shares")
    op.drop_table("fair_shares")
    op.create_table(
        "fair_shares",
        sa.Column("lane", sa.Integer(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("finish_tag", sa.Double(), nullable=False),
        sa.Column("last_cost", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("lane", "tenant_id", name=op.f("pk_fair_shares")),
    )
    op.create_index("ix_fair_shares_finish", "fair_shares", ["lane", "finish_tag"], unique=False)
    op.create_table(
        "waiting_reasons",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("lane", sa.Integer(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_waiting_reasons")),
    )
    op.create_index(op.f("ix_waiting_reasons_lane"), "waiting_reasons", ["lane"], unique=False)
    for ddl in append_only(op.get_bind().dialect.name, "audit_log"):
        op.execute(ddl)
