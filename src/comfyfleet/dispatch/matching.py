"""Which waiting dispatch goes to which asking worker. Pure: the server, the tests and the simulator run the same lines.

Inside a lane the database has the order already (fair tag, then age). Here the heads of the lanes are compared:
by aged priority, then by whose turn it is, then by age. A worker takes what it has warm first, within a bounded window.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import Struct

from comfyfleet.dispatch.model import Ask
from comfyfleet.dispatch.turns import Turns
from comfyfleet.kernel.ids import DispatchId, LaneId, TenantId, WorkerId

# How far into a lane to look past rows of tenants that are blocked on this worker.
SKIPPED_ROWS_MAX = 32
# A fault of the server itself keeps everything away from it.
EVERY_STRUCTURE = "*"


@dataclass(frozen=True, slots=True)
class Leanings:
    """What the choice weighs. Named, so that a simulation can ask what would be without one of them."""

    age_per_class_s: float = 300.0
    aged_classes_max: int = 20
    # A front is passed over for a warm one no longer than this …
    affinity_window_s: float = 30.0
    # … and only while the warm lane is ahead of its turn by less than this much GPU time.
    affinity_lead_s: float = 120.0


LEANINGS = Leanings()


class Head(Struct, frozen=True, eq=False, gc=False):
    """A row near the front of its lane. Compared as an object: each was read once."""

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


class Pairing(Struct, frozen=True, eq=False):
    ask: Ask
    head: Head
    probes: str | None  # the structure hash of the half-open block that this one tries


def aged_priority(priority: int, waited_s: float, leanings: Leanings = LEANINGS) -> int:
    """Waiting lifts a job, so that a low priority is never starved; no row is rewritten for it."""
    classes = max(0.0, waited_s) // leanings.age_per_class_s
    return priority + int(min(leanings.aged_classes_max, classes))


def match(
    asks: Sequence[Ask],
    heads: Sequence[Head],
    blocks: Mapping[WorkerId, Sequence[Block]],
    turns: Turns,
    *,
    cut: Collection[LaneId] = (),
    leanings: Leanings = LEANINGS,
) -> list[Pairing]:
    """Each ask gets at most one; `heads` come in order within their lane. Who is warm for its turn chooses first.

    Of a lane in `cut` more rows wait than were read. Once its rows are given away, nobody who could have taken the
    next one is served something lesser instead: such asks get nothing, and the caller looks again.
    """
    matching = _Matching(blocks, turns, frozenset(cut), leanings)
    for head in reversed(heads):
        matching.waiting.setdefault(head.lane, []).append(head)
    turns.rest(frozenset().union(*(ask.lanes for ask in asks)) - matching.waiting.keys())
    cold = [ask for ask in asks if not (ask.warm and matching.pair(ask, warm_only=True))]
    for ask in cold:
        matching.pair(ask)
    return matching.pairings


@dataclass(slots=True)
class _Matching:
    blocks: Mapping[WorkerId, Sequence[Block]]
    turns: Turns
    cut: frozenset[LaneId]
    leanings: Leanings
    # The next row of a lane is the last of its list.
    waiting: dict[LaneId, list[Head]] = field(default_factory=dict)
    probed: set[tuple[WorkerId, str]] = field(default_factory=set)
    pairings: list[Pairing] = field(default_factory=list)

    def pair(self, ask: Ask, *, warm_only: bool = False) -> bool:
        lanes = self.waiting.keys() & ask.lanes
        if self.cut and not self.cut.isdisjoint(ask.lanes - lanes):
            return False
        blocks = self._blocks(ask)
        if not blocks:
            fronts = [self.waiting[lane][-1] for lane in lanes]
        else:
            fronts = [front for lane in lanes if (front := _front(self.waiting[lane], blocks)) is not None]
        if not fronts:
            return False
        head = self._choose(ask, fronts)
        if warm_only and head.structure_hash not in ask.warm:
            return False
        self._take(Pairing(ask, head, _probed_block(head, blocks) if blocks else None))
        return True

    def _blocks(self, ask: Ask) -> dict[str, Block]:
        found = self.blocks.get(ask.holder.worker_id, ())
        return {block.structure_hash: self._seen(ask, block) for block in found}

    def _seen(self, ask: Ask, block: Block) -> Block:
        """The block, with the probe that another ask of this worker has just been given."""
        if (ask.holder.worker_id, block.structure_hash) not in self.probed:
            return block
        return Block(block.structure_hash, block.tenant_id, half_open=False, probing=True)

    def _choose(self, ask: Ask, fronts: list[Head]) -> Head:
        peers = _most_urgent(fronts, self.leanings)
        places = self.turns.places(peers)
        place, best = _next(places, peers)
        if not ask.warm or best.structure_hash in ask.warm:
            return best
        limit = place + self.leanings.affinity_lead_s
        warm = [at for at, head in enumerate(peers) if head.structure_hash in ask.warm and places[at] < limit]
        if not warm or self.turns.passed_over_s(best) >= self.leanings.affinity_window_s:
            return best
        return _next([places[at] for at in warm], [peers[at] for at in warm])[1]

    def _take(self, pairing: Pairing) -> None:
        rows = self.waiting[pairing.head.lane]
        if rows[-1] is pairing.head:
            rows.pop()
        else:
            rows.remove(pairing.head)
        if not rows:
            del self.waiting[pairing.head.lane]
        if pairing.probes is not None:
            self.probed.add((pairing.ask.holder.worker_id, pairing.probes))
        self.pairings.append(pairing)


def _next(places: list[float], heads: list[Head]) -> tuple[float, Head]:
    """The smallest place; of several, the row that waits longest, then the one with the smaller id."""
    place = min(places)
    if places.count(place) == 1:
        return place, heads[places.index(place)]
    level = [head for at, head in zip(places, heads, strict=True) if at == place]
    return place, min(level, key=lambda head: (-head.waited_s, head.id))


def _most_urgent(fronts: list[Head], leanings: Leanings) -> list[Head]:
    """Those of one priority: the one whose oldest front has, with its age, the highest.

    Age lifts a priority as a whole. If it lifted single rows, a long row of one tenant would grow old together, and
    go before every newcomer of the same priority.
    """
    if len({front.priority for front in fronts}) == 1:
        return fronts
    chosen = max(fronts, key=lambda head: (aged_priority(head.priority, head.waited_s, leanings), head.waited_s))
    return [front for front in fronts if front.priority == chosen.priority]


def _front(rows: Sequence[Head], blocks: Mapping[str, Block]) -> Head | None:
    """The first row of a lane that this worker may take."""
    block = _block_on(rows[-1], blocks)
    if block is None or (block.half_open and not block.probing):
        return rows[-1]
    if block.tenant_id is None:
        return None
    return next((row for row in reversed(rows[-SKIPPED_ROWS_MAX:]) if row.tenant_id != block.tenant_id), None)


def _probed_block(head: Head, blocks: Mapping[str, Block]) -> str | None:
    """The half-open block that this row would try."""
    block = _block_on(head, blocks)
    return block.structure_hash if block is not None and block.tenant_id in (None, head.tenant_id) else None


def _block_on(head: Head, blocks: Mapping[str, Block]) -> Block | None:
    return blocks.get(EVERY_STRUCTURE) or blocks.get(head.structure_hash)
