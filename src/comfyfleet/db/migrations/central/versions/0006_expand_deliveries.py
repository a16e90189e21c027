"""A dispatch that has to deliver something; how high a tenant's priorities may be."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("ai_job_dispatches", schema=None) as batch_op:
        batch_op.add_column(sa.Column("delivers", sa.Boolean(), nullable=True))

    with op.batch_alter_table("tenants", schema=None) as batch_op:
        batch_op.add_column(sa.Column("priority_max", sa.Integer(), nullable=True))
