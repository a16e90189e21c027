"""Keys remember what made them, so that those made with a stolen key go with it. Of older ones it is not known."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("api_keys", sa.Column("made_via", sa.Text(), nullable=True))
    op.add_column("api_keys", sa.Column("made_by", sa.Uuid(), nullable=True))
