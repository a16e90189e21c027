"""Workers report what their servers say of their node classes, so that graphs of the editor can be converted."""

import sqlalchemy as sa
from alembic import op

from comfyfleet.db.types import UtcTime

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "node_definitions",
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("worker_id", sa.Text(), nullable=False),
        sa.Column("classes", sa.Integer(), nullable=False),
        sa.Column("size_bytes", sa.Integer(), nullable=False),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.Column("seen_at", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_node_definitions")),
    )
    op.create_index(op.f("ix_node_definitions_worker_id"), "node_definitions", ["worker_id"])
    op.create_index(op.f("ix_node_definitions_seen_at"), "node_definitions", ["seen_at"])
