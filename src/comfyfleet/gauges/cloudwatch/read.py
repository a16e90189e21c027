"""One look at the central database for all fleets."""

import json
from collections import defaultdict
from datetime import datetime, timedelta

from comfyfleet.db import ControlTx
from comfyfleet.dispatch.figures.model import COMPLETED, NO_FAILURE
from comfyfleet.gauges.cloudwatch import sql
from comfyfleet.gauges.cloudwatch.model import FleetLoad

COUNTED_MAX = 10_000  # a lane
ROWS_MAX = 20_000
ACTIVE_S = 300.0
ENDED_S = 300.0
TOOK_S = 600.0
SPOT = "spot_"  # how a worker's reason begins when its instance is taken
EXPIRED = "expired"


async def read_fleets(tx: ControlTx) -> tuple[datetime, list[FleetLoad]]:
    """With the database's time. Each statement walks an index or a small table, and ends at a bound."""
    at: datetime = (await tx.one(sql.time_now())).at
    known = {row.id: FleetLoad(row.slug, row.stage) for row in await tx.all(sql.fleets())}
    # A fleet that is made meanwhile is counted, and told next time.
    loads = defaultdict(lambda: FleetLoad("", ""), known)
    queued: dict[object, int] = {}
    for row in await tx.all(sql.queued(counted_max=COUNTED_MAX)):
        queued[row.workflow_id] = queued.get(row.workflow_id, 0) + row.queued
    for row in await tx.all(sql.assignments()):
        loads[row.fleet_id].queued += queued.get(row.workflow_id, 0)
    for row in await tx.all(sql.leased()):
        loads[row.fleet_id].leased = row.leased
    for row in await tx.all(sql.workers(active_s=ACTIVE_S)):
        loads[row.fleet_id].active_workers, loads[row.fleet_id].free_slots = row.workers, row.free
    for row in await tx.all(sql.ended(at - timedelta(seconds=ENDED_S))):
        _count_ends(loads[row.fleet_id], row.reason, row.attempts)
    for row in await tx.all(sql.completed(at - timedelta(seconds=TOOK_S), rows=ROWS_MAX)):
        loads[row.fleet_id].took_s.append(row.took_s)
    for row in await tx.all(sql.requeued(at - timedelta(seconds=ENDED_S), rows=ROWS_MAX)):
        loads[row.fleet_id].taken_by_spot += str(json.loads(row.detail).get("reason", "")).startswith(SPOT)
    return at, list(known.values())


def _count_ends(load: FleetLoad, reason: str | None, attempts: int) -> None:
    if reason == COMPLETED:
        load.completed += attempts
    elif reason not in NO_FAILURE:
        load.failed += attempts
    if reason == EXPIRED:
        load.expired += attempts
