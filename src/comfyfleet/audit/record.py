"""An action is written down in the transaction that does it: both happen, or neither."""

from collections.abc import Sequence
from typing import Any

from comfyfleet.audit import sql
from comfyfleet.audit.model import (
    CENTRAL_CHAIN,
    FIRST_MAC,
    Action,
    Actor,
    ChainSigner,
    WorkerEvent,
    json_text,
    tenant_chain,
)
from comfyfleet.db import ControlTx, TenantTx
from comfyfleet.kernel.ids import new_id


async def record_action(tx: ControlTx, actor: Actor, action: Action, *, signer: ChainSigner) -> int:
    """Its number in the chain. Held to the end of the transaction: record last, and keep the transaction short."""
    head = await tx.maybe(sql.hold_head())
    if head is None:
        await tx.run(sql.start_chain(mac=FIRST_MAC))
        head = await tx.one(sql.hold_head())
    entry = signer.add(CENTRAL_CHAIN, head, actor, action)
    await tx.run(sql.insert_entry(entry))
    await tx.one(sql.move_head(seq=entry.seq, mac=entry.mac))
    return entry.seq


async def record_tenant_action(tx: TenantTx, actor: Actor, action: Action, *, signer: ChainSigner) -> int:
    """In the tenant's own chain, in its pool: tenants do not wait for each other."""
    head = await tx.maybe(sql.hold_tenant_head())
    if head is None:
        await tx.run(sql.start_tenant_chain(mac=FIRST_MAC))
        head = await tx.one(sql.hold_tenant_head())
    entry = signer.add(tenant_chain(tx.tenant_id), head, actor, action)
    await tx.run(sql.insert_tenant_entry(entry))
    await tx.one(sql.move_tenant_head(seq=entry.seq, mac=entry.mac))
    return entry.seq


async def record_worker_events(tx: ControlTx, events: Sequence[WorkerEvent]) -> None:
    """One statement for all of them."""
    if events:
        await tx.run(sql.insert_worker_events([_event_row(event) for event in events]))


def _event_row(event: WorkerEvent) -> dict[str, Any]:
    return {
        "id": new_id(),
        "event": event.name.value,
        "worker_id": event.worker_id,
        "dispatch_id": event.dispatch_id,
        "tenant_id": event.tenant_id,
        "address": event.address,
        "detail": json_text(event.detail),
    }
