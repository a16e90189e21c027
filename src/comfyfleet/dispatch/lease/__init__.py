"""Workers ask, and get what they may run: see who asks and what waits, choose, then claim."""

import math
import secrets
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec import Struct

from comfyfleet.db import ControlTx
from comfyfleet.db.dialect import batch, ordered_batch
from comfyfleet.dispatch import blocks
from comfyfleet.dispatch.floors import GROUND, Floors
from comfyfleet.dispatch.lanes import LaneBook
from comfyfleet.dispatch.lease import sql
from comfyfleet.dispatch.lifecycle import TAKEN
from comfyfleet.dispatch.matching import SKIPPED_ROWS_MAX, Head, Pairing, match
from comfyfleet.dispatch.model import Ask, Grant, Holder, Lane, QueueRules
from comfyfleet.dispatch.tokens import LeaseSigner
from comfyfleet.dispatch.turns import Turns
from comfyfleet.kernel.ids import DispatchId, LaneId, WorkerId
from comfyfleet.kernel.secret import Secret

NONCE_BYTES = 12
# More heads than are likely to be taken: another replica may be at the same lanes.
SPARE_HEADS = 1
# Looking again finds what stands behind the rows of the first look.
LOOKS_MAX = 4


@dataclass(frozen=True, slots=True)
class Leasing:
    """What one process leases with. Lanes, floors and turns are its memory of the queue, and may be new and empty."""

    signer: LeaseSigner
    rules: QueueRules
    book: LaneBook = field(default_factory=LaneBook)
    floors: Floors | None = None
    turns: Turns = field(default_factory=Turns)


@dataclass(frozen=True, slots=True)
class Leased:
    grants: dict[Ask, Grant]
    # Where somebody still waits, for whoever can take it; or may wait, where nobody who asked could take anything.
    waiting: frozenset[LaneId]


async def lease_dispatches(tx: ControlTx, polls: Sequence[Ask], leasing: Leasing) -> Leased:
    """At most one lease per ask. The caller holds the workers: two at once must not pass anybody's limit."""
    asks, echoes = _once(polls)
    asked = frozenset[LaneId]().union(*(ask.lanes for ask in asks))
    held = await tx.all(sql.open_leases(), rows=batch([{"worker_id": each} for each in _workers(asks)]))
    await leasing.book.know(tx, asked.union(row.lane for row in held))
    granted = await _answer_again(tx, asks, held, leasing)
    left = _with_room([ask for ask in asks if ask not in granted and ask.lanes], held)
    blocked = await blocks.blocks_of(tx, _workers(left)) if left else {}
    lanes = frozenset[LaneId]().union(*(ask.lanes for ask in left))
    unseen, waiting = asked - lanes, frozenset[LaneId]()
    for _ in range(LOOKS_MAX):
        if not left:
            break
        heads, cut = await _look(tx, left, lanes, leasing, past_blocks=bool(blocked))
        pairings = match(left, heads, blocked, leasing.turns, cut=cut)
        allowed = [each for each in pairings if await _may_probe(tx, each)]
        claimed = await _claim(tx, allowed, leasing)
        await _give_up_probes(tx, [each for each in allowed if each.ask not in claimed])
        taken = {pairing.head for pairing in pairings}
        if leasing.floors is not None:
            leasing.floors.rise(heads, taken)
        granted |= claimed
        left = _unlucky(left, claimed, pairings, cut)
        lanes = frozenset(head.lane for head in heads)
        waiting = frozenset(cut) | {head.lane for head in heads if head not in taken}
    granted |= {echo: granted[first] for echo, first in echoes.items() if first in granted}
    return Leased(granted, waiting | unseen)


def _once(asks: Sequence[Ask]) -> tuple[list[Ask], dict[Ask, Ask]]:
    """A poll that is sent again while the first still stands is one poll: the second gets the first one's answer."""
    said: dict[tuple[Holder, str], Ask] = {}
    echoes = {}
    for ask in asks:
        if ask.poll_id is not None and (first := said.setdefault((ask.holder, ask.poll_id), ask)) is not ask:
            echoes[ask] = first
    return [ask for ask in asks if ask not in echoes], echoes


