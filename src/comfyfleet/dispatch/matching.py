"""Which waiting dispatch goes to which asking worker. Pure: the server, the tests and the simulator run the same lines.

Inside a lane the database has the order already (fair tag, then age). Here the heads of the lanes are compared:
by aged priority, then by how long they wait. A worker takes what it has warm first, within a bounded window.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from comfyfleet.dispatch.model import Ask
from comfyfleet.kernel.ids import DispatchId, LaneId, TenantId, WorkerId

AGE_PER_CLASS_S = 300.0
AGED_CLASSES_MAX = 20
AFFINITY_WINDOW_S = 30.0
# How far into a lane to look past rows of tenants that are blocked on this worker.
SKIPPED_ROWS_MAX = 32
# A fault of the server itself keeps everything away from it.
EVERY_STRUCTURE = "*"


@dataclass(frozen=True, slots=True)
class Head:
    """A row near the front of its lane."""

    id: DispatchId
    lane: LaneId
    tenant_id: TenantId
    structure_hash: str
    priority: int
    waited_s: float
    epoch: int
    run_deadline_s: float
    attempts: int = 0
    fair_tag: float = 0.0
    seq: int = 0


@dataclass(frozen=True, slots=True)
class Block:
    """This worker keeps away from this structure: all tenants', or one tenant's jobs of it."""

    structure_hash: str
    tenant_id: TenantId | None
    half_open: bool  # the cooldown is over: exactly one probe may go through
    probing: bool


@dataclass(frozen=True, slots=True)
class Pairing:
    ask: Ask
    head: Head
    probes: str | None  # the structure hash of the half-open block that this one tries


def aged_priority(priority: int, waited_s: float) -> int:
    """Waiting lifts a job, so that a low priority is never starved; no row is rewritten for it."""
    return priority + min(AGED_CLASSES_MAX, int(max(0.0, waited_s) // AGE_PER_CLASS_S))


def match(
    asks: Sequence[Ask],
    heads: Sequence[Head],
    blocks: Mapping[WorkerId, Sequence[Block]],
    *,
    cut: Container[LaneId] = (),
) -> list[Pairing]:
    """Each ask gets at most one; `heads` come in order within their lane.

    Of a lane in `cut` more rows wait than were read. Once its rows are given away, nobody who could have taken the
    next one is served something lesser instead: such asks get nothing, and the caller looks again.
    """
    waiting: dict[LaneId, list[Head]] = {}
    for head in reversed(heads):
        waiting.setdefault(head.lane, []).append(head)
    probed: set[tuple[WorkerId, str]] = set()
    pairings = []
    for ask in asks:
        if any(lane in cut and not waiting[lane] for lane in ask.lanes):
            continue
        pairing = _choose(ask, waiting, blocks.get(ask.holder.worker_id, ()), probed)
        if pairing is None:
            continue
        waiting[pairing.head.lane].remove(pairing.head)
        if pairing.probes is not None:
            probed.add((ask.holder.worker_id, pairing.probes))
        pairings.append(pairing)
    return pairings


def _choose(
    ask: Ask, waiting: Mapping[LaneId, list[Head]], blocks: Sequence[Block], probed: set[tuple[WorkerId, str]]
) -> Pairing | None:
    by_hash = {block.structure_hash: block for block in blocks}
    fronts: list[tuple[Head, str | None]] = []
    for lane in ask.lanes:
        rows = waiting.get(lane)
        if not rows:
            continue
        if not blocks:
            fronts.append((rows[-1], None))
            continue
        block = by_hash.get(EVERY_STRUCTURE) or by_hash.get(rows[-1].structure_hash)
        if block is not None and (ask.holder.worker_id, block.structure_hash) in probed:
            block = Block(block.structure_hash, block.tenant_id, half_open=False, probing=True)
        front = _front(rows, block)
        if front is not None:
            fronts.append(front)
    if not fronts:
        return None
    best = max(fronts, key=lambda front: _rank(front[0]))
    if ask.warm and best[0].waited_s < AFFINITY_WINDOW_S:
        level = aged_priority(best[0].priority, best[0].waited_s)
        warm = [
            front
            for front in fronts
            if front[0].structure_hash in ask.warm and aged_priority(front[0].priority, front[0].waited_s) == level
        ]
        best = max(warm, key=lambda front: _rank(front[0]), default=best)
    return Pairing(ask, *best)


def _front(rows: Sequence[Head], block: Block | None) -> tuple[Head, str | None] | None:
    """The first row this worker may take, and the half-open block it would probe, if it does. The last is first."""
    if block is None:
        return rows[-1], None
    may_probe = block.half_open and not block.probing
    for row in reversed(rows[-SKIPPED_ROWS_MAX:]):
        blocked = block.tenant_id is None or block.tenant_id == row.tenant_id
        if not blocked:
            return row, None
        if may_probe:
            return row, block.structure_hash
    return None


def _rank(head: Head) -> tuple[int, float, int]:
    return aged_priority(head.priority, head.waited_s), head.waited_s, -head.id.int
