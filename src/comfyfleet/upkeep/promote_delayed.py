"""Pauses that are over: the job waits in the queue again, at its old place."""

from comfyfleet import dispatch
from comfyfleet.house import House

NAME = "promote_delayed"
EVERY_S = 2.0
BATCH = 200


async def tick(house: House) -> int:
    async with house.control_tx() as tx:
        lanes = await dispatch.promote_delayed(tx, rows=BATCH)
    house.desk.came_back(lanes)
    return len(lanes)
