"""Endpoints of jobs may be many: the few that are listed, and one by its URL, are found without reading them all."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("webhook_endpoints", schema=None) as batch_op:
        batch_op.drop_index("ix_webhook_endpoints_tenant")
        batch_op.drop_index("uq_webhook_endpoints_unlisted")
        # As each engine writes the condition in a statement: else it does not see the index.
        batch_op.create_index(
            "ix_webhook_endpoints_listed",
            ["tenant_id", "id"],
            unique=False,
            sqlite_where=sa.text("is_listed = 1"),
            postgresql_where=sa.text("is_listed"),
        )
        batch_op.create_index(
            "uq_webhook_endpoints_unlisted",
            ["tenant_id", "url"],
            unique=True,
            sqlite_where=sa.text("is_listed = 0"),
            postgresql_where=sa.text("NOT is_listed"),
        )
