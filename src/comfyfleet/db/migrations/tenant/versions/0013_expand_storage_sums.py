"""What a tenant keeps is added up from an index."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    kept = sa.text("status <> 'deleted'")
    with op.batch_alter_table("files", schema=None) as batch_op:
        batch_op.create_index("ix_files_kept", ["tenant_id", "size"], sqlite_where=kept, postgresql_where=kept)
