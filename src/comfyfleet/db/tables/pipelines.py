"""Tenant pool: pipelines, their runs, and what the runs made. Counts are kept beside what they count."""

import sqlalchemy as sa

from comfyfleet.db.tables.base import TENANT, created_at, id_column, one_of
from comfyfleet.db.types import Json, UtcTime

DUE = sa.text("advance_due_at IS NOT NULL")
SCORE_DUE = sa.text("score_due_at IS NOT NULL")
RANKED = sa.text("status = 'active' AND is_passed")
# SQLite keeps 1 for true, and sees a partial index only behind the very words of a statement.
RANKED_SQLITE = sa.text("status = 'active' AND is_passed = 1")
ACTIVE = sa.text("status = 'active'")
UNDER_WAY = sa.text("state = 'in_flight'")

# One row a version, never changed: a run goes on with what it was started with.
pipelines = sa.Table(
    "pipelines",
    TENANT,
    id_column(),
    sa.Column("tenant_id", sa.Uuid(), nullable=False),
    sa.Column("slug", sa.Text(), nullable=False),
    sa.Column("version", sa.Integer(), nullable=False),
    sa.Column("name", sa.Text(), nullable=False),
    sa.Column("description", sa.Text(), nullable=False),
    sa.Column("steps", Json, nullable=False),
    sa.Column("created_by", sa.Uuid(), nullable=False),
    created_at(),
    sa.Column("archived_at", UtcTime(), nullable=True),
    sa.UniqueConstraint("tenant_id", "slug", "version"),
)

pipeline_runs = sa.Table(
    "pipeline_runs",
    TENANT,
    id_column(),
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
    # Larger than that of any run served before it: of a tenant's runs, whoever has the smallest is next in turn.
    sa.Column("last_turn", sa.BigInteger(), nullable=False),
    # Set by whatever may have given it something to do; taken back by whoever looked.
    sa.Column("advance_due_at", UtcTime(), nullable=True),
    created_at(),
    sa.Column("started_at", UtcTime(), nullable=True),
    sa.Column("ended_at", UtcTime(), nullable=True),
    # As above, of a run whose gates a scorer opens: a picture of it may be without scores.
    sa.Column("score_due_at", UtcTime(), nullable=True),
    one_of("status", ["pending", "running", "waiting_for_approval", "paused", "completed", "failed", "stopped"]),
    one_of("seed_policy", ["varied", "fixed"]),
    sa.CheckConstraint("in_flight >= 0 AND jobs_started >= 0 AND tokens_spent >= 0", name="counts"),
    sa.CheckConstraint("jobs_max IS NULL OR jobs_started <= jobs_max", name="jobs_within_budget"),
    sa.CheckConstraint("tokens_max IS NULL OR tokens_spent <= tokens_max", name="tokens_within_budget"),
    sa.CheckConstraint(
        "(status IN ('completed', 'failed', 'stopped')) = (ended_at IS NOT NULL)", name="ended_has_time"
    ),
    sa.Index("ix_pipeline_runs_owner", "tenant_id", "user_id", "id"),
    sa.Index("uq_pipeline_runs_idempotency_key", "tenant_id", "user_id", "idempotency_key", unique=True),
    sa.Index("ix_pipeline_runs_due", "advance_due_at", sqlite_where=DUE, postgresql_where=DUE),
    sa.Index("ix_pipeline_runs_score_due", "score_due_at", sqlite_where=SCORE_DUE, postgresql_where=SCORE_DUE),
)

pipeline_run_steps = sa.Table(
    "pipeline_run_steps",
    TENANT,
    sa.Column("tenant_id", sa.Uuid(), nullable=False),
    sa.Column("run_id", sa.Uuid(), primary_key=True),
    sa.Column("position", sa.Integer(), primary_key=True, autoincrement=False),
    sa.Column("variants", sa.Integer(), nullable=False),
    # The gate behind this step: whose candidates may have children.
    sa.Column("approved_at", UtcTime(), nullable=True),
    sa.Column("approved_by", sa.Text(), nullable=True),
    sa.Column("top", sa.Integer(), nullable=True),
    sa.Column("made", sa.Integer(), nullable=False),
    sa.Column("alive", sa.Integer(), nullable=False),
    sa.Column("in_flight", sa.Integer(), nullable=False),
    sa.Column("started", sa.Integer(), nullable=False),
    sa.Column("failures", sa.Integer(), nullable=False),
    sa.Column("votes", sa.Integer(), nullable=False),
    sa.CheckConstraint("(approved_at IS NULL) = (top IS NULL)", name="approved_has_top"),
    sa.CheckConstraint("alive >= 0 AND alive <= made AND in_flight >= 0", name="counts"),
)

