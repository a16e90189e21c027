"""Retention: what ended long ago, what workers did long ago, and workers that are long gone."""

from comfyfleet import dispatch, fleet, jobs, machines, notifications, webhooks
from comfyfleet.dispatch import retention
from comfyfleet.house import House
from comfyfleet.upkeep import sql
from comfyfleet.upkeep.rules import UpkeepRules

NAME = "forget_old"
NAME_POOL = "forget_sent"
EVERY_S = 600.0
BATCH = 500


async def tick(house: House, *, rules: UpkeepRules) -> int:
    """Each in a transaction of its own. The larger of the counts: either alone can be a full batch."""
    async with house.control_tx() as tx:
        ended = await retention.forget_ended(tx, age_s=rules.retention_s, rows=BATCH)
    async with house.control_tx() as tx:
        events = await tx.run(sql.forget_worker_events(age_s=rules.retention_s, rows=BATCH))
    async with house.control_tx() as tx:
        gone = await fleet.forget_gone(tx, age_s=rules.retention_s, rows=BATCH)
        await dispatch.forget_workerless_blocks(tx)
    async with house.control_tx() as tx:
        await fleet.forget_lists(tx)
    async with house.control_tx() as tx:
        await machines.forget_old_decisions(tx, age_s=rules.retention_s)
    async with house.control_tx() as tx:
        sent = await notifications.forget_notifications(tx, age_s=rules.retention_s, rows=BATCH)
    return max(ended, events, gone, sent)


async def tick_pool(house: House, pool: str, *, rules: UpkeepRules) -> int:
    """Submissions that reached the queue long ago, events that reached their endpoints, and URLs that no job names."""
    async with house.pool_tx(pool) as tx:
        sent = await jobs.forget_sent(tx, age_s=rules.retention_s, rows=BATCH)
    async with house.pool_tx(pool) as tx:
        unnamed = await webhooks.list_unnamed(tx, age_s=rules.retention_s, rows=BATCH)
        told = await jobs.list_told(tx, unnamed)
        gone = await webhooks.forget_unnamed(tx, set(unnamed) - told, age_s=rules.retention_s)
    async with house.pool_tx(pool) as tx:
        return max(sent, gone, await webhooks.forget_events(tx, age_s=rules.retention_s, rows=BATCH))
