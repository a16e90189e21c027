"""An action is written down in the transaction that does it: both happen, or neither."""

from comfyfleet.audit import sql
from comfyfleet.audit.model import FIRST_MAC, Action, Actor, ChainSigner
from comfyfleet.db import ControlTx

CENTRAL_CHAIN = "central"


async def record_action(tx: ControlTx, actor: Actor, action: Action, *, signer: ChainSigner) -> int:
    """Its number in the chain. Held to the end of the transaction: record last, and keep the transaction short."""
    head = await tx.maybe(sql.hold_head())
    if head is None:
        await tx.run(sql.start_chain(mac=FIRST_MAC))
        head = await tx.one(sql.hold_head())
    seq = int(head.seq) + 1
    mac = signer.mac(CENTRAL_CHAIN, seq=seq, at=head.at, actor=actor, action=action, before=head.mac)
    await tx.run(sql.insert_entry(seq=seq, at=head.at, actor=actor, action=action, mac=mac))
    await tx.one(sql.move_head(seq=seq, mac=mac))
    return seq
