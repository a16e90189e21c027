"""Retention of media: a video that nobody touched for long loses its files; as long again, and it is forgotten."""

from comfyfleet import jobs, videos
from comfyfleet.house import House
from comfyfleet.upkeep.collect_uploads import erase
from comfyfleet.upkeep.rules import UpkeepRules

NAME = "expire_videos"
EVERY_S = 600.0
BATCH = 50


async def tick(house: House, pool: str, *, rules: UpkeepRules) -> int:
    """Mark, commit, erase. What is not erased then, `collect_uploads` erases when it forgets the files' rows."""
    async with house.pool_tx(pool) as tx:
        old = await videos.list_aged(tx, age_s=rules.retention_s, rows=BATCH)
        taken = await jobs.list_taken(tx, [file_id for each in old for file_id in each.file_ids])
        expired, files = await videos.expire_videos(tx, [each for each in old if taken.isdisjoint(each.file_ids)])
    async with house.pool_tx(pool) as tx:
        forgotten = await videos.forget_videos(tx, age_s=rules.retention_s, rows=BATCH)
    for each in files:
        if each.disk == house.store.disk:
            await erase(house, each)
    return max(expired, forgotten)
