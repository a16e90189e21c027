"""Workers that have been silent for too long are gone. Their leases run out by themselves."""

import structlog

from comfyfleet import fleet
from comfyfleet.house import House

NAME = "retire_workers"
EVERY_S = 60.0
BATCH = 100

log = structlog.get_logger()


async def tick(house: House) -> int:
    async with house.control_tx() as tx:
        gone = await fleet.retire_stale(tx, stale_s=house.fleet_rules.stale_worker_s, rows=BATCH)
    if gone:
        house.live.workers_changed()
        log.info("upkeep.workers_gone", workers=[str(each) for each in gone])
    return len(gone)
