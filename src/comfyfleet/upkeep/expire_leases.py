"""Leases that ran out, and runs past their deadline: back to the queue, or failed when nothing is left to try."""

import random

import structlog

from comfyfleet import dispatch
from comfyfleet.dispatch import outages
from comfyfleet.house import House
from comfyfleet.metrics.facts import LeasesChanged
from comfyfleet.upkeep.turns import take_turn

NAME = "expire_leases"
EVERY_S = 2.0
BATCH = 100
# A lease may be so short that half its life is over between two sweeps. Nobody was away then.
MISSED_SWEEPS = 3

log = structlog.get_logger()


async def tick(house: House, *, chance: random.Random) -> int:
    """If nobody swept for half a lease's life, there was an outage, and workers could not send heartbeats either:
    every lease first gets a life more. One transaction, so that no sweep stands on an older look at the clock."""
    async with house.control_tx() as tx:
        since_s = await take_turn(tx, NAME)
        if since_s is None:
            return 0
        if since_s > max(house.queue_rules.lease_ttl_s / 2, MISSED_SWEEPS * EVERY_S):
            spared = await outages.spare_leases(tx, rules=house.queue_rules)
            if spared:
                log.warning("upkeep.leases_spared", leases=spared)
        expired = await dispatch.expire_leases(tx, rows=BATCH, chance=chance)
    if expired:
        house.facts.note(LeasesChanged("expired", len(expired)))
        house.trace_lost(expired)
        log.info("upkeep.leases_expired", leases=len(expired))
    return len(expired)
