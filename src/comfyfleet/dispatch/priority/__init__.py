"""An operator gives a waiting dispatch another priority."""

from typing import Any

from comfyfleet.db import ControlTx
from comfyfleet.db.dialect import batch
from comfyfleet.dispatch.enqueue import sql as queue_sql
from comfyfleet.dispatch.lifecycle import DispatchStatus
from comfyfleet.dispatch.model import Dispatch
from comfyfleet.dispatch.priority import sql
from comfyfleet.kernel.errors import InvalidInput, NotFound, NotWaiting
from comfyfleet.kernel.ids import DispatchId, LaneId

# Each priority in use is a lane more to look at, for every poll.
PRIORITY_MIN, PRIORITY_MAX = -100, 100


async def set_priority(tx: ControlTx, dispatch_id: DispatchId, priority: int) -> Dispatch:
    """To the lane of that priority, at its tenant's next place there. Its age stays, and counts between lanes."""
    if not PRIORITY_MIN <= priority <= PRIORITY_MAX:
        raise InvalidInput("priority", f"must be from {PRIORITY_MIN} to {PRIORITY_MAX}")
    row = await tx.maybe(sql.hold_place(dispatch_id))
    if row is None:
        raise NotFound("dispatch", dispatch_id)
    if row.status not in sql.WAITING:
        raise NotWaiting(dispatch_id, DispatchStatus(row.status))
    if row.priority == priority:
        return Dispatch.from_row(row)
    lane = await _intern_lane(tx, {name: getattr(row, name) for name in queue_sql.LANE} | {"priority": priority})
    # Without a cost of its own: it was counted when it was queued.
    share = {"lane": lane, "tenant_id": row.tenant_id, "cost": 0.0}
    start = (await tx.one(queue_sql.advance_shares(), rows=batch([share]))).finish_tag
    moved = await tx.one(sql.change_place(dispatch_id, lane=lane, priority=priority, fair_tag=start))
    return Dispatch.from_row(moved)


async def _intern_lane(tx: ControlTx, lane: dict[str, Any]) -> LaneId:
    found = await tx.maybe(queue_sql.lanes_of(), rows=batch([lane]))
    if found is None:
        await tx.run(queue_sql.insert_lanes(), rows=batch([lane]))
        found = await tx.one(queue_sql.lanes_of(), rows=batch([lane]))
    return LaneId(found.id)
