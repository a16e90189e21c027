"""A worker has begun: the tenants hear of it. As best it goes: what a crash leaves untold, the job's end tells."""

from collections import defaultdict

from comfyfleet import dispatch, jobs
from comfyfleet.house import House
from comfyfleet.kernel.ids import JobId, TenantId

NAME = "tell_starts"
EVERY_S = 0.5
BATCH = 200


async def tick(house: House) -> int:
    taken = house.desk.starts.take(BATCH)
    if not taken:
        return 0
    groups: dict[tuple[str, TenantId], list[JobId]] = defaultdict(list)
    async with house.control_tx(read_only=True) as tx:
        for found in await dispatch.find_dispatches(tx, taken):
            groups[found.pool, found.tenant_id].append(JobId(found.id))
    for (pool, tenant_id), started in groups.items():
        if pool in house.pools:
            async with house.pool(pool).tenant_tx(tenant_id) as tenant_tx:
                for job_id in sorted(started):
                    await jobs.start_job(tenant_tx, job_id)
    return len(taken)
