"""What leasing cannot see: jobs that nobody may run, or that everybody is kept away from."""

from collections import defaultdict
from collections.abc import Collection, Sequence

from comfyfleet.db import ControlTx
from comfyfleet.dispatch.matching import EVERY_STRUCTURE
from comfyfleet.dispatch.model import Dispatch, Provider
from comfyfleet.dispatch.waiting import sql
from comfyfleet.dispatch.waiting.model import (
    ALL_BLOCKED,
    NO_WORKER,
    KeptAway,
    Reason,
    Starving,
    Verdict,
    is_of_workers,
    judge,
    none_fit,
)
from comfyfleet.kernel.ids import LaneId, TenantId, WorkerId, new_id

__all__ = [
    "ALL_BLOCKED",
    "NO_WORKER",
    "KeptAway",
    "Reason",
    "Starving",
    "Verdict",
    "is_of_workers",
    "judge",
    "kept_away",
    "none_fit",
    "open_probes",
    "reason_of",
    "starving_lanes",
    "tell_reasons",
]


async def starving_lanes(tx: ControlTx, *, waited_s: float) -> list[Starving]:
    """By the first rows of each lane: where they have waited long, all behind them wait as well."""
    lanes, tenants = {}, defaultdict(set)
    for row in await tx.all(sql.starving(waited_s=waited_s)):
        lanes[LaneId(row.lane)] = row
        tenants[LaneId(row.lane)].add(TenantId(row.tenant_id))
    return [
        Starving(lane, row.workflow_id, row.structure_hash, Provider(row.provider), frozenset(tenants[lane]))
        for lane, row in lanes.items()
    ]


async def kept_away(tx: ControlTx, structure_hashes: Collection[str]) -> dict[WorkerId, list[KeptAway]]:
    found: dict[WorkerId, list[KeptAway]] = defaultdict(list)
    for row in await tx.all(sql.blocks_on(sorted({*structure_hashes, EVERY_STRUCTURE}))):
        block = KeptAway(row.worker_id, row.structure_hash, row.tenant_id, row.created_at, bool(row.opens))
        found[row.worker_id].append(block)
    return found


async def open_probes(tx: ControlTx, probes: Collection[tuple[WorkerId, str]]) -> int:
    """Their cooldown ends now: the next job that fits is the probe, and the only one."""
    opened = 0
    for worker_id, structure_hash in sorted(probes):
        opened += await tx.maybe(sql.open_block(worker_id, structure_hash)) is not None
    return opened


async def tell_reasons(tx: ControlTx, reasons: Sequence[Reason]) -> None:
    """These, and no others: what was told before and is no longer so is forgotten. One caller at a time."""
    await tx.run(sql.forget_reasons())
    rows = [{"id": new_id(), "lane": each.lane, "tenant_id": each.tenant_id, "reason": each.text} for each in reasons]
    if rows:
        await tx.run(sql.insert_reasons(rows))


async def reason_of(tx: ControlTx, dispatch: Dispatch) -> str | None:
    """Why a dispatch that waits does so, in words for its user; None: it only waits its turn."""
    row = await tx.maybe(sql.reason_of(dispatch.lane, dispatch.tenant_id))
    return None if row is None else str(row.reason)
