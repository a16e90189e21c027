"""Where a file came from: the attempt and the node that made it."""

import sqlalchemy as sa
from alembic import op

from comfyfleet.db.types import Json

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("files", sa.Column("metadata", Json, nullable=True))
