"""An effect's override is a default that users may change, or fixed; those that are there stay fixed."""

import sqlalchemy as sa
from alembic import op

from comfyfleet.db.types import Json

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # NULL reads as "all of them": also in rows that a server of the release before writes meanwhile.
    op.add_column("effects", sa.Column("fixed_overrides", Json, nullable=True))
