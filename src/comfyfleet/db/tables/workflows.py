"""Central: what can be run, and what a user picks."""

import sqlalchemy as sa

from comfyfleet.db.tables.base import CENTRAL, created_at, id_column
from comfyfleet.db.types import Json, UtcTime

workflows = sa.Table(
    "workflows",
    CENTRAL,
    id_column(),
    sa.Column("slug", sa.Text(), nullable=False, unique=True),
    sa.Column("name", sa.Text(), nullable=False),
    sa.Column("is_active", sa.Boolean(), nullable=False),
    sa.Column("graph", sa.LargeBinary(), nullable=False),
    sa.Column("structure_hash", sa.Text(), nullable=False),
    sa.Column("properties", Json, nullable=False),
    sa.Column("comfyui_workflow_path", sa.Text(), nullable=True),
    sa.Column("run_deadline_s", sa.Float(), nullable=True),
    created_at(),
)

effects = sa.Table(
    "effects",
    CENTRAL,
    id_column(),
    sa.Column("slug", sa.Text(), nullable=False, unique=True),
    sa.Column("name", sa.Text(), nullable=False),
    sa.Column("workflow_id", sa.Uuid(), sa.ForeignKey("workflows.id"), nullable=False, index=True),
    sa.Column("credits_cost", sa.BigInteger(), nullable=False),
    sa.Column("last_processing_time_seconds", sa.Float(), nullable=True),
    sa.Column("updated_at", UtcTime(), nullable=True),
    created_at(),
    sa.CheckConstraint("credits_cost >= 0", name="credits_cost_not_negative"),
)
