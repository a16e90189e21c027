"""Runs that paused because no worker could run their next step go on when one can."""

from collections.abc import Callable

import structlog

from comfyfleet import pipelines
from comfyfleet.house import House
from comfyfleet.workflows.effects import Offer

NAME = "resume_runs"
EVERY_S = 15.0
BATCH = 200

log = structlog.get_logger()


async def tick(house: House, pool: str, *, on_resumed: Callable[[], None] | None = None) -> int:
    """How many go on."""
    async with house.pool_tx(pool, read_only=True) as tx:
        paused = await pipelines.list_unavailable(tx, rows=BATCH)
    if not paused:
        return 0
    async with house.control_tx(read_only=True) as tx:
        offers = await house.take_runnables(tx, {each.effect for each in paused})
    resumed = []
    for run in paused:
        if not isinstance(offers[run.effect], Offer):
            continue
        async with house.pool(pool).tenant_tx(run.tenant_id) as tx:
            if await pipelines.resume_available(tx, run):
                resumed.append(run.id)
    if resumed:
        log.info("runs.resumed", runs=[str(each) for each in resumed], pool=pool)
        house.live.changed_runs(resumed)
        if on_resumed is not None:
            on_resumed()
    return len(resumed)
