"""A server has begun: the tenants hear of it. As best it goes: what a crash leaves untold, the job's end tells."""

import time

from comfyfleet import dispatch, jobs
from comfyfleet.house import House
from comfyfleet.kernel.errors import DatabaseUnavailable
from comfyfleet.kernel.ids import JobId

NAME = "tell_starts"
EVERY_S = 0.5
BATCH = 200


async def tick(house: House) -> int:
    taken = house.desk.starts.take(BATCH)
    if not taken:
        return 0
    untold = dict(taken)
    try:
        async with house.control_tx(read_only=True) as tx:
            found = await dispatch.find_started(tx, list(taken))
        untold = {each.id: taken[each.id] for each in found if each.pool in house.pools}
        away: set[str] = set()
        for each in found:
            if each.id not in untold or each.pool in away:
                continue
            try:
                await _tell(house, each, taken[each.id])
                del untold[each.id]
            except DatabaseUnavailable:
                away.add(each.pool)
    finally:
        house.desk.starts.put_back(untold)
    return len(taken) - len(untold)


async def _tell(house: House, each: dispatch.Started, began_at: float | None) -> None:
    """Each on its own: who holds several jobs at once would meet whoever settles them in another order."""
    ago_s = each.ago_s if began_at is None else min(each.ago_s, time.monotonic() - began_at)
    async with house.pool(each.pool).tenant_tx(each.tenant_id) as tx:
        started = await jobs.start_job(tx, JobId(each.id), ago_s=ago_s)
    if started:
        house.live.changed(JobId(each.id))
