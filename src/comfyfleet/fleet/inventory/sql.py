"""Statements over what fleets have."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from comfyfleet.db.dialect import SecondsBetween
from comfyfleet.db.tables import fleet_inventories
from comfyfleet.kernel.ids import FleetId

i = fleet_inventories


def keep(
    fleet_id: FleetId,
    kind: str,
    *,
    capability_digest: str | None,
    providers: list[str],
    seen_at: datetime | sa.ColumnElement[Any],
) -> sa.Insert:
    values = {
        "fleet_id": fleet_id,
        "kind": kind,
        "capability_digest": capability_digest,
        "providers": providers,
        "seen_at": seen_at,
    }
    insert = postgresql.insert(i).values(**values)
    return insert.on_conflict_do_update(
        index_elements=[i.c.fleet_id, i.c.kind],
        set_={"seen_at": insert.excluded.seen_at},
        where=i.c.seen_at < insert.excluded.seen_at,
    )


def drop_old(fleet_id: FleetId, *, kinds: int, outdated_s: float) -> sa.Delete:
    """All but the latest few, and what is much older than the latest."""
    other = i.alias("other")
    of_fleet = sa.select(other.c.kind).where(other.c.fleet_id == fleet_id)
    latest = of_fleet.order_by(other.c.seen_at.desc(), other.c.kind).limit(kinds)
    newest = sa.select(sa.func.max(other.c.seen_at)).where(other.c.fleet_id == fleet_id).scalar_subquery()
    return sa.delete(i).where(
        i.c.fleet_id == fleet_id,
        sa.or_(i.c.kind.not_in(latest), SecondsBetween(i.c.seen_at, newest) > outdated_s),
    )
