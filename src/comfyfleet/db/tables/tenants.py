"""Central: who there is."""

import sqlalchemy as sa

from comfyfleet.db.tables.base import CENTRAL, created_at, id_column, one_of
from comfyfleet.db.types import Json, UtcTime

tenants = sa.Table(
    "tenants",
    CENTRAL,
    id_column(),
    sa.Column("slug", sa.Text(), nullable=False, unique=True),
    sa.Column("name", sa.Text(), nullable=False),
    sa.Column("pool", sa.Text(), nullable=False),
    sa.Column("weight", sa.Integer(), nullable=False),
    sa.Column("status", sa.Text(), nullable=False),
    created_at(),
    # How far ahead of its own jobs it may push one; null: as the settings say.
    sa.Column("priority_max", sa.Integer(), nullable=True),
    # Of its files together; null: as the settings say.
    sa.Column("storage_bytes_max", sa.BigInteger(), nullable=True),
    one_of("status", ["active", "suspended"]),
    sa.CheckConstraint("weight BETWEEN 1 AND 1000", name="weight"),
)

users = sa.Table(
    "users",
    CENTRAL,
    id_column(),
    sa.Column("tenant_id", sa.Uuid(), sa.ForeignKey("tenants.id"), nullable=True, index=True),
    sa.Column("email", sa.Text(), nullable=False, unique=True),
    sa.Column("role", sa.Text(), nullable=False),
    sa.Column("status", sa.Text(), nullable=False),
    sa.Column("password_hash", sa.Text(), nullable=True),
    created_at(),
    one_of("role", ["member", "admin", "operator"]),
    one_of("status", ["invited", "active", "disabled"]),
    # Operators belong to the installation, everybody else to exactly one tenant.
    sa.CheckConstraint("(role = 'operator') = (tenant_id IS NULL)", name="operator_without_tenant"),
)

api_keys = sa.Table(
    "api_keys",
    CENTRAL,
    id_column(),
    sa.Column("user_id", sa.Uuid(), sa.ForeignKey("users.id"), nullable=False, index=True),
    sa.Column("name", sa.Text(), nullable=False),
    sa.Column("prefix", sa.Text(), nullable=False, unique=True),
    sa.Column("secret_hash", sa.Text(), nullable=False),
    sa.Column("scopes", Json, nullable=False),
    sa.Column("expires_at", UtcTime(), nullable=True),
    sa.Column("revoked_at", UtcTime(), nullable=True),
    sa.Column("last_used_at", UtcTime(), nullable=True),
    created_at(),
    # By what it was made: a key, a web session, or the command line; and the id of that key or session. None: made
    # before this was noted.
    sa.Column("made_via", sa.Text(), nullable=True),
    sa.Column("made_by", sa.Uuid(), nullable=True),
)

web_sessions = sa.Table(
    "web_sessions",
    CENTRAL,
    id_column(),
    sa.Column("user_id", sa.Uuid(), sa.ForeignKey("users.id"), nullable=False, index=True),
    sa.Column("secret_hash", sa.Text(), nullable=False, unique=True),
    sa.Column("address", sa.Text(), nullable=False),
    sa.Column("expires_at", UtcTime(), nullable=False),
    sa.Column("ended_at", UtcTime(), nullable=True),
    created_at(),
)

one_time_links = sa.Table(
    "one_time_links",
    CENTRAL,
    id_column(),
    sa.Column("user_id", sa.Uuid(), sa.ForeignKey("users.id"), nullable=False, index=True),
    sa.Column("purpose", sa.Text(), nullable=False),
    sa.Column("expires_at", UtcTime(), nullable=False),
    sa.Column("spent_at", UtcTime(), nullable=True),
    created_at(),
    one_of("purpose", ["invite", "password_reset"]),
)
