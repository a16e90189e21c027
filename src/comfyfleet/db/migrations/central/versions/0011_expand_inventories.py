"""What a fleet's machines have is known while it has none; fleets scale from zero, and effects wait for a worker."""

import sqlalchemy as sa
from alembic import op

from comfyfleet.db.types import Json, UtcTime

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

KINDS_MAX = 8


def upgrade() -> None:
    op.add_column(
        "comfyui_fleets", sa.Column("scales_from_zero", sa.Boolean(), nullable=False, server_default=sa.false())
    )
    op.add_column("effects", sa.Column("waits_for_worker", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.create_table(
        "fleet_inventories",
        sa.Column("fleet_id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("capability_digest", sa.Text(), nullable=True),
        sa.Column("providers", Json, nullable=False),
        sa.Column("seen_at", UtcTime(), nullable=False),
        sa.ForeignKeyConstraint(["fleet_id"], ["comfyui_fleets.id"], name=op.f("fk_fleet_inventories_fleet_id")),
        sa.PrimaryKeyConstraint("fleet_id", "kind", name=op.f("pk_fleet_inventories")),
    )
    op.create_index(op.f("ix_fleet_inventories_capability_digest"), "fleet_inventories", ["capability_digest"])
    _note_what_is_known()


def _note_what_is_known() -> None:
    """From the workers that there are, at work or gone."""
    workers = sa.table(
        "comfyui_workers",
        sa.column("fleet_id", sa.Uuid()),
        sa.column("status", sa.Text()),
        sa.column("capability_digest", sa.Text()),
        sa.column("providers", Json),
        sa.column("last_seen_at", UtcTime()),
    )
    inventories = sa.table(
        "fleet_inventories",
        sa.column("fleet_id", sa.Uuid()),
        sa.column("kind", sa.Text()),
        sa.column("capability_digest", sa.Text()),
        sa.column("providers", Json),
        sa.column("seen_at", UtcTime()),
    )
    known = (
        sa.select(workers)
        .where(workers.c.fleet_id.is_not(None), workers.c.status.in_(["approved", "draining", "gone"]))
        .order_by(workers.c.last_seen_at.desc())
    )
    rows: dict[tuple[object, str], dict[str, object]] = {}
    kinds: dict[object, int] = {}
    for each in op.get_bind().execute(known):
        kind = f"{each.capability_digest or 'unknown'} {','.join(sorted(each.providers))}"
        if (each.fleet_id, kind) in rows or kinds.get(each.fleet_id, 0) >= KINDS_MAX:
            continue
        kinds[each.fleet_id] = kinds.get(each.fleet_id, 0) + 1
        rows[each.fleet_id, kind] = {
            "fleet_id": each.fleet_id,
            "kind": kind,
            "capability_digest": each.capability_digest,
            "providers": each.providers,
            "seen_at": each.last_seen_at,
        }
    if rows:
        op.bulk_insert(inventories, list(rows.values()))
