"""Pauses that are over: the job waits in the queue again, at its old place."""

from comfyfleet import dispatch
from comfyfleet.house import House
from comfyfleet.upkeep.rules import OnQueued, nobody

NAME = "promote_delayed"
EVERY_S = 2.0
BATCH = 200


async def tick(house: House, *, on_queued: OnQueued = nobody) -> int:
    async with house.control_tx() as tx:
        lanes = await dispatch.promote_delayed(tx, rows=BATCH)
    if lanes:
        on_queued(frozenset(lanes))
    return len(lanes)
