"""Central: what can be run, and what a user picks."""

import sqlalchemy as sa

from comfyfleet.db.tables.base import CENTRAL, created_at, id_column, one_of
from comfyfleet.db.types import Json, UtcTime

# What stands here of the graph is that of the version in force; every version has its own row, which never changes.
workflows = sa.Table(
    "workflows",
    CENTRAL,
    id_column(),
    sa.Column("slug", sa.Text(), nullable=False, unique=True),
    sa.Column("name", sa.Text(), nullable=False),
    sa.Column("is_active", sa.Boolean(), nullable=False),
    sa.Column("structure_hash", sa.Text(), nullable=False),
    sa.Column("properties", Json, nullable=False),
    sa.Column("comfyui_workflow_path", sa.Text(), nullable=False),
    sa.Column("run_deadline_s", sa.Float(), nullable=True),
    created_at(),
    sa.Column("version", sa.Integer(), nullable=False),
    sa.Column("provider", sa.Text(), nullable=False),
    sa.Column("expected_s", sa.Float(), nullable=False),
    one_of("provider", ["self_hosted", "cloud"]),
)

workflow_versions = sa.Table(
    "workflow_versions",
    CENTRAL,
    sa.Column("workflow_id", sa.Uuid(), sa.ForeignKey("workflows.id"), primary_key=True),
    sa.Column("version", sa.Integer(), primary_key=True, autoincrement=False),
    sa.Column("comfyui_workflow_path", sa.Text(), nullable=False),
    sa.Column("graph_bytes", sa.Integer(), nullable=False),
    sa.Column("content_hash", sa.Text(), nullable=False),
    sa.Column("structure_hash", sa.Text(), nullable=False),
    sa.Column("properties", Json, nullable=False),
    sa.Column("output_node", sa.Text(), nullable=True),
    sa.Column("requirements", Json, nullable=False),
    sa.Column("provider", sa.Text(), nullable=False),
    sa.Column("expected_s", sa.Float(), nullable=False),
    sa.Column("run_deadline_s", sa.Float(), nullable=True),
    sa.Column("note", sa.Text(), nullable=False),
    created_at(),
    one_of("provider", ["self_hosted", "cloud"]),
)

effects = sa.Table(
    "effects",
    CENTRAL,
    id_column(),
    sa.Column("slug", sa.Text(), nullable=False, unique=True),
    sa.Column("name", sa.Text(), nullable=False),
    sa.Column("description", sa.Text(), nullable=False),
    sa.Column("workflow_id", sa.Uuid(), sa.ForeignKey("workflows.id"), nullable=False, index=True),
    sa.Column("overrides", Json, nullable=False),
    # By name: {path, mime_type, size, content_hash}. `preview` is what the gallery shows.
    sa.Column("assets", Json, nullable=False),
    sa.Column("credits_cost", sa.BigInteger(), nullable=False),
    sa.Column("is_published", sa.Boolean(), nullable=False),
    sa.Column("last_processing_time_seconds", sa.Float(), nullable=True),
    sa.Column("updated_at", UtcTime(), nullable=True),
    created_at(),
    # Orders are taken while no worker can run it.
    sa.Column("waits_for_worker", sa.Boolean(), nullable=False, server_default=sa.false()),
    # The names of overrides that users may not change. NULL: written before there was a choice; all of them.
    sa.Column("fixed_overrides", Json, nullable=True),
    sa.CheckConstraint("credits_cost >= 0", name="credits_cost_not_negative"),
)
