"""Central: workers, the fleets they belong to, and what a fleet may run."""

import sqlalchemy as sa

from comfyfleet.db.tables.base import CENTRAL, created_at, id_column, one_of
from comfyfleet.db.types import Json, UtcTime

comfyui_fleets = sa.Table(
    "comfyui_fleets",
    CENTRAL,
    id_column(),
    sa.Column("slug", sa.Text(), nullable=False),
    sa.Column("stage", sa.Text(), nullable=False),
    sa.Column("name", sa.Text(), nullable=False),
    created_at(),
    # Machines of this fleet are started when there is work: its effects stay on sale while it has no worker.
    sa.Column("scales_from_zero", sa.Boolean(), nullable=False, server_default=sa.false()),
    sa.UniqueConstraint("slug", "stage"),
)

# What the machines of a fleet have: one row for each kind of them, kept after its workers are gone.
fleet_inventories = sa.Table(
    "fleet_inventories",
    CENTRAL,
    sa.Column("fleet_id", sa.Uuid(), sa.ForeignKey("comfyui_fleets.id"), primary_key=True),
    # The digest and the providers in one text.
    sa.Column("kind", sa.Text(), primary_key=True),
    # None: its workers said nothing.
    sa.Column("capability_digest", sa.Text(), nullable=True, index=True),
    sa.Column("providers", Json, nullable=False),
    sa.Column("seen_at", UtcTime(), nullable=False),
)

comfyui_workflow_fleets = sa.Table(
    "comfyui_workflow_fleets",
    CENTRAL,
    sa.Column("fleet_id", sa.Uuid(), sa.ForeignKey("comfyui_fleets.id"), primary_key=True),
    sa.Column("workflow_id", sa.Uuid(), sa.ForeignKey("workflows.id"), primary_key=True),
    sa.Column("is_active", sa.Boolean(), nullable=False),
    created_at(),
)

fleet_secrets = sa.Table(
    "fleet_secrets",
    CENTRAL,
    id_column(),
    sa.Column("name", sa.Text(), nullable=False),
    sa.Column("secret_hash", sa.Text(), nullable=False, unique=True),
    sa.Column("retired_at", UtcTime(), nullable=True),
    created_at(),
    # The one fleet it opens; none: any.
    sa.Column("fleet_id", sa.Uuid(), sa.ForeignKey("comfyui_fleets.id"), nullable=True),
    # Whether workers may name workflows of their own. None: made before secrets had a scope; it opens everything.
    sa.Column("allows_workflows", sa.Boolean(), nullable=True),
)

comfyui_workers = sa.Table(
    "comfyui_workers",
    CENTRAL,
    id_column(),
    sa.Column("worker_id", sa.Text(), nullable=False, unique=True),
    sa.Column("fleet_id", sa.Uuid(), sa.ForeignKey("comfyui_fleets.id"), nullable=True, index=True),
    sa.Column("registration_source", sa.Text(), nullable=False),
    sa.Column("status", sa.Text(), nullable=False),
    sa.Column("is_approved", sa.Boolean(), nullable=False),
    sa.Column("is_draining", sa.Boolean(), nullable=False),
    # A take-over of the same worker_id is a new incarnation; whatever the old one sends is refused.
    sa.Column("incarnation", sa.BigInteger(), nullable=False),
    sa.Column("token_hash", sa.Text(), nullable=False, unique=True),
    sa.Column("boot_id", sa.Text(), nullable=True),
    sa.Column("capabilities", Json, nullable=False),
    sa.Column("providers", Json, nullable=False),
    sa.Column("max_concurrency", sa.Integer(), nullable=False),
    sa.Column("current_load", sa.Integer(), nullable=False),
    sa.Column("address", sa.Text(), nullable=False),
    sa.Column("takeovers", sa.Integer(), nullable=False),
    sa.Column("takeovers_since", UtcTime(), nullable=True),
    sa.Column("last_seen_at", UtcTime(), nullable=False),
    created_at(),
    # Of the long lists among its capabilities; none: it said none.
    sa.Column("capability_digest", sa.Text(), nullable=True, index=True),
    # An operator's word, kept while the worker is away: it comes back as one that drains.
    sa.Column("drained_at", UtcTime(), nullable=True),
    one_of("status", ["pending", "approved", "draining", "revoked", "gone"]),
    one_of("registration_source", ["fleet"]),
    # The seeds' two columns say the same as the status: they are kept for whoever reads them.
    sa.CheckConstraint("is_approved = (status IN ('approved', 'draining'))", name="approved_follows_status"),
    sa.CheckConstraint("is_draining = (status = 'draining')", name="draining_follows_status"),
    sa.CheckConstraint("max_concurrency BETWEEN 1 AND 1000", name="max_concurrency"),
)

# Workers made from one image have thousands of node classes in common: what a digest names is kept once.
capability_lists = sa.Table(
    "capability_lists",
    CENTRAL,
    sa.Column("digest", sa.Text(), primary_key=True),
    sa.Column("lists", Json, nullable=False),
    created_at(),
)

worker_workflows = sa.Table(
    "worker_workflows",
    CENTRAL,
    sa.Column("worker_id", sa.Uuid(), sa.ForeignKey("comfyui_workers.id"), primary_key=True),
    sa.Column("workflow_id", sa.Uuid(), sa.ForeignKey("workflows.id"), primary_key=True),
)

# What servers say of their node classes, by the digest of what they said; the words themselves are in the object store.
node_definitions = sa.Table(
    "node_definitions",
    CENTRAL,
    sa.Column("digest", sa.Text(), primary_key=True),
    # Who reported them first; a name, because it may be gone since.
    sa.Column("worker_id", sa.Text(), nullable=False, index=True),
    sa.Column("classes", sa.Integer(), nullable=False),
    sa.Column("size_bytes", sa.Integer(), nullable=False),
    created_at(),
    sa.Column("seen_at", UtcTime(), nullable=False, index=True),
)
