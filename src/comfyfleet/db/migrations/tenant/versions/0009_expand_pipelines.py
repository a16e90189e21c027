"""Pipelines, their runs and what the runs make; jobs that are steps of a run."""

import sqlalchemy as sa
from alembic import op

from comfyfleet.db.dialect import append_only
from comfyfleet.db.types import Json, UtcTime

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "candidates",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("parent_id", sa.Uuid(), nullable=True),
        sa.Column("job_id", sa.Uuid(), nullable=False),
        sa.Column("file_id", sa.Uuid(), nullable=False),
        sa.Column("image_index", sa.Integer(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=True),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("is_passed", sa.Boolean(), nullable=False),
        sa.Column("elo", sa.Float(), nullable=False),
        sa.Column("rank", sa.Float(), nullable=False),
        sa.Column("votes", sa.Integer(), nullable=False),
        sa.Column("children", sa.Integer(), nullable=False),
        sa.Column("started", sa.Integer(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("scores", Json, nullable=True),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.Column("rejected_at", UtcTime(), nullable=True),
        sa.CheckConstraint(
            "(status = 'rejected') = (rejected_at IS NOT NULL)", name=op.f("ck_candidates_rejected_has_time")
        ),
        sa.CheckConstraint("rank = -elo", name=op.f("ck_candidates_rank_is_elo")),
        sa.CheckConstraint("status IN ('active', 'rejected')", name=op.f("ck_candidates_status")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_candidates")),
        sa.UniqueConstraint(
            "tenant_id", "job_id", "image_index", name=op.f("uq_candidates_tenant_id_job_id_image_index")
        ),
    )
    with op.batch_alter_table("candidates", schema=None) as batch_op:
        batch_op.create_index(
            "ix_candidates_least_compared",
            ["tenant_id", "run_id", "position", "votes", "id"],
            unique=False,
            sqlite_where=sa.text("status = 'active'"),
            postgresql_where=sa.text("status = 'active'"),
        )
        batch_op.create_index("ix_candidates_parent", ["tenant_id", "parent_id"], unique=False)
        batch_op.create_index(
            "ix_candidates_ranked",
            ["tenant_id", "run_id", "position", "rank", "id"],
            unique=False,
            sqlite_where=sa.text("status = 'active' AND is_passed = 1"),
            postgresql_where=sa.text("status = 'active' AND is_passed"),
        )
        batch_op.create_index("ix_candidates_run", ["tenant_id", "run_id", "id"], unique=False)

    op.create_table(
        "pipeline_run_steps",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("variants", sa.Integer(), nullable=False),
        sa.Column("approved_at", UtcTime(), nullable=True),
        sa.Column("approved_by", sa.Text(), nullable=True),
        sa.Column("top", sa.Integer(), nullable=True),
        sa.Column("made", sa.Integer(), nullable=False),
        sa.Column("alive", sa.Integer(), nullable=False),
        sa.Column("in_flight", sa.Integer(), nullable=False),
        sa.Column("started", sa.Integer(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("votes", sa.Integer(), nullable=False),
        sa.CheckConstraint(
            "(approved_at IS NULL) = (top IS NULL)", name=op.f("ck_pipeline_run_steps_approved_has_top")
        ),
        sa.CheckConstraint(
            "alive >= 0 AND alive <= made AND in_flight >= 0", name=op.f("ck_pipeline_run_steps_counts")
        ),
        sa.PrimaryKeyConstraint("run_id", "position", name=op.f("pk_pipeline_run_steps")),
    )
    op.create_table(
        "pipeline_runs",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("pipeline_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("status_reason", sa.Text(), nullable=True),
        sa.Column("variables", Json, nullable=False),
        sa.Column("target_folder", sa.Text(), nullable=False),
        sa.Column("variants", sa.Integer(), nullable=False),
        sa.Column("top", sa.Integer(), nullable=False),
        sa.Column("finals", sa.Integer(), nullable=True),
        sa.Column("concurrency", sa.Integer(), nullable=False),
        sa.Column("tokens_max", sa.BigInteger(), nullable=True),
        sa.Column("jobs_max", sa.Integer(), nullable=True),
        sa.Column("ends_at", UtcTime(), nullable=True),
        sa.Column("tokens_spent", sa.BigInteger(), nullable=False),
        sa.Column("jobs_started", sa.Integer(), nullable=False),
        sa.Column("in_flight", sa.Integer(), nullable=False),
        sa.Column("approval", Json, nullable=False),
        sa.Column("seed_policy", sa.Text(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("idempotency_key", sa.Text(), nullable=True),
        sa.Column("last_turn", sa.BigInteger(), nullable=False),
        sa.Column("advance_due_at", UtcTime(), nullable=True),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.Column("started_at", UtcTime(), nullable=True),
        sa.Column("ended_at", UtcTime(), nullable=True),
        sa.CheckConstraint(
            "(status IN ('completed', 'failed', 'stopped')) = (ended_at IS NOT NULL)",
            name=op.f("ck_pipeline_runs_ended_has_time"),
        ),
        sa.CheckConstraint("seed_policy IN ('varied', 'fixed')", name=op.f("ck_pipeline_runs_seed_policy")),
        sa.CheckConstraint(
            "status IN ('pending', 'running', 'waiting_for_approval', 'paused', 'completed', 'failed', 'stopped')",
            name=op.f("ck_pipeline_runs_status"),
        ),
        sa.CheckConstraint(
            "in_flight >= 0 AND jobs_started >= 0 AND tokens_spent >= 0", name=op.f("ck_pipeline_runs_counts")
        ),
        sa.CheckConstraint(
            "jobs_max IS NULL OR jobs_started <= jobs_max", name=op.f("ck_pipeline_runs_jobs_within_budget")
        ),
        sa.CheckConstraint(
            "tokens_max IS NULL OR tokens_spent <= tokens_max", name=op.f("ck_pipeline_runs_tokens_within_budget")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pipeline_runs")),
    )
    with op.batch_alter_table("pipeline_runs", schema=None) as batch_op:
        batch_op.create_index(
            "ix_pipeline_runs_due",
            ["advance_due_at"],
            unique=False,
            sqlite_where=sa.text("advance_due_at IS NOT NULL"),
            postgresql_where=sa.text("advance_due_at IS NOT NULL"),
        )
        batch_op.create_index("ix_pipeline_runs_owner", ["tenant_id", "user_id", "id"], unique=False)
        batch_op.create_index(
            "uq_pipeline_runs_idempotency_key", ["tenant_id", "user_id", "idempotency_key"], unique=True
        )

    op.create_table(
        "pipelines",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("steps", Json, nullable=False),
        sa.Column("created_by", sa.Uuid(), nullable=False),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.Column("archived_at", UtcTime(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pipelines")),
        sa.UniqueConstraint("tenant_id", "slug", "version", name=op.f("uq_pipelines_tenant_id_slug_version")),
    )
    op.create_table(
        "run_jobs",
        sa.Column("job_id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("parent_id", sa.Uuid(), nullable=True),
        sa.Column("place", sa.Uuid(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=True),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.Column("ended_at", UtcTime(), nullable=True),
        sa.CheckConstraint(
            "state IN ('in_flight', 'done', 'failed', 'retried', 'cancelled')", name=op.f("ck_run_jobs_state")
        ),
        sa.PrimaryKeyConstraint("job_id", name=op.f("pk_run_jobs")),
        sa.UniqueConstraint(
            "tenant_id",
            "run_id",
            "position",
            "place",
            "ordinal",
            name=op.f("uq_run_jobs_tenant_id_run_id_position_place_ordinal"),
        ),
    )
    with op.batch_alter_table("run_jobs", schema=None) as batch_op:
        batch_op.create_index("ix_run_jobs_run", ["tenant_id", "run_id", "job_id"], unique=False)
        batch_op.create_index(
            "ix_run_jobs_under_way",
            ["tenant_id", "run_id"],
            unique=False,
            sqlite_where=sa.text("state = 'in_flight'"),
            postgresql_where=sa.text("state = 'in_flight'"),
        )

    op.create_table(
        "votes",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("winner_id", sa.Uuid(), nullable=False),
        sa.Column("loser_id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("idempotency_key", sa.Text(), nullable=True),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.CheckConstraint("winner_id <> loser_id", name=op.f("ck_votes_two")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_votes")),
        sa.UniqueConstraint(
            "tenant_id", "run_id", "position", "seq", name=op.f("uq_votes_tenant_id_run_id_position_seq")
        ),
    )
    with op.batch_alter_table("votes", schema=None) as batch_op:
        batch_op.create_index("uq_votes_idempotency_key", ["tenant_id", "user_id", "idempotency_key"], unique=True)

    with op.batch_alter_table("ai_jobs", schema=None) as batch_op:
        batch_op.add_column(sa.Column("run_id", sa.Uuid(), nullable=True))
    for statement in append_only(op.get_bind().dialect.name, "votes"):
        op.execute(statement)
