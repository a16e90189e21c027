"""Central: the leased queue. The first table is hot and narrow; what is read once stands beside it."""

import sqlalchemy as sa

from comfyfleet.db.tables.base import CENTRAL, created_at, id_column, one_of
from comfyfleet.db.types import UtcTime

LEASED = sa.text("status = 'leased'")
QUEUED = sa.text("status = 'queued'")

lanes = sa.Table(
    "lanes",
    CENTRAL,
    sa.Column("id", sa.Integer(), primary_key=True, autoincrement=True),
    sa.Column("workflow_id", sa.Uuid(), nullable=False),
    sa.Column("structure_hash", sa.Text(), nullable=False),
    sa.Column("provider", sa.Text(), nullable=False),
    sa.Column("priority", sa.Integer(), nullable=False),
    sa.UniqueConstraint("workflow_id", "structure_hash", "provider", "priority"),
)

fair_shares = sa.Table(
    "fair_shares",
    CENTRAL,
    sa.Column("lane", sa.Integer(), primary_key=True),
    sa.Column("tenant_id", sa.Uuid(), primary_key=True),
    sa.Column("finish_tag", sa.Double(), nullable=False),
    # What the latest batch added: the one who meets a share that is there already must know it alone.
    sa.Column("last_cost", sa.Double(), nullable=False),
    sa.Index("ix_fair_shares_finish", "lane", "finish_tag"),
)

ai_job_dispatches = sa.Table(
    "ai_job_dispatches",
    CENTRAL,
    id_column(),
    sa.Column("tenant_id", sa.Uuid(), nullable=False),
    sa.Column("tenant_job_id", sa.Uuid(), nullable=False),
    sa.Column("pool", sa.Text(), nullable=False),
    sa.Column("workflow_id", sa.Uuid(), nullable=False),
    sa.Column("provider", sa.Text(), nullable=False),
    sa.Column("lane", sa.Integer(), nullable=False),
    sa.Column("status", sa.Text(), nullable=False),
    sa.Column("priority", sa.Integer(), nullable=False),
    sa.Column("fair_tag", sa.Double(), nullable=False),
    sa.Column("seq", sa.BigInteger(), nullable=False),
    sa.Column("attempts", sa.Integer(), nullable=False),
    sa.Column("max_attempts", sa.Integer(), nullable=False),
    sa.Column("releases", sa.Integer(), nullable=False),
    sa.Column("max_releases", sa.Integer(), nullable=False),
    sa.Column("epoch", sa.BigInteger(), nullable=False),
    sa.Column("lease_hash", sa.Text(), nullable=True),
    sa.Column("worker_id", sa.Uuid(), nullable=True),
    sa.Column("incarnation", sa.BigInteger(), nullable=True),
    sa.Column("lease_expires_at", UtcTime(), nullable=True),
    sa.Column("deadline_at", UtcTime(), nullable=True),
    sa.Column("run_deadline_s", sa.Float(), nullable=False),
    sa.Column("queued_at", UtcTime(), nullable=False),
    sa.Column("run_at", UtcTime(), nullable=True),
    sa.Column("queue_deadline_at", UtcTime(), nullable=False),
    sa.Column("cancel_requested_at", UtcTime(), nullable=True),
    sa.Column("provider_job_id", sa.Text(), nullable=True),
    sa.Column("service_submitted_at", UtcTime(), nullable=True),
    sa.Column("last_service_check", UtcTime(), nullable=True),
    sa.Column("service_status", sa.Text(), nullable=True),
    sa.Column("error_class", sa.Text(), nullable=True),
    sa.Column("last_error", sa.Text(), nullable=True),
    sa.Column("duration_seconds", sa.Float(), nullable=True),
    sa.Column("done_epoch", sa.BigInteger(), nullable=True),
    sa.Column("finished_at", UtcTime(), nullable=True),
    sa.Column("settled_at", UtcTime(), nullable=True),
    created_at(),
    sa.Column("leased_at", UtcTime(), nullable=True),
    # Somebody pays for what it makes: it cannot be completed with nothing.
    sa.Column("delivers", sa.Boolean(), nullable=True),
    # The span of its job's order, as W3C writes it.
    sa.Column("traceparent", sa.Text(), nullable=True),
    one_of("status", ["queued", "leased", "completed", "failed", "cancelled", "delayed"]),
    sa.CheckConstraint("(status = 'leased') = (lease_hash IS NOT NULL)", name="leased_has_lease"),
    sa.CheckConstraint("(status = 'delayed') = (run_at IS NOT NULL)", name="delayed_has_run_at"),
    sa.CheckConstraint(
        "(status IN ('completed', 'failed', 'cancelled')) = (finished_at IS NOT NULL)", name="finished_has_time"
    ),
    # An exhausted row must not sit in the queue unseen.
    sa.CheckConstraint(
        "NOT (status IN ('queued', 'delayed') AND attempts >= max_attempts + releases)", name="waiting_may_run"
    ),
    sa.Index(
        "ix_ai_job_dispatches_queue",
        "lane",
        "fair_tag",
        "seq",
        sqlite_where=QUEUED,
        postgresql_where=QUEUED,
    ),
    # By worker, not by expiry: a heartbeat changes the expiry, and must stay a HOT update.
    sa.Index("ix_ai_job_dispatches_leased", "worker_id", sqlite_where=LEASED, postgresql_where=LEASED),
    sa.Index(
        "ix_ai_job_dispatches_delayed",
        "run_at",
        sqlite_where=sa.text("status = 'delayed'"),
        postgresql_where=sa.text("status = 'delayed'"),
    ),
    postgresql_with={"fillfactor": 80, "autovacuum_vacuum_scale_factor": 0.02},
)

