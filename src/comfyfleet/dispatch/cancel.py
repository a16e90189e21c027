"""Somebody no longer wants the result."""

from comfyfleet.db import ControlTx
from comfyfleet.dispatch import sql
from comfyfleet.dispatch.finish import write_settlements
from comfyfleet.dispatch.lifecycle import DISPATCH
from comfyfleet.dispatch.model import Dispatch
from comfyfleet.kernel.errors import NotFound
from comfyfleet.kernel.ids import DispatchId


async def cancel_dispatch(tx: ControlTx, dispatch_id: DispatchId) -> Dispatch:
    """Waiting: cancelled at once. Leased: its worker is to be told, and may finish first.

    Over already: nothing changes, and what it became is returned.
    """
    row = await tx.maybe(sql.cancel_waiting(dispatch_id))
    if row is not None:
        await write_settlements(tx, [row], {})
        return Dispatch.from_row(row)
    row = await tx.maybe(sql.request_cancel(dispatch_id)) or await tx.maybe(sql.by_id(dispatch_id))
    if row is None:
        raise NotFound("dispatch", dispatch_id)
    found = Dispatch.from_row(row)
    if found.status not in DISPATCH.terminal and found.cancel_requested_at is None:
        # Between the two looks it went from leased back to waiting.
        return await cancel_dispatch(tx, dispatch_id)
    return found
