"""Central: alerts, where operators are notified of them, and the log of what was sent."""

import sqlalchemy as sa

from comfyfleet.db.tables.base import CENTRAL, created_at, id_column, one_of
from comfyfleet.db.types import UtcTime

alerts = sa.Table(
    "alerts",
    CENTRAL,
    sa.Column("condition", sa.Text(), primary_key=True),
    # Empty: the whole installation.
    sa.Column("subject", sa.Text(), primary_key=True),
    # Of this episode: an alert that begins again has another.
    sa.Column("id", sa.Uuid(), nullable=False, unique=True),
    sa.Column("state", sa.Text(), nullable=False),
    sa.Column("text", sa.Text(), nullable=False),
    sa.Column("began_at", UtcTime(), nullable=False),
    sa.Column("changed_at", UtcTime(), nullable=False),
    sa.Column("seen_at", UtcTime(), nullable=False),
    # It fires, and its condition has not held since.
    sa.Column("clear_since", UtcTime(), nullable=True),
    sa.Column("reminded_at", UtcTime(), nullable=True),
    # Each write counts it up, and names the one it read: of two replicas one writes.
    sa.Column("generation", sa.BigInteger(), nullable=False),
    one_of("state", ["pending", "firing", "resolved"]),
)

notification_channels = sa.Table(
    "notification_channels",
    CENTRAL,
    id_column(),
    sa.Column("name", sa.Text(), nullable=False, unique=True),
    sa.Column("kind", sa.Text(), nullable=False),
    # A URL, or mail addresses with commas.
    sa.Column("target", sa.Text(), nullable=False),
    # Kept as it is: every webhook is signed with it.
    sa.Column("secret", sa.Text(), nullable=True),
    sa.Column("only_pages", sa.Boolean(), nullable=False),
    sa.Column("is_active", sa.Boolean(), nullable=False),
    sa.Column("disabled_reason", sa.Text(), nullable=True),
    created_at(),
    one_of("kind", ["webhook", "mail"]),
    sa.CheckConstraint("(kind = 'webhook') = (secret IS NOT NULL)", name="webhooks_are_signed"),
)

notifications = sa.Table(
    "notifications",
    CENTRAL,
    id_column(),
    # No foreign key: the log outlives its channels.
    sa.Column("channel_id", sa.Uuid(), nullable=False),
    sa.Column("channel", sa.Text(), nullable=False),
    sa.Column("channel_kind", sa.Text(), nullable=False),
    sa.Column("kind", sa.Text(), nullable=False),
    # Empty: a test.
    sa.Column("condition", sa.Text(), nullable=False),
    # Of its alerts, with commas.
    sa.Column("subject", sa.Text(), nullable=False),
    sa.Column("payload", sa.Text(), nullable=False),
    sa.Column("status", sa.Text(), nullable=False),
    sa.Column("attempts", sa.Integer(), nullable=False),
    sa.Column("next_try_at", UtcTime(), nullable=True),
    sa.Column("response_status", sa.Integer(), nullable=True),
    sa.Column("last_error", sa.Text(), nullable=True),
    created_at(),
    sa.Column("ended_at", UtcTime(), nullable=True),
    one_of("kind", ["firing", "reminder", "resolved", "test"]),
    one_of("status", ["pending", "delivered", "failed", "dropped"]),
    sa.CheckConstraint("(status = 'pending') = (next_try_at IS NOT NULL)", name="pending_has_a_time"),
    sa.Index(
        "ix_notifications_due",
        "channel_id",
        "id",
        sqlite_where=sa.text("status = 'pending'"),
        postgresql_where=sa.text("status = 'pending'"),
    ),
)

# What each replica says of itself, for conditions that one replica alone cannot see.
replica_reports = sa.Table(
    "replica_reports",
    CENTRAL,
    sa.Column("replica", sa.Text(), primary_key=True),
    sa.Column("reported_at", UtcTime(), nullable=False),
    # JSON: loop to seconds since it last succeeded and its interval; place to free and total bytes.
    sa.Column("loops", sa.Text(), nullable=False),
    sa.Column("disks", sa.Text(), nullable=False),
)
