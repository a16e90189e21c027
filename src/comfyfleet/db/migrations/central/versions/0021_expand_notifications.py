"""Alerts, channels, notifications; and what replicas report of themselves."""

import sqlalchemy as sa
from alembic import op

from comfyfleet.db.types import UtcTime

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

PENDING = sa.text("status = 'pending'")


def upgrade() -> None:
    op.create_table(
        "alerts",
        sa.Column("condition", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("began_at", UtcTime(), nullable=False),
        sa.Column("changed_at", UtcTime(), nullable=False),
        sa.Column("seen_at", UtcTime(), nullable=False),
        sa.Column("clear_since", UtcTime(), nullable=True),
        sa.Column("reminded_at", UtcTime(), nullable=True),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("condition", "subject", name=op.f("pk_alerts")),
        sa.UniqueConstraint("id", name=op.f("uq_alerts_id")),
        sa.CheckConstraint("state IN ('pending', 'firing', 'resolved')", name=op.f("ck_alerts_state")),
    )
    op.create_table(
        "notification_channels",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("secret", sa.Text(), nullable=True),
        sa.Column("only_pages", sa.Boolean(), nullable=False),
        sa.Column("is_active", sa.Boolean(), nullable=False),
        sa.Column("disabled_reason", sa.Text(), nullable=True),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_notification_channels")),
        sa.UniqueConstraint("name", name=op.f("uq_notification_channels_name")),
        sa.CheckConstraint("kind IN ('webhook', 'mail')", name=op.f("ck_notification_channels_kind")),
        sa.CheckConstraint(
            "(kind = 'webhook') = (secret IS NOT NULL)", name=op.f("ck_notification_channels_webhooks_are_signed")
        ),
    )
    op.create_table(
        "notifications",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("channel_id", sa.Uuid(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("channel_kind", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("condition", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_try_at", UtcTime(), nullable=True),
        sa.Column("response_status", sa.Integer(), nullable=True),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.Column("ended_at", UtcTime(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_notifications")),
        sa.CheckConstraint("kind IN ('firing', 'reminder', 'resolved', 'test')", name=op.f("ck_notifications_kind")),
        sa.CheckConstraint(
            "status IN ('pending', 'delivered', 'failed', 'dropped')", name=op.f("ck_notifications_status")
        ),
        sa.CheckConstraint(
            "(status = 'pending') = (next_try_at IS NOT NULL)", name=op.f("ck_notifications_pending_has_a_time")
        ),
    )
    op.create_index(
        "ix_notifications_due",
        "notifications",
        ["channel_id", "id"],
        sqlite_where=PENDING,
        postgresql_where=PENDING,
    )
    op.create_table(
        "replica_reports",
        sa.Column("replica", sa.Text(), nullable=False),
        sa.Column("reported_at", UtcTime(), nullable=False),
        sa.Column("loops", sa.Text(), nullable=False),
        sa.Column("disks", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("replica", name=op.f("pk_replica_reports")),
    )
    # What ended lately, by when its end was written: for the objectives of success and of starting in time.
    op.create_index("ix_settlements_created", "settlements", ["created_at"])
