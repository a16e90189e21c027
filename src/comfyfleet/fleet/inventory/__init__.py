"""What the machines of a fleet have, kept when its workers are gone: so effects can be sold while it has none."""

from typing import Any

from comfyfleet.db import ControlTx
from comfyfleet.db.dialect import now
from comfyfleet.fleet.inventory import sql
from comfyfleet.kernel.ids import FleetId

# A fleet may hold machines of several kinds, and gets others in the course of time.
KINDS_MAX = 8
# What was last seen so long before the fleet's newest machine is no longer started.
OUTDATED_S = 7 * 86_400.0


async def keep_inventory(tx: ControlTx, worker: Any) -> None:
    """Notes what a worker has, by its row. Workers without a fleet and those that may not work leave no note.

    It holds one row: who notes several in one transaction does so in the order of `order_of`.
    """
    if worker.fleet_id is None or not worker.is_approved:
        return
    kept = sql.keep(
        worker.fleet_id,
        _kind(worker.capability_digest, worker.providers),
        capability_digest=worker.capability_digest,
        providers=worker.providers,
        seen_at=worker.last_seen_at,
    )
    await tx.run(kept)


async def note_kind(tx: ControlTx, fleet_id: FleetId, *, capability_digest: str | None, providers: list[str]) -> None:
    """A kind of machine that the fleet has from now on. Idempotent."""
    kind = _kind(capability_digest, providers)
    await tx.run(sql.keep(fleet_id, kind, capability_digest=capability_digest, providers=providers, seen_at=now()))


async def drop_outdated(tx: ControlTx, fleet_id: FleetId) -> None:
    """Only while registrations of the fleet take turns: it holds several rows."""
    await tx.run(sql.drop_old(fleet_id, kinds=KINDS_MAX, outdated_s=OUTDATED_S))


def order_of(worker: Any) -> tuple[str, str]:
    return str(worker.fleet_id), _kind(worker.capability_digest, worker.providers)


def _kind(capability_digest: str | None, providers: list[str]) -> str:
    return f"{capability_digest or 'unknown'} {','.join(sorted(providers))}"
