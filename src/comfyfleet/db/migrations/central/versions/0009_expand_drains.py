"""An operator's drain outlives the process that was drained: until an operator ends it."""

import sqlalchemy as sa
from alembic import op

from comfyfleet.db.types import UtcTime

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("comfyui_workers", sa.Column("drained_at", UtcTime(), nullable=True))
    op.execute("UPDATE comfyui_workers SET drained_at = last_seen_at WHERE status = 'draining'")
