"""What ended lately is found by when it ended: the fleet's timeline, and how much is finished a minute."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

ENDED = sa.text("ended_at IS NOT NULL")


def upgrade() -> None:
    op.create_index(
        "ix_dispatch_attempts_ended", "dispatch_attempts", ["ended_at"], sqlite_where=ENDED, postgresql_where=ENDED
    )
