"""A fleet secret opens one fleet. Those that exist keep opening any, with workflows of a worker's own: they are marked
by having no word on workflows."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("fleet_secrets") as batch:
        batch.add_column(sa.Column("fleet_id", sa.Uuid(), nullable=True))
        batch.add_column(sa.Column("allows_workflows", sa.Boolean(), nullable=True))
        batch.create_foreign_key(op.f("fk_fleet_secrets_fleet_id"), "comfyui_fleets", ["fleet_id"], ["id"])
