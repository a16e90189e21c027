"""Files keep the hash of their bytes where it is known, and age."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    stored = sa.text("status = 'stored'")
    with op.batch_alter_table("files", schema=None) as batch_op:
        batch_op.add_column(sa.Column("sha256", sa.Text(), nullable=True))
        batch_op.create_index(
            "ix_files_ages", ["stored_at"], unique=False, sqlite_where=stored, postgresql_where=stored
        )
