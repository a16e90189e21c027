"""Tenant pool: where events are sent, what happened, and what is still to be delivered to whom."""

import sqlalchemy as sa

from comfyfleet.db.tables.base import TENANT, created_at, id_column, one_of
from comfyfleet.db.types import Json, UtcTime

webhook_endpoints = sa.Table(
    "webhook_endpoints",
    TENANT,
    id_column(),
    sa.Column("tenant_id", sa.Uuid(), nullable=False),
    sa.Column("url", sa.Text(), nullable=False),
    sa.Column("description", sa.Text(), nullable=False),
    # Kept as it is: every delivery is signed with it.
    sa.Column("secret", sa.Text(), nullable=False),
    # Null: all kinds. For the one behind a job's own `webhook_url`: none, it is named by the job.
    sa.Column("event_types", Json, nullable=True),
    sa.Column("is_active", sa.Boolean(), nullable=False),
    sa.Column("is_listed", sa.Boolean(), nullable=False),
    sa.Column("disabled_reason", sa.Text(), nullable=True),
    # Of one behind a job's own URL: when it was last named, but for a day.
    created_at(),
    # A tenant has a few that are listed, and perhaps one a job that are not: events look for the few.
    sa.Index(
        "ix_webhook_endpoints_listed",
        "tenant_id",
        "id",
        sqlite_where=sa.text("is_listed = 1"),
        postgresql_where=sa.text("is_listed"),
    ),
    sa.Index(
        "uq_webhook_endpoints_unlisted",
        "tenant_id",
        "url",
        unique=True,
        sqlite_where=sa.text("is_listed = 0"),
        postgresql_where=sa.text("NOT is_listed"),
    ),
)

webhook_events = sa.Table(
    "webhook_events",
    TENANT,
    id_column(),
    sa.Column("tenant_id", sa.Uuid(), nullable=False),
    sa.Column("event_type", sa.Text(), nullable=False),
    # What it is about, and a name that the same event has when it is written again.
    sa.Column("subject_id", sa.Uuid(), nullable=False),
    sa.Column("payload", sa.Text(), nullable=False),
    created_at(),
    sa.UniqueConstraint("tenant_id", "subject_id", "event_type"),
    sa.Index("ix_webhook_events_age", "created_at"),
)

webhook_deliveries = sa.Table(
    "webhook_deliveries",
    TENANT,
    id_column(),
    sa.Column("tenant_id", sa.Uuid(), nullable=False),
    sa.Column("event_id", sa.Uuid(), nullable=False),
    sa.Column("endpoint_id", sa.Uuid(), nullable=False),
    sa.Column("status", sa.Text(), nullable=False),
    sa.Column("attempts", sa.Integer(), nullable=False),
    # How many had been made when it was last asked for by hand: from there on it has as many tries as a new one.
    sa.Column("attempts_before", sa.Integer(), nullable=False),
    sa.Column("next_try_at", UtcTime(), nullable=True),
    sa.Column("response_status", sa.Integer(), nullable=True),
    sa.Column("last_error", sa.Text(), nullable=True),
    created_at(),
    sa.Column("ended_at", UtcTime(), nullable=True),
    one_of("status", ["pending", "delivered", "failed", "dropped"]),
    sa.CheckConstraint("(status = 'pending') = (next_try_at IS NOT NULL)", name="pending_has_a_time"),
    sa.UniqueConstraint("tenant_id", "event_id", "endpoint_id"),
    sa.Index("ix_webhook_deliveries_endpoint", "tenant_id", "endpoint_id", "id"),
    sa.Index(
        "ix_webhook_deliveries_due",
        "next_try_at",
        sqlite_where=sa.text("status = 'pending'"),
        postgresql_where=sa.text("status = 'pending'"),
    ),
)

webhook_attempts = sa.Table(
    "webhook_attempts",
    TENANT,
    id_column(),
    sa.Column("tenant_id", sa.Uuid(), nullable=False),
    sa.Column("delivery_id", sa.Uuid(), nullable=False),
    sa.Column("number", sa.Integer(), nullable=False),
    sa.Column("response_status", sa.Integer(), nullable=True),
    sa.Column("error", sa.Text(), nullable=True),
    sa.Column("duration_ms", sa.Integer(), nullable=False),
    created_at(),
    sa.UniqueConstraint("tenant_id", "delivery_id", "number"),
)