dispatch_payloads = sa.Table(
    "dispatch_payloads",
    CENTRAL,
    sa.Column("dispatch_id", sa.Uuid(), primary_key=True),
    # Kept as bytes and sent on as bytes: nobody here reads it.
    sa.Column("payload", sa.LargeBinary(), nullable=False),
)

dispatch_attempts = sa.Table(
    "dispatch_attempts",
    CENTRAL,
    sa.Column("dispatch_id", sa.Uuid(), primary_key=True),
    sa.Column("epoch", sa.BigInteger(), primary_key=True),
    sa.Column("nonce", sa.Text(), nullable=False),
    sa.Column("poll_id", sa.Text(), nullable=True),
    sa.Column("worker_id", sa.Uuid(), nullable=False),
    sa.Column("incarnation", sa.BigInteger(), nullable=False),
    sa.Column("granted_at", UtcTime(), nullable=False),
    sa.Column("confirmed_at", UtcTime(), nullable=True),
    sa.Column("ended_at", UtcTime(), nullable=True),
    sa.Column("reason", sa.Text(), nullable=True),
    sa.Column("request_digest", sa.Text(), nullable=True),
    # What the call that ended it was answered with: sent again, it gets the same.
    sa.Column("answered_status", sa.Text(), nullable=True),
    sa.Column("provider_job_id", sa.Text(), nullable=True),
    # `service_error` or `service_job_not_found`, within the failure class that `reason` names.
    sa.Column("service_reason", sa.Text(), nullable=True),
    # What a worker did lately, for operators.
    sa.Index("ix_dispatch_attempts_worker", "worker_id", "granted_at"),
    # What ended lately, for operators. Only of those that ended: to begin an attempt does not touch it.
    sa.Index(
        "ix_dispatch_attempts_ended",
        "ended_at",
        sqlite_where=sa.text("ended_at IS NOT NULL"),
        postgresql_where=sa.text("ended_at IS NOT NULL"),
    ),
    # A double lease becomes an error instead of a silent fault.
    sa.Index(
        "uq_dispatch_attempts_one_open",
        "dispatch_id",
        unique=True,
        sqlite_where=sa.text("ended_at IS NULL"),
        postgresql_where=sa.text("ended_at IS NULL"),
    ),
)

attempt_results = sa.Table(
    "attempt_results",
    CENTRAL,
    sa.Column("dispatch_id", sa.Uuid(), primary_key=True),
    sa.Column("epoch", sa.BigInteger(), primary_key=True),
    # JSON: what the server itself said of the attempt's end. For operators.
    sa.Column("result_metadata", sa.Text(), nullable=False),
    created_at(),
)

settlements = sa.Table(
    "settlements",
    CENTRAL,
    id_column(),
    sa.Column("dispatch_id", sa.Uuid(), nullable=False, unique=True),
    sa.Column("tenant_id", sa.Uuid(), nullable=False),
    sa.Column("pool", sa.Text(), nullable=False),
    sa.Column("outcome", sa.Text(), nullable=False),
    sa.Column("detail", sa.Text(), nullable=False),  # JSON, written once and read once
    sa.Column("tries", sa.Integer(), nullable=False),
    sa.Column("next_try_at", UtcTime(), nullable=False),
    sa.Column("last_error", sa.Text(), nullable=True),
    sa.Column("applied_at", UtcTime(), nullable=True),
    sa.Column("parked_at", UtcTime(), nullable=True),
    created_at(),
    one_of("outcome", ["completed", "failed", "cancelled"]),
    sa.Index(
        "ix_settlements_open",
        "pool",
        "next_try_at",
        sqlite_where=sa.text("applied_at IS NULL AND parked_at IS NULL"),
        postgresql_where=sa.text("applied_at IS NULL AND parked_at IS NULL"),
    ),
    # Which jobs ended lately, and how, for operators.
    sa.Index("ix_settlements_created", "created_at"),
)

failover_blocks = sa.Table(
    "failover_blocks",
    CENTRAL,
    sa.Column("worker_id", sa.Uuid(), primary_key=True),
    sa.Column("structure_hash", sa.Text(), primary_key=True),
    # Only this tenant's jobs stay away, until a second tenant fails too; then it is null.
    sa.Column("tenant_id", sa.Uuid(), nullable=True),
    sa.Column("failure_count", sa.Integer(), nullable=False),
    sa.Column("cooldown_s", sa.Float(), nullable=False),
    sa.Column("blocked_until", UtcTime(), nullable=False),
    sa.Column("probe_dispatch_id", sa.Uuid(), nullable=True),
    sa.Column("probe_until", UtcTime(), nullable=True),
    created_at(),
)

waiting_reasons = sa.Table(
    "waiting_reasons",
    CENTRAL,
    id_column(),
    # Kept per lane, not per row: a million jobs that wait for the same reason are told by one.
    sa.Column("lane", sa.Integer(), nullable=False, index=True),
    # Null: all tenants' jobs of the lane.
    sa.Column("tenant_id", sa.Uuid(), nullable=True),
    sa.Column("reason", sa.Text(), nullable=False),
    created_at(),
)

upkeep_ticks = sa.Table(
    "upkeep_ticks",
    CENTRAL,
    sa.Column("loop", sa.Text(), primary_key=True),
    sa.Column("ticked_at", UtcTime(), nullable=False),
)
