"""Workers ask, and get what they may run: see who asks and what waits, choose, then claim."""

import secrets
from collections.abc import Sequence
from typing import Any

from comfyfleet.db import ControlTx
from comfyfleet.dispatch import blocks, sql
from comfyfleet.dispatch.matching import SKIPPED_ROWS_MAX, Head, Pairing, match
from comfyfleet.dispatch.model import Ask, Dispatch, Grant, QueueRules
from comfyfleet.dispatch.tokens import LeaseSigner
from comfyfleet.dispatch.turns import Turns
from comfyfleet.kernel.ids import DispatchId, WorkerId
from comfyfleet.kernel.secret import Secret

NONCE_BYTES = 12
# More heads than askers: a few of them may be taken by another replica between looking and claiming.
SPARE_HEADS = 4


async def lease_dispatches(
    tx: ControlTx, asks: Sequence[Ask], *, signer: LeaseSigner, rules: QueueRules, turns: Turns | None = None
) -> dict[Ask, Grant]:
    """At most one lease per ask. The caller holds the workers' rows: two at once must not pass anybody's limit.

    A process that leases again and again hands in the same `turns`: they carry fairness between lanes.
    """
    granted = await _answer_again(tx, asks, signer=signer, rules=rules)
    fresh = await _with_room(tx, [ask for ask in asks if ask not in granted and ask.lanes])
    if not fresh:
        return granted
    blocked = await blocks.blocks_of(tx, _workers(fresh))
    heads = await _look(tx, fresh, past_blocks=bool(blocked))
    pairings = match(fresh, heads, blocked, turns if turns is not None else Turns())
    granted |= await _claim(tx, [each for each in pairings if await _may_probe(tx, each)], signer=signer, rules=rules)
    return granted


async def _look(tx: ControlTx, asks: Sequence[Ask], *, past_blocks: bool) -> list[Head]:
    lanes = sorted({lane for ask in asks for lane in ask.lanes})
    rows = len(asks) + SPARE_HEADS + (SKIPPED_ROWS_MAX if past_blocks else 0)
    return [Head(**row._mapping) for row in await tx.all(sql.heads(lanes, rows=rows))]


async def _with_room(tx: ControlTx, asks: Sequence[Ask]) -> list[Ask]:
    """Drop the asks of workers that hold as many leases as they may; several asks of one worker count together."""
    if not asks:
        return []
    held: dict[WorkerId, int] = {row.worker_id: row.held for row in await tx.all(sql.open_leases(_workers(asks)))}
    roomy = []
    for ask in asks:
        count = held.get(ask.holder.worker_id, 0)
        if count < ask.leases_max:
            held[ask.holder.worker_id] = count + 1
            roomy.append(ask)
    return roomy


async def _may_probe(tx: ControlTx, pairing: Pairing) -> bool:
    if pairing.probes is None:
        return True
    head = pairing.head
    return await blocks.start_probe(
        tx, pairing.ask.holder.worker_id, pairing.probes, head.id, probe_s=head.run_deadline_s
    )


async def _claim(
    tx: ControlTx, pairings: Sequence[Pairing], *, signer: LeaseSigner, rules: QueueRules
) -> dict[Ask, Grant]:
    if not pairings:
        return {}
    offers = {pairing.head.id: _offer(pairing, signer) for pairing in pairings}
    keys = [offer["key"] for offer in offers.values()]
    claimed = await tx.all(sql.claim(keys, grace_s=rules.grace_s))
    if not claimed:
        return {}
    await tx.run(sql.insert_attempts([offers[row.id]["attempt"] for row in claimed]))
    payloads = await _payloads(tx, [row.id for row in claimed])
    return {
        offers[row.id]["ask"]: Grant(Dispatch.from_row(row), offers[row.id]["token"], rules.grace_s, payloads[row.id])
        for row in claimed
    }


def _offer(pairing: Pairing, signer: LeaseSigner) -> dict[str, Any]:
    holder, head = pairing.ask.holder, pairing.head
    nonce, epoch = secrets.token_urlsafe(NONCE_BYTES), head.epoch + 1
    who = {"worker_id": holder.worker_id, "incarnation": holder.incarnation}
    token = signer.token(head.id, epoch=epoch, nonce=nonce, worker_id=holder.worker_id, incarnation=holder.incarnation)
    return {
        "ask": pairing.ask,
        "token": token,
        "key": {"id": head.id, "epoch": epoch, "lease_hash": token.digest(), **who},
        "attempt": {"dispatch_id": head.id, "epoch": epoch, "nonce": nonce, "poll_id": pairing.ask.poll_id, **who},
    }


async def _answer_again(
    tx: ControlTx, asks: Sequence[Ask], *, signer: LeaseSigner, rules: QueueRules
) -> dict[Ask, Grant]:
    """A poll that comes again got its lease the first time; only the reply was lost."""
    polls = {(ask.holder.worker_id, ask.poll_id): ask for ask in asks if ask.poll_id is not None}
    if not polls:
        return {}
    rows = await tx.all(sql.leases_of_polls([{"worker_id": worker, "poll_id": poll} for worker, poll in polls]))
    payloads = await _payloads(tx, [row.id for row in rows])
    granted = {}
    for row in rows:
        ask = polls[row.worker_id, row.poll_id]
        token: Secret = signer.token(
            row.id, epoch=row.epoch, nonce=row.nonce, worker_id=row.worker_id, incarnation=row.incarnation
        )
        granted[ask] = Grant(Dispatch.from_row(row), token, rules.grace_s, payloads[row.id])
    return granted


async def _payloads(tx: ControlTx, ids: list[DispatchId]) -> dict[DispatchId, bytes]:
    if not ids:
        return {}
    return {row.dispatch_id: row.payload for row in await tx.all(sql.payloads(ids))}


def _workers(asks: Sequence[Ask]) -> list[WorkerId]:
    return sorted({ask.holder.worker_id for ask in asks})
