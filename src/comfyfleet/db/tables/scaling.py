"""Central: fleets that scale, what was decided for them, and the machines that were asked for."""

import sqlalchemy as sa

from comfyfleet.db.tables.base import CENTRAL, id_column
from comfyfleet.db.types import UtcTime

fleet_scaling = sa.Table(
    "fleet_scaling",
    CENTRAL,
    sa.Column("fleet_id", sa.Uuid(), sa.ForeignKey("comfyui_fleets.id"), primary_key=True),
    # JSON: what an operator set. `max_workers` is part of it, and stands here for the check at registration.
    sa.Column("settings", sa.Text(), nullable=False),
    sa.Column("max_workers", sa.Integer(), nullable=False),
    sa.Column("adapter", sa.Text(), nullable=False),
    sa.Column("adapter_settings", sa.Text(), nullable=False),
    # JSON: what one decision leaves for the next.
    sa.Column("state", sa.Text(), nullable=False),
    # Each change of settings or state counts it up; a decision made on an older one is dropped.
    sa.Column("generation", sa.BigInteger(), nullable=False),
    # The last decision found no machine: the next order wakes the loop.
    sa.Column("is_empty", sa.Boolean(), nullable=False),
    # Orders made before this were counted as arrived.
    sa.Column("counted_to", UtcTime(), nullable=True),
    sa.Column("decided_at", UtcTime(), nullable=True),
    # One replica at a time: who works on it now, and how long that is believed.
    sa.Column("held_by", sa.Text(), nullable=True),
    sa.Column("held_until", UtcTime(), nullable=True),
    # What the adapter last failed with; none: its last calls succeeded.
    sa.Column("problem", sa.Text(), nullable=True),
    sa.Column("updated_at", UtcTime(), nullable=False),
)

fleet_decisions = sa.Table(
    "fleet_decisions",
    CENTRAL,
    id_column(),
    sa.Column("fleet_id", sa.Uuid(), sa.ForeignKey("comfyui_fleets.id"), nullable=False),
    sa.Column("decided_at", UtcTime(), nullable=False),
    # JSON, so that a decision can be made again from its inputs.
    sa.Column("inputs", sa.Text(), nullable=False),
    sa.Column("decision", sa.Text(), nullable=False),
    sa.Column("reason", sa.Text(), nullable=False),
    sa.Column("desired", sa.Integer(), nullable=False),
    sa.Column("ready", sa.Integer(), nullable=False),
    sa.Column("starting", sa.Integer(), nullable=False),
    sa.Column("draining", sa.Integer(), nullable=False),
    sa.Column("waiting", sa.Integer(), nullable=False),
    # GPU-seconds of work ordered since the decision before.
    sa.Column("arrived_gpu_s", sa.Double(), nullable=False),
    # It did something, or found other numbers than the one before: kept longer.
    sa.Column("is_change", sa.Boolean(), nullable=False),
    sa.Index("ix_fleet_decisions_fleet", "fleet_id", "decided_at"),
)

fleet_launches = sa.Table(
    "fleet_launches",
    CENTRAL,
    sa.Column("decision_id", sa.Uuid(), primary_key=True),
    sa.Column("ordinal", sa.Integer(), primary_key=True),
    sa.Column("fleet_id", sa.Uuid(), sa.ForeignKey("comfyui_fleets.id"), nullable=False),
    # By it the provider knows a repeated request.
    sa.Column("token", sa.Text(), nullable=False, unique=True),
    sa.Column("machine_class", sa.Text(), nullable=False),
    sa.Column("market", sa.Text(), nullable=False),
    sa.Column("zone", sa.Text(), nullable=False),
    sa.Column("machines", sa.Integer(), nullable=False),
    sa.Column("asked_at", UtcTime(), nullable=False),
    # None: no usable answer yet; it is sent again with the same token.
    sa.Column("answered_at", UtcTime(), nullable=True),
    sa.Column("launched", sa.Integer(), nullable=True),
    sa.Column("problem", sa.Text(), nullable=True),
    # For a provider without launch tokens: what it is asked for, in its adapter's words, written before it is asked.
    sa.Column("plan", sa.Text(), nullable=True),
    sa.Index(
        "ix_fleet_launches_open",
        "fleet_id",
        sqlite_where=sa.text("answered_at IS NULL"),
        postgresql_where=sa.text("answered_at IS NULL"),
    ),
)

fleet_machines = sa.Table(
    "fleet_machines",
    CENTRAL,
    sa.Column("fleet_id", sa.Uuid(), sa.ForeignKey("comfyui_fleets.id"), primary_key=True),
    # The provider's id. Its worker registers by the same name.
    sa.Column("machine_id", sa.Text(), primary_key=True),
    sa.Column("machine_class", sa.Text(), nullable=False),
    sa.Column("market", sa.Text(), nullable=False),
    sa.Column("zone", sa.Text(), nullable=False),
    sa.Column("launched_at", UtcTime(), nullable=False),
    # From launch to first lease, once known.
    sa.Column("start_s", sa.Double(), nullable=True),
    # Set before the provider is told to end it: from then on no worker registers from it.
    sa.Column("end_asked_at", UtcTime(), nullable=True),
    sa.Column("end_reason", sa.Text(), nullable=True),
    sa.Column("ended_at", UtcTime(), nullable=True),
    sa.Index(
        "ix_fleet_machines_open",
        "fleet_id",
        sqlite_where=sa.text("ended_at IS NULL"),
        postgresql_where=sa.text("ended_at IS NULL"),
    ),
    sa.Index("ix_fleet_machines_launched", "fleet_id", "launched_at"),
)
