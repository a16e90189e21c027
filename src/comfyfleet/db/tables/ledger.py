"""Tenant pool: wallets and their append-only history. The unique indexes are the ledger's promises."""

import sqlalchemy as sa

from comfyfleet.db.tables.base import TENANT, created_at, id_column, one_of

token_wallets = sa.Table(
    "token_wallets",
    TENANT,
    id_column(),
    sa.Column("tenant_id", sa.Uuid(), nullable=False),
    sa.Column("user_id", sa.Uuid(), nullable=False),
    sa.Column("balance", sa.BigInteger(), nullable=False),
    created_at(),
    sa.UniqueConstraint("tenant_id", "user_id"),
    sa.UniqueConstraint("tenant_id", "id"),
    sa.CheckConstraint("balance >= 0", name="balance_not_negative"),
)

token_transactions = sa.Table(
    "token_transactions",
    TENANT,
    id_column(),
    sa.Column("tenant_id", sa.Uuid(), nullable=False),
    sa.Column("wallet_id", sa.Uuid(), nullable=False),
    sa.Column("type", sa.Text(), nullable=False),
    sa.Column("amount", sa.BigInteger(), nullable=False),
    sa.Column("job_id", sa.Uuid(), nullable=True),
    sa.Column("provider_transaction_id", sa.Text(), nullable=True),
    created_at(),
    sa.ForeignKeyConstraint(
        ["tenant_id", "wallet_id"], ["token_wallets.tenant_id", "token_wallets.id"], name="fk_token_transactions_wallet"
    ),
    one_of("type", ["PAYMENT_CREDIT", "JOB_RESERVE", "JOB_CONSUME", "JOB_REFUND"]),
    sa.CheckConstraint(
        "(type = 'PAYMENT_CREDIT' AND amount > 0) OR (type = 'JOB_RESERVE' AND amount <= 0)"
        " OR (type = 'JOB_CONSUME' AND amount = 0) OR (type = 'JOB_REFUND' AND amount >= 0)",
        name="amount_fits_type",
    ),
    sa.CheckConstraint(
        "(type = 'PAYMENT_CREDIT') = (job_id IS NULL)"
        " AND (type = 'PAYMENT_CREDIT') = (provider_transaction_id IS NOT NULL)",
        name="credit_or_job",
    ),
    sa.Index("ix_token_transactions_wallet", "tenant_id", "wallet_id", "id"),
    # Sent twice is once: per (tenant, job, type), and a job ends in a consume or a refund, never both.
    sa.Index("uq_token_transactions_job_type", "tenant_id", "job_id", "type", unique=True),
    sa.Index(
        "uq_token_transactions_one_end",
        "tenant_id",
        "job_id",
        unique=True,
        sqlite_where=sa.text("type IN ('JOB_CONSUME', 'JOB_REFUND')"),
        postgresql_where=sa.text("type IN ('JOB_CONSUME', 'JOB_REFUND')"),
    ),
    sa.Index("uq_token_transactions_provider", "tenant_id", "provider_transaction_id", unique=True),
)
