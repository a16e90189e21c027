"""Workflows have versions, kept in the object store; effects have overrides, assets and a shop window.

A workflow from before this revision has no version (0) and nothing to run: no release ever had one. Register it again.
"""

import sqlalchemy as sa
from alembic import op

from comfyfleet.db.types import Json, UtcTime

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

PROVIDERS = "provider IN ('self_hosted', 'cloud')"


def upgrade() -> None:
    op.execute("UPDATE workflows SET comfyui_workflow_path = '' WHERE comfyui_workflow_path IS NULL")
    with op.batch_alter_table("workflows") as batch:
        batch.drop_column("graph")
        batch.add_column(sa.Column("version", sa.Integer(), nullable=False, server_default="0"))
        batch.add_column(sa.Column("provider", sa.Text(), nullable=False, server_default="self_hosted"))
        batch.add_column(sa.Column("expected_s", sa.Float(), nullable=False, server_default="1"))
        batch.alter_column("comfyui_workflow_path", existing_type=sa.Text(), nullable=False)
    with op.batch_alter_table("workflows") as batch:
        batch.alter_column("version", existing_type=sa.Integer(), server_default=None)
        batch.alter_column("provider", existing_type=sa.Text(), server_default=None)
        batch.alter_column("expected_s", existing_type=sa.Float(), server_default=None)
        batch.create_check_constraint(op.f("ck_workflows_provider"), PROVIDERS)
    op.create_table(
        "workflow_versions",
        sa.Column("workflow_id", sa.Uuid(), nullable=False),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
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
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.CheckConstraint(PROVIDERS, name=op.f("ck_workflow_versions_provider")),
        sa.ForeignKeyConstraint(["workflow_id"], ["workflows.id"], name=op.f("fk_workflow_versions_workflow_id")),
        sa.PrimaryKeyConstraint("workflow_id", "version", name=op.f("pk_workflow_versions")),
    )
    # Nothing could write an effect before this revision.
    op.drop_index(op.f("ix_effects_workflow_id"), "effects")
    op.drop_table("effects")
    op.create_table(
        "effects",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("workflow_id", sa.Uuid(), nullable=False),
        sa.Column("overrides", Json, nullable=False),
        sa.Column("assets", Json, nullable=False),
        sa.Column("credits_cost", sa.BigInteger(), nullable=False),
        sa.Column("is_published", sa.Boolean(), nullable=False),
        sa.Column("last_processing_time_seconds", sa.Float(), nullable=True),
        sa.Column("updated_at", UtcTime(), nullable=True),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.CheckConstraint("credits_cost >= 0", name=op.f("ck_effects_credits_cost_not_negative")),
        sa.ForeignKeyConstraint(["workflow_id"], ["workflows.id"], name=op.f("fk_effects_workflow_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_effects")),
        sa.UniqueConstraint("slug", name=op.f("uq_effects_slug")),
    )
    op.create_index(op.f("ix_effects_workflow_id"), "effects", ["workflow_id"], unique=False)
