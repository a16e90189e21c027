"""Launches of providers without tokens: what was planned, written down before they are asked."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("fleet_launches", sa.Column("plan", sa.Text(), nullable=True))
