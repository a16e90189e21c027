"""A worker comes back after a crash with its journal: what it can prove, it goes on with, under new tokens."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from comfyfleet.db import ControlTx
from comfyfleet.db.dialect import batch, ordered_batch
from comfyfleet.dispatch import sql
from comfyfleet.dispatch.heartbeat import lease_key
from comfyfleet.dispatch.model import Holder, LeaseProof, QueueRules
from comfyfleet.dispatch.tokens import LeaseSigner
from comfyfleet.kernel.ids import DispatchId, TenantId, WorkerId
from comfyfleet.kernel.secret import Secret

LIVES_BACK_MAX = 5


@dataclass(frozen=True, slots=True)
class HeldLease:
    """An open lease, seen by its holder's proof. The nonce and the epoch name the objects it may write."""

    dispatch_id: DispatchId
    tenant_id: TenantId
    epoch: int
    nonce: str
    cancel_requested: bool


async def read_leases(tx: ControlTx, proofs: Sequence[LeaseProof]) -> dict[DispatchId, HeldLease]:
    """Those that stand at this instant."""
    if not proofs:
        return {}
    rows = await tx.all(sql.held_leases(), rows=batch([lease_key(proof) for proof in proofs]))
    return {
        row.id: HeldLease(row.id, row.tenant_id, row.epoch, row.nonce, row.cancel_requested_at is not None)
        for row in rows
    }


async def unwanted_leases(tx: ControlTx, holders: Sequence[Holder]) -> dict[WorkerId, frozenset[DispatchId]]:
    """Leases that somebody has cancelled and that have not ended yet, by the worker that holds them."""
    rows = await tx.all(
        sql.unwanted_leases(),
        rows=batch([{"worker_id": each.worker_id, "incarnation": each.incarnation} for each in holders]),
    )
    found: dict[WorkerId, frozenset[DispatchId]] = {}
    for row in rows:
        found[row.worker_id] = found.get(row.worker_id, frozenset()) | {row.id}
    return found


async def workers_with_leases(tx: ControlTx, worker_ids: Sequence[WorkerId]) -> set[WorkerId]:
    rows = await tx.all(sql.workers_with_leases(), rows=batch([{"worker_id": each} for each in worker_ids]))
    return {row.worker_id for row in rows}


async def count_leases(tx: ControlTx, worker_id: WorkerId) -> int:
    return len(await tx.all(sql.leased_by(worker_id)))


async def proves_a_lease(tx: ControlTx, proofs: Sequence[LeaseProof], *, signer: LeaseSigner) -> bool:
    """Whether any of them shows the token of a lease that its holder's worker has open, in this life or one before."""
    if not proofs:
        return False
    held = {row.id: row for row in await tx.all(sql.open_leases(proofs[0].holder.worker_id))}
    return any((row := held.get(proof.dispatch_id)) is not None and _is_proven(proof, row, signer) for proof in proofs)


async def rebind_leases(
    tx: ControlTx, proofs: Sequence[LeaseProof], *, to: Holder, signer: LeaseSigner, rules: QueueRules
) -> dict[DispatchId, Secret]:
    """The new tokens; what is missing had been lost, or is not proven.

    A token of an earlier life than the last proves as much: the reply to a registration may have been lost.
    """
    held = {row.id: row for row in await tx.all(sql.leases_with_nonces(to.worker_id))}
    moved, tokens = [], {}
    for proof in proofs:
        row = held.get(proof.dispatch_id)
        if row is not None and _is_proven(proof, row, signer):
            token = _token(row, to.incarnation, signer)
            tokens[row.id] = token
            moved.append({**_key(row), "new_hash": token.digest(), "new_incarnation": to.incarnation})
    if not moved:
        return {}
    rebound = {row.id for row in await tx.all(sql.rebind(), rows=ordered_batch(moved), grace_s=rules.grace_s)}
    await tx.run(sql.rebind_attempts(), rows=ordered_batch(moved))
    return {dispatch_id: token for dispatch_id, token in tokens.items() if dispatch_id in rebound}


def _is_proven(proof: LeaseProof, row: Any, signer: LeaseSigner) -> bool:
    lives = range(row.incarnation, max(0, row.incarnation - LIVES_BACK_MAX), -1)
    return any(proof.token.matches(_token(row, life, signer).digest()) for life in lives)


def _token(row: Any, incarnation: int, signer: LeaseSigner) -> Secret:
    return signer.token(row.id, epoch=row.epoch, nonce=row.nonce, worker_id=row.worker_id, incarnation=incarnation)


def _key(row: Any) -> dict[str, Any]:
    return {name: getattr(row, name) for name in sql.LEASE_KEY}
