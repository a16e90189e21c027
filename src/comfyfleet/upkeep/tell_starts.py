"""A worker has begun: the tenants hear of it. As best it goes: what a crash leaves untold, the job's end tells."""

from comfyfleet import dispatch, jobs
from comfyfleet.house import House
from comfyfleet.kernel.ids import JobId

NAME = "tell_starts"
EVERY_S = 0.5
BATCH = 200


async def tick(house: House) -> int:
    taken = house.desk.starts.take(BATCH)
    if not taken:
        return 0
    async with house.control_tx(read_only=True) as tx:
        found = await dispatch.find_started(tx, taken)
    for each in found:
        if each.pool in house.pools:
            # Each on its own: who holds several jobs at once would meet whoever settles them in another order.
            async with house.pool(each.pool).tenant_tx(each.tenant_id) as tenant_tx:
                await jobs.start_job(tenant_tx, JobId(each.id), ago_s=each.ago_s)
    return len(taken)
