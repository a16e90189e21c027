"""The outbox of one pool: every job in it takes its place in the central queue."""

from collections.abc import Callable, Sequence

import structlog

from comfyfleet import dispatch, jobs, tenants
from comfyfleet.house import House
from comfyfleet.jobs import Submission
from comfyfleet.kernel.errors import Unavailable
from comfyfleet.upkeep.turns import take_turn

NAME = "relay_submissions"
EVERY_S = 2.0
BATCH = 200

log = structlog.get_logger()


async def tick(house: House, pool: str) -> int:
    """Read, enqueue, mark: three transactions, one after the other. Whatever happens between them, it is all done
    again, and enqueuing is once per id. A job that has ended is only marked: it must not come back to life."""
    async with house.pool_tx(pool, read_only=True) as tx:
        found = await jobs.unsent(tx, rows=BATCH)
    alive = [each for each in found if not each.job_ended]
    if alive and not await _enqueue(house, pool, alive):
        return 0
    if found:
        async with house.pool_tx(pool) as tx:
            await jobs.mark_sent(tx, [each.job_id for each in found])
    return len(found)


async def send_now(house: House, pool: str, otherwise: Callable[[], None]) -> None:
    """By whoever has just begun jobs, and need not wait for the loop. What cannot be sent now is left to it."""
    try:
        if await tick(house, pool):
            return
    except Unavailable as problem:
        log.info("relay.later", pool=pool, problem=problem.message)
    otherwise()


async def _enqueue(house: House, pool: str, submissions: Sequence[Submission]) -> bool:
    """False: another replica is at it. Two at once would count the same jobs twice against a tenant's share."""
    async with house.queue_tx() as tx:
        if await take_turn(tx, f"{NAME}:{pool}") is None:
            return False
        weights = await tenants.weights_of(tx, {each.tenant_id for each in submissions})
        news = [jobs.to_dispatch(each, pool=pool, weight=weights.get(each.tenant_id, 1)) for each in submissions]
        placed = await dispatch.enqueue_dispatches(tx, news, rules=house.queue_rules)
    house.desk.queued(placed.values())
    for each in submissions:
        house.live.changed(each.job_id)  # now it has a place that can be told
    return True
