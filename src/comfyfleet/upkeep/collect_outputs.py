"""Objects that attempts left behind, and nobody names: of leases that were lost, of workers that died."""

import structlog

from comfyfleet import jobs
from comfyfleet.house import House
from comfyfleet.jobs import Leftovers
from comfyfleet.kernel.errors import FleetError
from comfyfleet.upkeep.collect_uploads import AGE_S

NAME = "collect_outputs"
EVERY_S = 300.0
BATCH = 50

log = structlog.get_logger()


async def tick(house: House, pool: str) -> int:
    """Look, erase, mark. Looked at twice is fine: a job that has ended gets no more files."""
    async with house.pool_tx(pool, read_only=True) as tx:
        found = await jobs.list_leftovers(tx, age_s=AGE_S, rows=BATCH)
    done = [each.job_id for each in found if await _erase(house, each)]
    async with house.pool_tx(pool) as tx:
        return await jobs.mark_collected(tx, done)


async def _erase(house: House, left: Leftovers) -> bool:
    try:
        erased = await jobs.erase_leftovers(house.store, left)
    except FleetError as problem:
        log.warning("upkeep.leftovers_stay", job_id=str(left.job_id), problem=problem.message)
        return False
    if erased.objects:
        log.info("upkeep.leftovers_erased", job_id=str(left.job_id), objects=erased.objects)
    return erased.is_all
