"""Retention of results: what a job made long ago goes, and what it was made of. The job stays: the ledger names it."""

from comfyfleet import jobs
from comfyfleet.house import House
from comfyfleet.upkeep.collect_uploads import erase
from comfyfleet.upkeep.rules import UpkeepRules

NAME = "expire_jobs"
EVERY_S = 600.0
BATCH = 100


async def tick(house: House, pool: str, *, rules: UpkeepRules) -> int:
    """Mark, commit, erase. What is not erased then, `collect_uploads` erases when it forgets the files' rows."""
    async with house.pool_tx(pool) as tx:
        expired, files = await jobs.expire_jobs(tx, age_s=rules.retention_s, rows=BATCH)
    for each in files:
        if each.disk == house.store.disk:
            await erase(house, each)
    return expired
