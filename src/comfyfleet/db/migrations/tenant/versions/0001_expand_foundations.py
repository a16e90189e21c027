"""Files, wallets and the append-only ledger."""

import sqlalchemy as sa
from alembic import op

from comfyfleet.db.dialect import append_only
from comfyfleet.db.types import UtcTime

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "files",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("disk", sa.Text(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("mime_type", sa.Text(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("multipart_id", sa.Text(), nullable=True),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.Column("stored_at", UtcTime(), nullable=True),
        sa.Column("deleted_at", UtcTime(), nullable=True),
        sa.CheckConstraint("disk IN ('local', 's3')", name=op.f("ck_files_disk")),
        sa.CheckConstraint("status <> 'stored' OR stored_at IS NOT NULL", name=op.f("ck_files_stored_has_time")),
        sa.CheckConstraint("(status = 'deleted') = (deleted_at IS NOT NULL)", name=op.f("ck_files_deleted_has_time")),
        sa.CheckConstraint("status IN ('pending', 'stored', 'deleted')", name=op.f("ck_files_status")),
        sa.CheckConstraint("size >= 0", name=op.f("ck_files_size_not_negative")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_files")),
        sa.UniqueConstraint("path", name=op.f("uq_files_path")),
    )
    op.create_index("ix_files_owner", "files", ["tenant_id", "user_id", "id"], unique=False)
    op.create_table(
        "token_wallets",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("balance", sa.BigInteger(), nullable=False),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.CheckConstraint("balance >= 0", name=op.f("ck_token_wallets_balance_not_negative")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_token_wallets")),
        sa.UniqueConstraint("tenant_id", "id", name=op.f("uq_token_wallets_tenant_id_id")),
        sa.UniqueConstraint("tenant_id", "user_id", name=op.f("uq_token_wallets_tenant_id_user_id")),
    )
    op.create_table(
        "token_transactions",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("wallet_id", sa.Uuid(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.Column("job_id", sa.Uuid(), nullable=True),
        sa.Column("provider_transaction_id", sa.Text(), nullable=True),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.CheckConstraint(
            "(type = 'PAYMENT_CREDIT' AND amount > 0) OR (type = 'JOB_RESERVE' AND amount <= 0) OR (type = 'JOB_CONSUME' AND amount = 0) OR (type = 'JOB_REFUND' AND amount >= 0)",
            name=op.f("ck_token_transactions_amount_fits_type"),
        ),
        sa.CheckConstraint(
            "(type = 'PAYMENT_CREDIT') = (job_id IS NULL) AND (type = 'PAYMENT_CREDIT') = (provider_transaction_id IS NOT NULL)",
            name=op.f("ck_token_transactions_credit_or_job"),
        ),
        sa.CheckConstraint(
            "type IN ('PAYMENT_CREDIT', 'JOB_RESERVE', 'JOB_CONSUME', 'JOB_REFUND')",
            name=op.f("ck_token_transactions_type"),
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id", "wallet_id"],
            ["token_wallets.tenant_id", "token_wallets.id"],
            name="fk_token_transactions_wallet",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_token_transactions")),
    )
    op.create_index(
        "ix_token_transactions_wallet", "token_transactions", ["tenant_id", "wallet_id", "id"], unique=False
    )
    op.create_index(
        "uq_token_transactions_job_type", "token_transactions", ["tenant_id", "job_id", "type"], unique=True
    )
    op.create_index(
        "uq_token_transactions_one_end",
        "token_transactions",
        ["tenant_id", "job_id"],
        unique=True,
        sqlite_where=sa.text("type IN ('JOB_CONSUME', 'JOB_REFUND')"),
        postgresql_where=sa.text("type IN ('JOB_CONSUME', 'JOB_REFUND')"),
    )
    op.create_index(
        "uq_token_transactions_provider", "token_transactions", ["tenant_id", "provider_transaction_id"], unique=True
    )
    for ddl in append_only(op.get_bind().dialect.name, "token_transactions"):
        op.execute(ddl)