async def count_heads(tx: ControlTx, lanes: Collection[LaneId], *, each: int) -> dict[LaneId, int]:
    """How many wait in each of these lanes, counted up to `each`; empty lanes are missing."""
    wanted = [{"lane": lane, "floor_tag": GROUND[0], "floor_seq": GROUND[1]} for lane in lanes]
    return (
        dict(Counter(row.lane for row in await tx.all(sql.heads(tenants=False), rows=batch(wanted), each=each)))
        if wanted
        else {}
    )


def _unlucky(
    asks: Sequence[Ask], claimed: Mapping[Ask, Grant], pairings: Sequence[Pairing], cut: Collection[LaneId]
) -> list[Ask]:
    """Those that another replica was faster than, and those whose next job stands behind what was read."""
    lost = {pairing.ask for pairing in pairings} - claimed.keys()
    return [ask for ask in asks if ask in lost or (ask not in claimed and not ask.lanes.isdisjoint(cut))]


async def _look(
    tx: ControlTx, asks: Sequence[Ask], lanes: frozenset[LaneId], leasing: Leasing, *, past_blocks: bool
) -> tuple[list[Head], set[LaneId]]:
    """The first rows of the lanes, about as many as these asks will take; and the lanes that have more."""
    each = _rows_wanted(asks, lanes) + (SKIPPED_ROWS_MAX if past_blocks else 0)
    floors, book = leasing.floors, leasing.book
    wanted = []
    for lane in lanes:
        tag, seq = floors.of(lane) if floors is not None else GROUND
        wanted.append({"lane": lane, "floor_tag": tag, "floor_seq": seq})
    rows = await tx.all(sql.heads(tenants=past_blocks), rows=batch(wanted), each=each) if wanted else []
    heads = [_head(book[row.lane], row) for row in rows]
    counts = Counter(head.lane for head in heads)
    return heads, {lane for lane, count in counts.items() if count == each}


def _head(lane: Lane, row: Any) -> Head:
    head_id, _, tenant_id, waited_s, epoch, deadline_s, attempts, tag, seq = row
    return Head(
        head_id, lane.id, tenant_id, lane.structure_hash, lane.priority, waited_s, epoch, deadline_s, attempts, tag, seq
    )


def _rows_wanted(asks: Sequence[Ask], lanes: frozenset[LaneId]) -> int:
    """Twice what a lane gives if all give the same. Where more is asked of one, there is another look."""
    return math.ceil(2 * len(asks) / max(1, len(lanes))) + SPARE_HEADS


def _with_room(asks: Sequence[Ask], held: Sequence[Any]) -> list[Ask]:
    """Drop the asks of workers that hold as many leases as they may; several asks of one worker count together."""
    counts: dict[WorkerId, int] = Counter(row.worker_id for row in held)
    roomy = []
    for ask in asks:
        count = counts.get(ask.holder.worker_id, 0)
        if count < ask.leases_max:
            counts[ask.holder.worker_id] = count + 1
            roomy.append(ask)
    return roomy


async def _may_probe(tx: ControlTx, pairing: Pairing) -> bool:
    if pairing.probes is None:
        return True
    head = pairing.head
    return await blocks.start_probe(
        tx, pairing.ask.holder.worker_id, pairing.probes, head.id, probe_s=head.run_deadline_s
    )


async def _give_up_probes(tx: ControlTx, lost: Sequence[Pairing]) -> None:
    """Another replica was faster: what it took is no probe of this worker, and the next job may be."""
    for pairing in lost:
        if pairing.probes is not None:
            await blocks.give_up_probe(tx, pairing.ask.holder.worker_id, pairing.probes, pairing.head.id)


async def _claim(tx: ControlTx, pairings: Sequence[Pairing], leasing: Leasing) -> dict[Ask, Grant]:
    if not pairings:
        return {}
    offers = {pairing.head.id: _offer(pairing, number, leasing) for number, pairing in enumerate(pairings)}
    rows = ordered_batch([offer.row() for offer in offers.values()])
    found = {row.id: row for row in await tx.all(sql.claim(), rows=rows, grace_s=leasing.rules.grace_s)}
    claimed = [offers[each] for each in found]
    if not claimed:
        return {}
    if len(claimed) < len(offers):
        rows = batch([offer.row() for offer in claimed])
    await tx.run(sql.insert_attempts(), rows=rows)
    payloads = {row.n: row.payload for row in await tx.all(sql.payloads(), rows=rows)}
    waits = await _waits(tx, [offer for offer in claimed if found[offer.pairing.head.id].traceparent is not None])
    return {
        offer.pairing.ask: offer.grant(payloads[offer.number], found[offer.pairing.head.id], waits, leasing)
        for offer in claimed
    }


