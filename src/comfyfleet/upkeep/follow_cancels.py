"""A wish to cancel that the queue never heard: whoever wrote it down died, or the central database was away."""

from comfyfleet import dispatch, jobs
from comfyfleet.house import House
from comfyfleet.kernel.ids import DispatchId

NAME = "follow_cancels"
EVERY_S = 5.0
# Wishes that their workers have heard stand there until the job ends: far more than ever will at once.
BATCH = 1_000
AGE_S = 5.0


async def tick(house: House, pool: str) -> int:
    """How many the queue now knows of. One that is not in the queue yet is met again when the relay has sent it."""
    async with house.pool_tx(pool, read_only=True) as tx:
        wished = [DispatchId(each) for each in await jobs.unheard_cancels(tx, age_s=AGE_S, rows=BATCH)]
    if not wished:
        return 0
    async with house.control_tx() as tx:
        found = await dispatch.find_dispatches(tx, wished)
        unheard = [each.id for each in found if each.cancel_requested_at is None and each.finished_at is None]
        for each in unheard:
            await dispatch.cancel_dispatch(tx, each)
    for each in unheard:
        house.desk.cancelled(each)
    if unheard:
        house.desk.on_finished()
    return len(unheard)
