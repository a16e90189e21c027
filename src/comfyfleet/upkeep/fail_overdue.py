"""Jobs that waited past the queue deadline: failed, and refunded by their settlement."""

import structlog

from comfyfleet import dispatch
from comfyfleet.house import House

NAME = "fail_overdue"
# Slow: it looks at every row that waits.
EVERY_S = 30.0
BATCH = 100

log = structlog.get_logger()


async def tick(house: House) -> int:
    async with house.control_tx() as tx:
        failed = await dispatch.fail_overdue(tx, rows=BATCH)
    if failed:
        log.warning("upkeep.jobs_overdue", jobs=failed)
    return failed
