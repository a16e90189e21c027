"""A job takes its place in the queue."""

from comfyfleet.db import ControlTx
from comfyfleet.dispatch import sql
from comfyfleet.dispatch.model import NewDispatch, QueueRules
from comfyfleet.kernel.ids import LaneId


async def enqueue_dispatch(tx: ControlTx, new: NewDispatch, *, rules: QueueRules) -> LaneId | None:
    """Once per id. The lane it waits in, so that somebody can be woken; None if it was there before."""
    if await tx.maybe(sql.by_id(new.id)) is not None:
        return None
    lane = await _intern_lane(tx, new)
    cost = new.cost_s / new.weight
    share = await tx.one(sql.advance_share(lane, new.tenant_id, cost))
    row = await tx.maybe(sql.insert_dispatch(new, lane=lane, fair_tag=share.finish_tag - cost, rules=rules))
    if row is None:
        return None
    await tx.run(sql.insert_payload(new.id, new.payload))
    return lane


async def _intern_lane(tx: ControlTx, new: NewDispatch) -> LaneId:
    row = await tx.maybe(sql.lane_of(new)) or await tx.maybe(sql.insert_lane(new)) or await tx.one(sql.lane_of(new))
    return LaneId(row.id)
