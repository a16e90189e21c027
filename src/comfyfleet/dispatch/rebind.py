"""A worker comes back after a crash with its journal: what it can prove, it goes on with, under new tokens."""

from collections.abc import Sequence
from dataclasses import dataclass

from comfyfleet.db import ControlTx
from comfyfleet.db.dialect import batch
from comfyfleet.dispatch import sql
from comfyfleet.dispatch.heartbeat import lease_key
from comfyfleet.dispatch.model import Holder, LeaseProof, QueueRules
from comfyfleet.dispatch.tokens import LeaseSigner
from comfyfleet.kernel.ids import DispatchId, TenantId, WorkerId
from comfyfleet.kernel.secret import Secret


@dataclass(frozen=True, slots=True)
class HeldLease:
    """An open lease, seen by its holder's proof. The nonce and the epoch name the objects it may write."""

    dispatch_id: DispatchId
    tenant_id: TenantId
    epoch: int
    nonce: str


async def read_leases(tx: ControlTx, proofs: Sequence[LeaseProof]) -> dict[DispatchId, HeldLease]:
    """Those that stand at this instant."""
    if not proofs:
        return {}
    rows = await tx.all(sql.held_leases(), rows=batch([lease_key(proof) for proof in proofs]))
    return {row.id: HeldLease(row.id, row.tenant_id, row.epoch, row.nonce) for row in rows}


async def workers_with_leases(tx: ControlTx, worker_ids: Sequence[WorkerId]) -> set[WorkerId]:
    rows = await tx.all(sql.workers_with_leases(), rows=batch([{"worker_id": each} for each in worker_ids]))
    return {row.worker_id for row in rows}


async def count_leases(tx: ControlTx, worker_id: WorkerId) -> int:
    return len(await tx.all(sql.leased_by(worker_id)))


async def rebind_leases(
    tx: ControlTx, proofs: Sequence[LeaseProof], *, to: Holder, signer: LeaseSigner, rules: QueueRules
) -> dict[DispatchId, Secret]:
    """`proofs` are of the worker's life before. The new tokens; what is missing had been lost."""
    moved, tokens = [], {}
    held = await read_leases(tx, proofs)
    for proof in proofs:
        lease = held.get(proof.dispatch_id)
        if lease is None:
            continue
        token = signer.token(
            lease.dispatch_id,
            epoch=lease.epoch,
            nonce=lease.nonce,
            worker_id=to.worker_id,
            incarnation=to.incarnation,
        )
        tokens[lease.dispatch_id] = token
        moved.append({**lease_key(proof), "new_hash": token.digest(), "new_incarnation": to.incarnation})
    if not moved:
        return {}
    rebound = {row.id for row in await tx.all(sql.rebind(), rows=batch(moved), grace_s=rules.grace_s)}
    await tx.run(sql.rebind_attempts(), rows=batch(moved))
    return {dispatch_id: token for dispatch_id, token in tokens.items() if dispatch_id in rebound}
