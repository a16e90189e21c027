"""What a worker has is compared with what a workflow needs."""

import sqlalchemy as sa
from alembic import op

from comfyfleet.db.types import Json, UtcTime

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "capability_lists",
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("lists", Json, nullable=False),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_capability_lists")),
    )
    with op.batch_alter_table("comfyui_workers") as batch:
        batch.add_column(sa.Column("capability_digest", sa.Text(), nullable=True))
        batch.create_index(op.f("ix_comfyui_workers_capability_digest"), ["capability_digest"])