async def _waits(tx: ControlTx, traced: Sequence["_Offer"]) -> dict[DispatchId, float]:
    """How long each has waited for this lease: since it was queued, or since its last attempt ended."""
    again = [{"id": each.pairing.head.id, "epoch": each.pairing.head.epoch + 1} for each in traced if each.is_retry]
    ends = {row.dispatch_id: row.ago_s for row in await tx.all(sql.last_ends(), rows=batch(again))} if again else {}
    return {head.id: ends.get(head.id, head.waited_s) for head in (each.pairing.head for each in traced)}


class _Offer(Struct, frozen=True):
    """A lease as it is about to be claimed."""

    pairing: Pairing
    number: int  # in its batch
    nonce: str
    token: Secret

    @property
    def is_retry(self) -> bool:
        return self.pairing.head.epoch > 0

    def row(self) -> dict[str, Any]:
        """For all statements that follow."""
        head, ask = self.pairing.head, self.pairing.ask
        return {
            "n": self.number,
            "id": head.id,
            "epoch": head.epoch + 1,
            "lease_hash": self.token.digest(),
            "worker_id": ask.holder.worker_id,
            "incarnation": ask.holder.incarnation,
            "nonce": self.nonce,
            "poll_id": ask.poll_id,
            "service_status": None if ask.begins else TAKEN,
        }

    def grant(self, payload: bytes, row: Any, waits: Mapping[DispatchId, float], leasing: Leasing) -> Grant:
        head = self.pairing.head
        return Grant(
            dispatch_id=head.id,
            tenant_id=row.tenant_id,
            lane=leasing.book[head.lane],
            attempt=head.attempts + 1,
            epoch=head.epoch + 1,
            nonce=self.nonce,
            token=self.token,
            grace_s=leasing.rules.grace_s,
            deadline_s=head.run_deadline_s,
            payload=payload,
            traceparent=row.traceparent,
            waited_s=waits.get(head.id),
        )


def _offer(pairing: Pairing, number: int, leasing: Leasing) -> _Offer:
    head, holder = pairing.head, pairing.ask.holder
    nonce = secrets.token_hex(NONCE_BYTES)
    token = leasing.signer.token(
        head.id, epoch=head.epoch + 1, nonce=nonce, worker_id=holder.worker_id, incarnation=holder.incarnation
    )
    return _Offer(pairing, number, nonce, token)


async def read_payloads(tx: ControlTx, dispatch_ids: Sequence[DispatchId]) -> dict[DispatchId, bytes]:
    """As they were leased."""
    asked = batch([{"n": number, "id": each} for number, each in enumerate(dispatch_ids)])
    return {dispatch_ids[row.n]: row.payload for row in await tx.all(sql.payloads(), rows=asked)}


async def _answer_again(tx: ControlTx, asks: Sequence[Ask], held: Sequence[Any], leasing: Leasing) -> dict[Ask, Grant]:
    """A poll that comes again got its lease the first time; only the reply was lost."""
    polls = {(ask.holder, ask.poll_id): ask for ask in asks if ask.poll_id is not None}
    found = {}
    for row in held:
        ask = polls.get((Holder(row.worker_id, row.incarnation), row.poll_id))
        if ask is not None:
            found[ask] = row
    if not found:
        return {}
    asked = batch([{"n": number, "id": row.id} for number, row in enumerate(found.values())])
    payloads = {row.n: row.payload for row in await tx.all(sql.payloads(), rows=asked)}
    return {ask: _granted_before(row, payloads[number], leasing) for number, (ask, row) in enumerate(found.items())}


def _granted_before(row: Any, payload: bytes, leasing: Leasing) -> Grant:
    return Grant(
        dispatch_id=row.id,
        tenant_id=row.tenant_id,
        lane=leasing.book[row.lane],
        attempt=row.attempts,
        epoch=row.epoch,
        nonce=row.nonce,
        token=leasing.signer.token(
            row.id, epoch=row.epoch, nonce=row.nonce, worker_id=row.worker_id, incarnation=row.incarnation
        ),
        grace_s=leasing.rules.grace_s,
        deadline_s=row.deadline_s,
        payload=payload,
        traceparent=row.traceparent,
    )


def _workers(asks: Sequence[Ask]) -> list[WorkerId]:
    return list({ask.holder.worker_id for ask in asks})
