"""Workflows, effects, fleets, workers and the leased queue."""

import sqlalchemy as sa
from alembic import op

from comfyfleet.db.types import Json, UtcTime

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "ai_job_dispatches",
        sa.Column("id", sa.Uuid(), nullable=False),
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
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.CheckConstraint(
            "(status = 'delayed') = (run_at IS NOT NULL)", name=op.f("ck_ai_job_dispatches_delayed_has_run_at")
        ),
        sa.CheckConstraint(
            "(status = 'leased') = (lease_hash IS NOT NULL)", name=op.f("ck_ai_job_dispatches_leased_has_lease")
        ),
        sa.CheckConstraint(
            "(status IN ('completed', 'failed', 'cancelled')) = (finished_at IS NOT NULL)",
            name=op.f("ck_ai_job_dispatches_finished_has_time"),
        ),
        sa.CheckConstraint(
            "NOT (status IN ('queued', 'delayed') AND attempts >= max_attempts + releases)",
            name=op.f("ck_ai_job_dispatches_waiting_may_run"),
        ),
        sa.CheckConstraint(
            "status IN ('queued', 'leased', 'completed', 'failed', 'cancelled', 'delayed')",
            name=op.f("ck_ai_job_dispatches_status"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_ai_job_dispatches")),
        postgresql_with={"fillfactor": 80, "autovacuum_vacuum_scale_factor": 0.02},
    )
    op.create_index(
        "ix_ai_job_dispatches_delayed",
        "ai_job_dispatches",
        ["run_at"],
        unique=False,
        sqlite_where=sa.text("status = 'delayed'"),
        postgresql_where=sa.text("status = 'delayed'"),
    )
    op.create_index(
        "ix_ai_job_dispatches_leased",
        "ai_job_dispatches",
        ["worker_id"],
        unique=False,
        sqlite_where=sa.text("status = 'leased'"),
        postgresql_where=sa.text("status = 'leased'"),
    )
    op.create_index(
        "ix_ai_job_dispatches_queue",
        "ai_job_dispatches",
        ["lane", "fair_tag", "seq"],
        unique=False,
        sqlite_where=sa.text("status = 'queued'"),
        postgresql_where=sa.text("status = 'queued'"),
    )
    op.create_index("ix_ai_job_dispatches_tenant", "ai_job_dispatches", ["tenant_id", "id"], unique=False)
    op.create_table(
        "comfyui_fleets",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("stage", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_comfyui_fleets")),
        sa.UniqueConstraint("slug", "stage", name=op.f("uq_comfyui_fleets_slug_stage")),
    )
    op.create_table(
        "dispatch_attempts",
        sa.Column("dispatch_id", sa.Uuid(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("nonce", sa.Text(), nullable=False),
        sa.Column("poll_id", sa.Text(), nullable=True),
        sa.Column("worker_id", sa.Uuid(), nullable=False),
        sa.Column("incarnation", sa.BigInteger(), nullable=False),
        sa.Column("granted_at", UtcTime(), nullable=False),
        sa.Column("confirmed_at", UtcTime(), nullable=True),
        sa.Column("ended_at", UtcTime(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("request_digest", sa.Text(), nullable=True),
        sa.Column("answered_status", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("dispatch_id", "epoch", name=op.f("pk_dispatch_attempts")),
    )
    op.create_index(
        "uq_dispatch_attempts_one_open",
        "dispatch_attempts",
        ["dispatch_id"],
        unique=True,
        sqlite_where=sa.text("ended_at IS NULL"),
        postgresql_where=sa.text("ended_at IS NULL"),
    )
    op.create_index(
        "uq_dispatch_attempts_poll",
        "dispatch_attempts",
        ["worker_id", "poll_id"],
        unique=False,
        sqlite_where=sa.text("ended_at IS NULL"),
        postgresql_where=sa.text("ended_at IS NULL"),
    )
    op.create_table(
        "dispatch_payloads",
        sa.Column("dispatch_id", sa.Uuid(), nullable=False),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("dispatch_id", name=op.f("pk_dispatch_payloads")),
    )
    op.create_table(
        "failover_blocks",
        sa.Column("worker_id", sa.Uuid(), nullable=False),
        sa.Column("structure_hash", sa.Text(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=True),
        sa.Column("failure_count", sa.Integer(), nullable=False),
        sa.Column("cooldown_s", sa.Float(), nullable=False),
        sa.Column("blocked_until", UtcTime(), nullable=False),
        sa.Column("probe_dispatch_id", sa.Uuid(), nullable=True),
        sa.Column("probe_until", UtcTime(), nullable=True),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("worker_id", "structure_hash", name=op.f("pk_failover_blocks")),
    )
    op.create_table(
        "fair_shares",
        sa.Column("lane", sa.Integer(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("finish_tag", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("lane", "tenant_id", name=op.f("pk_fair_shares")),
    )
    op.create_index("ix_fair_shares_finish", "fair_shares", ["lane", "finish_tag"], unique=False)
    op.create_table(
        "fleet_secrets",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("secret_hash", sa.Text(), nullable=False),
        sa.Column("retired_at", UtcTime(), nullable=True),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_fleet_secrets")),
        sa.UniqueConstraint("secret_hash", name=op.f("uq_fleet_secrets_secret_hash")),
    )
    op.create_table(
        "lanes",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("workflow_id", sa.Uuid(), nullable=False),
        sa.Column("structure_hash", sa.Text(), nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_lanes")),
        sa.UniqueConstraint(
            "workflow_id",
            "structure_hash",
            "provider",
            "priority",
            name=op.f("uq_lanes_workflow_id_structure_hash_provider_priority"),
        ),
    )
    op.create_table(
        "settlements",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("dispatch_id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("pool", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("next_try_at", UtcTime(), nullable=False),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.Column("applied_at", UtcTime(), nullable=True),
        sa.Column("parked_at", UtcTime(), nullable=True),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.CheckConstraint("outcome IN ('completed', 'failed', 'cancelled')", name=op.f("ck_settlements_outcome")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_settlements")),
        sa.UniqueConstraint("dispatch_id", name=op.f("uq_settlements_dispatch_id")),
    )
    op.create_index(
        "ix_settlements_open",
        "settlements",
        ["pool", "next_try_at"],
        unique=False,
        sqlite_where=sa.text("applied_at IS NULL AND parked_at IS NULL"),
        postgresql_where=sa.text("applied_at IS NULL AND parked_at IS NULL"),
    )
    op.create_table(
        "upkeep_ticks",
        sa.Column("loop", sa.Text(), nullable=False),
        sa.Column("ticked_at", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("loop", name=op.f("pk_upkeep_ticks")),
    )
    op.create_table(
        "workflows",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("is_active", sa.Boolean(), nullable=False),
        sa.Column("graph", sa.LargeBinary(), nullable=False),
        sa.Column("structure_hash", sa.Text(), nullable=False),
        sa.Column("properties", Json, nullable=False),
        sa.Column("comfyui_workflow_path", sa.Text(), nullable=True),
        sa.Column("run_deadline_s", sa.Float(), nullable=True),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_workflows")),
        sa.UniqueConstraint("slug", name=op.f("uq_workflows_slug")),
    )
    op.create_table(
        "comfyui_workers",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("worker_id", sa.Text(), nullable=False),
        sa.Column("fleet_id", sa.Uuid(), nullable=True),
        sa.Column("registration_source", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("is_approved", sa.Boolean(), nullable=False),
        sa.Column("is_draining", sa.Boolean(), nullable=False),
        sa.Column("incarnation", sa.BigInteger(), nullable=False),
        sa.Column("token_hash", sa.Text(), nullable=False),
        sa.Column("boot_id", sa.Text(), nullable=True),
        sa.Column("capabilities", Json, nullable=False),
        sa.Column("providers", Json, nullable=False),
        sa.Column("max_concurrency", sa.Integer(), nullable=False),
        sa.Column("current_load", sa.Integer(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("takeovers", sa.Integer(), nullable=False),
        sa.Column("takeovers_since", UtcTime(), nullable=True),
        sa.Column("last_seen_at", UtcTime(), nullable=False),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.CheckConstraint(
            "is_approved = (status IN ('approved', 'draining'))",
            name=op.f("ck_comfyui_workers_approved_follows_status"),
        ),
        sa.CheckConstraint(
            "is_draining = (status = 'draining')", name=op.f("ck_comfyui_workers_draining_follows_status")
        ),
        sa.CheckConstraint("registration_source IN ('fleet')", name=op.f("ck_comfyui_workers_registration_source")),
        sa.CheckConstraint(
            "status IN ('pending', 'approved', 'draining', 'revoked', 'gone')", name=op.f("ck_comfyui_workers_status")
        ),
        sa.CheckConstraint("max_concurrency BETWEEN 1 AND 1000", name=op.f("ck_comfyui_workers_max_concurrency")),
        sa.ForeignKeyConstraint(["fleet_id"], ["comfyui_fleets.id"], name=op.f("fk_comfyui_workers_fleet_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_comfyui_workers")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_comfyui_workers_token_hash")),
        sa.UniqueConstraint("worker_id", name=op.f("uq_comfyui_workers_worker_id")),
    )
    op.create_index(op.f("ix_comfyui_workers_fleet_id"), "comfyui_workers", ["fleet_id"], unique=False)
    op.create_table(
        "comfyui_workflow_fleets",
        sa.Column("fleet_id", sa.Uuid(), nullable=False),
        sa.Column("workflow_id", sa.Uuid(), nullable=False),
        sa.Column("is_active", sa.Boolean(), nullable=False),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.ForeignKeyConstraint(["fleet_id"], ["comfyui_fleets.id"], name=op.f("fk_comfyui_workflow_fleets_fleet_id")),
        sa.ForeignKeyConstraint(["workflow_id"], ["workflows.id"], name=op.f("fk_comfyui_workflow_fleets_workflow_id")),
        sa.PrimaryKeyConstraint("fleet_id", "workflow_id", name=op.f("pk_comfyui_workflow_fleets")),
    )
    op.create_table(
        "effects",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("workflow_id", sa.Uuid(), nullable=False),
        sa.Column("credits_cost", sa.BigInteger(), nullable=False),
        sa.Column("last_processing_time_seconds", sa.Float(), nullable=True),
        sa.Column("updated_at", UtcTime(), nullable=True),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.CheckConstraint("credits_cost >= 0", name=op.f("ck_effects_credits_cost_not_negative")),
        sa.ForeignKeyConstraint(["workflow_id"], ["workflows.id"], name=op.f("fk_effects_workflow_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_effects")),
        sa.UniqueConstraint("slug", name=op.f("uq_effects_slug")),
    )
    op.create_index(op.f("ix_effects_workflow_id"), "effects", ["workflow_id"], unique=False)
    op.create_table(
        "worker_workflows",
        sa.Column("worker_id", sa.Uuid(), nullable=False),
        sa.Column("workflow_id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(["worker_id"], ["comfyui_workers.id"], name=op.f("fk_worker_workflows_worker_id")),
        sa.ForeignKeyConstraint(["workflow_id"], ["workflows.id"], name=op.f("fk_worker_workflows_workflow_id")),
        sa.PrimaryKeyConstraint("worker_id", "workflow_id", name=op.f("pk_worker_workflows")),
    )