candidates = sa.Table(
    "candidates",
    TENANT,
    id_column(),
    sa.Column("tenant_id", sa.Uuid(), nullable=False),
    sa.Column("run_id", sa.Uuid(), nullable=False),
    sa.Column("position", sa.Integer(), nullable=False),
    sa.Column("parent_id", sa.Uuid(), nullable=True),
    sa.Column("job_id", sa.Uuid(), nullable=False),
    sa.Column("file_id", sa.Uuid(), nullable=False),
    sa.Column("image_index", sa.Integer(), nullable=False),
    sa.Column("seed", sa.BigInteger(), nullable=True),
    sa.Column("status", sa.Text(), nullable=False),
    # False: a gate's scorer passed it over. It can be looked at and voted on, and gets no children.
    sa.Column("is_passed", sa.Boolean(), nullable=False),
    sa.Column("elo", sa.Float(), nullable=False),
    # Below zero: the best is first in an index of plain columns, and of equals the oldest.
    sa.Column("rank", sa.Float(), nullable=False),
    sa.Column("votes", sa.Integer(), nullable=False),
    sa.Column("children", sa.Integer(), nullable=False),
    sa.Column("started", sa.Integer(), nullable=False),
    sa.Column("failures", sa.Integer(), nullable=False),
    sa.Column("scores", Json, nullable=True),
    created_at(),
    sa.Column("rejected_at", UtcTime(), nullable=True),
    one_of("status", ["active", "rejected"]),
    sa.CheckConstraint("(status = 'rejected') = (rejected_at IS NOT NULL)", name="rejected_has_time"),
    sa.CheckConstraint("rank = -elo", name="rank_is_elo"),
    sa.UniqueConstraint("tenant_id", "job_id", "image_index"),
    sa.Index(
        "ix_candidates_ranked",
        "tenant_id",
        "run_id",
        "position",
        "rank",
        "id",
        sqlite_where=RANKED_SQLITE,
        postgresql_where=RANKED,
    ),
    sa.Index(
        "ix_candidates_least_compared",
        "tenant_id",
        "run_id",
        "position",
        "votes",
        "id",
        sqlite_where=ACTIVE,
        postgresql_where=ACTIVE,
    ),
    sa.Index("ix_candidates_run", "tenant_id", "run_id", "id"),
    sa.Index("ix_candidates_parent", "tenant_id", "parent_id"),
)

# The jobs of runs: which place in the tree each one fills.
run_jobs = sa.Table(
    "run_jobs",
    TENANT,
    sa.Column("job_id", sa.Uuid(), primary_key=True),
    sa.Column("tenant_id", sa.Uuid(), nullable=False),
    sa.Column("run_id", sa.Uuid(), nullable=False),
    sa.Column("position", sa.Integer(), nullable=False),
    sa.Column("parent_id", sa.Uuid(), nullable=True),
    # The run itself stands in for a parent where there is none: a unique index takes two NULLs for different.
    sa.Column("place", sa.Uuid(), nullable=False),
    sa.Column("ordinal", sa.Integer(), nullable=False),
    sa.Column("seed", sa.BigInteger(), nullable=True),
    sa.Column("tokens", sa.BigInteger(), nullable=False),
    sa.Column("state", sa.Text(), nullable=False),
    sa.Column("error", sa.Text(), nullable=True),
    created_at(),
    sa.Column("ended_at", UtcTime(), nullable=True),
    one_of("state", ["in_flight", "done", "failed", "retried", "cancelled"]),
    sa.UniqueConstraint("tenant_id", "run_id", "position", "place", "ordinal"),
    sa.Index("ix_run_jobs_under_way", "tenant_id", "run_id", sqlite_where=UNDER_WAY, postgresql_where=UNDER_WAY),
    sa.Index("ix_run_jobs_run", "tenant_id", "run_id", "job_id"),
)

# Append-only: the scores of a step are these, replayed by `seq`.
votes = sa.Table(
    "votes",
    TENANT,
    id_column(),
    sa.Column("tenant_id", sa.Uuid(), nullable=False),
    sa.Column("run_id", sa.Uuid(), nullable=False),
    sa.Column("position", sa.Integer(), nullable=False),
    sa.Column("seq", sa.Integer(), nullable=False),
    sa.Column("winner_id", sa.Uuid(), nullable=False),
    sa.Column("loser_id", sa.Uuid(), nullable=False),
    sa.Column("user_id", sa.Uuid(), nullable=False),
    sa.Column("idempotency_key", sa.Text(), nullable=True),
    created_at(),
    sa.CheckConstraint("winner_id <> loser_id", name="two"),
    sa.UniqueConstraint("tenant_id", "run_id", "position", "seq"),
    sa.Index("uq_votes_idempotency_key", "tenant_id", "user_id", "idempotency_key", unique=True),
)
