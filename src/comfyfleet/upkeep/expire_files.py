"""Retention of uploads that became no video: files that nothing belongs to for long go."""

from comfyfleet import jobs
from comfyfleet.house import House
from comfyfleet.kernel.errors import FileInUse
from comfyfleet.upkeep.collect_uploads import erase
from comfyfleet.upkeep.rules import UpkeepRules

NAME = "expire_files"
EVERY_S = 600.0
BATCH = 100


async def tick(house: House, pool: str, *, rules: UpkeepRules) -> int:
    """Mark, commit, erase, one owner after the other."""
    async with house.pool_tx(pool) as tx:
        loose = await jobs.list_loose(tx, age_s=rules.retention_s, rows=BATCH)
    files = []
    for (tenant_id, user_id), file_ids in loose.items():
        try:
            async with house.pool(pool).tenant_tx(tenant_id) as tenant_tx:
                files += await jobs.drop_loose(tenant_tx, file_ids, user_id)
        except FileInUse:
            continue  # ordered this very moment: at the next tick it is not listed any more, and the others are
    for each in files:
        if each.disk == house.store.disk:
            await erase(house, each)
    return len(files)
