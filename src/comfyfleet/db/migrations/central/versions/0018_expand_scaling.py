"""Fleets that scale: their settings, decisions, launches and machines."""

import sqlalchemy as sa
from alembic import op

from comfyfleet.db.types import UtcTime

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "fleet_scaling",
        sa.Column("fleet_id", sa.Uuid(), nullable=False),
        sa.Column("settings", sa.Text(), nullable=False),
        sa.Column("max_workers", sa.Integer(), nullable=False),
        sa.Column("adapter", sa.Text(), nullable=False),
        sa.Column("adapter_settings", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.Column("is_empty", sa.Boolean(), nullable=False),
        sa.Column("counted_to", UtcTime(), nullable=True),
        sa.Column("decided_at", UtcTime(), nullable=True),
        sa.Column("held_by", sa.Text(), nullable=True),
        sa.Column("held_until", UtcTime(), nullable=True),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.Column("updated_at", UtcTime(), nullable=False),
        sa.ForeignKeyConstraint(["fleet_id"], ["comfyui_fleets.id"], name=op.f("fk_fleet_scaling_fleet_id")),
        sa.PrimaryKeyConstraint("fleet_id", name=op.f("pk_fleet_scaling")),
    )
    op.create_table(
        "fleet_decisions",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("fleet_id", sa.Uuid(), nullable=False),
        sa.Column("decided_at", UtcTime(), nullable=False),
        sa.Column("inputs", sa.Text(), nullable=False),
        sa.Column("decision", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("desired", sa.Integer(), nullable=False),
        sa.Column("ready", sa.Integer(), nullable=False),
        sa.Column("starting", sa.Integer(), nullable=False),
        sa.Column("draining", sa.Integer(), nullable=False),
        sa.Column("waiting", sa.Integer(), nullable=False),
        sa.Column("arrived_gpu_s", sa.Double(), nullable=False),
        sa.Column("is_change", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["fleet_id"], ["comfyui_fleets.id"], name=op.f("fk_fleet_decisions_fleet_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_fleet_decisions")),
    )
    op.create_index("ix_fleet_decisions_fleet", "fleet_decisions", ["fleet_id", "decided_at"])
    op.create_table(
        "fleet_launches",
        sa.Column("decision_id", sa.Uuid(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("fleet_id", sa.Uuid(), nullable=False),
        sa.Column("token", sa.Text(), nullable=False),
        sa.Column("machine_class", sa.Text(), nullable=False),
        sa.Column("market", sa.Text(), nullable=False),
        sa.Column("zone", sa.Text(), nullable=False),
        sa.Column("machines", sa.Integer(), nullable=False),
        sa.Column("asked_at", UtcTime(), nullable=False),
        sa.Column("answered_at", UtcTime(), nullable=True),
        sa.Column("launched", sa.Integer(), nullable=True),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["fleet_id"], ["comfyui_fleets.id"], name=op.f("fk_fleet_launches_fleet_id")),
        sa.PrimaryKeyConstraint("decision_id", "ordinal", name=op.f("pk_fleet_launches")),
        sa.UniqueConstraint("token", name=op.f("uq_fleet_launches_token")),
    )
    op.create_index(
        "ix_fleet_launches_open",
        "fleet_launches",
        ["fleet_id"],
        sqlite_where=sa.text("answered_at IS NULL"),
        postgresql_where=sa.text("answered_at IS NULL"),
    )
    op.create_table(
        "fleet_machines",
        sa.Column("fleet_id", sa.Uuid(), nullable=False),
        sa.Column("machine_id", sa.Text(), nullable=False),
        sa.Column("machine_class", sa.Text(), nullable=False),
        sa.Column("market", sa.Text(), nullable=False),
        sa.Column("zone", sa.Text(), nullable=False),
        sa.Column("launched_at", UtcTime(), nullable=False),
        sa.Column("start_s", sa.Double(), nullable=True),
        sa.Column("end_asked_at", UtcTime(), nullable=True),
        sa.Column("end_reason", sa.Text(), nullable=True),
        sa.Column("ended_at", UtcTime(), nullable=True),
        sa.ForeignKeyConstraint(["fleet_id"], ["comfyui_fleets.id"], name=op.f("fk_fleet_machines_fleet_id")),
        sa.PrimaryKeyConstraint("fleet_id", "machine_id", name=op.f("pk_fleet_machines")),
    )
    op.create_index(
        "ix_fleet_machines_open",
        "fleet_machines",
        ["fleet_id"],
        sqlite_where=sa.text("ended_at IS NULL"),
        postgresql_where=sa.text("ended_at IS NULL"),
    )
    op.create_index("ix_fleet_machines_launched", "fleet_machines", ["fleet_id", "launched_at"])
