"""One look at the databases, kept for 15 s. A database that does not answer gives no gauges, never old ones."""

import asyncio
import math
import time
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import structlog

from comfyfleet import audit, machines
from comfyfleet.db import ControlTx
from comfyfleet.dispatch import figures
from comfyfleet.dispatch.figures import QueueFigures
from comfyfleet.fleet.lifecycle import WorkerStatus
from comfyfleet.gauges import sql
from comfyfleet.house import House
from comfyfleet.kernel.errors import FleetError
from comfyfleet.kernel.ids import WorkflowId
from comfyfleet.machines import NewestDecision
from comfyfleet.metrics.control_plane import FLEETS_MAX, NO_FLEET

HOLDS_S = 15.0
READ_S = 5.0
# A worker polls or beats at least every 30 s.
SILENT_S = 90.0
# A fleet decides every 10 s. What an older decision says of machines is not shown.
DECISION_HOLDS_S = 120.0

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Reading:
    """Of the central database. `names`: workflows and fleets by their ids. `workers`: by fleet and status."""

    names: dict[str, str]
    queue: QueueFigures
    workers: dict[tuple[str, str], int]
    settlements_lag_s: dict[str, float]
    parked: int
    alarms: int
    # Work that waits, by fleet: in GPU-seconds of a machine with speed 1, and how long it would take.
    queued_gpu_s: dict[str, float] = field(default_factory=dict)
    expected_wait_s: dict[str, float] = field(default_factory=dict)
    scaling: dict[str, NewestDecision] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PoolReading:
    submissions_lag_s: float
    webhooks_lag_s: float


@dataclass
class GaugeReader:
    """`await read()` asks the databases unless it did so lately; several who ask at once share one look.

    `names` outlive an outage: a workflow's series must not change its name with it.
    """

    house: House
    holds_s: float = HOLDS_S
    central: Reading | None = None
    pools: dict[str, PoolReading | None] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    _read_at: float = -math.inf
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def read(self, ids: Collection[str] = ()) -> None:
        """`ids`: workflows and fleets whose names are needed. A new one is worth a look before its time."""
        async with self._turn:
            if time.monotonic() - self._read_at < self.holds_s and self.names.keys() >= set(ids):
                return
            pools = list(self.house.pools)
            reading = asyncio.create_task(self._central())
            found = await asyncio.gather(*(self._pool(each) for each in pools))
            self.central, self.pools = await reading, dict(zip(pools, found, strict=True))
            if self.central is not None:
                # One without a name was deleted: there is no use in asking again before the time.
                self.names |= {**{each: each for each in set(ids) - self.names.keys()}, **self.central.names}
            self._read_at = time.monotonic()

    async def _central(self) -> Reading | None:
        try:
            async with asyncio.timeout(READ_S), self.house.control_tx(read_only=True) as tx:
                workflows = await tx.all(sql.workflow_names())
                workflow_names = {str(row.id): row.slug for row in workflows}
                expected_s = {row.id: row.expected_s for row in workflows}
                fleets = {str(row.id): f"{row.slug}/{row.stage}" for row in await tx.all(sql.fleet_names())}
                workers: Counter[tuple[str, str]] = Counter()
                for row in await tx.all(sql.workers(silent_s=SILENT_S)):
                    fleet = NO_FLEET if row.fleet_id is None else fleets.get(str(row.fleet_id), str(row.fleet_id))
                    workers[fleet, _status(row.status, silent=bool(row.silent), busy=bool(row.busy))] += row.workers
                scaling = {
                    fleets.get(str(fleet_id), str(fleet_id)): newest
                    for fleet_id, newest in (await machines.newest_decisions(tx, fleets_max=FLEETS_MAX)).items()
                }
                queue = await figures.count_queue(tx)
                queued_gpu_s = await _queued_gpu_s(tx, queue, fleets, expected_s)
                return Reading(
                    names=workflow_names | fleets,
                    queue=queue,
                    workers=dict(workers),
                    settlements_lag_s={row.pool: row.oldest_s for row in await tx.all(sql.settlements_lag())},
                    parked=await figures.count_parked(tx),
                    alarms=len(await audit.open_alarms(tx)),
                    queued_gpu_s=queued_gpu_s,
                    expected_wait_s=_expected_wait_s(queued_gpu_s, workers, scaling),
                    scaling=scaling,
                )
        except (FleetError, TimeoutError) as problem:
            log.warning("gauges.not_read", database="central", problem=str(problem) or "no answer in time")
            return None

    async def _pool(self, name: str) -> PoolReading | None:
        try:
            async with asyncio.timeout(READ_S), self.house.pool_tx(name, read_only=True) as tx:
                submissions = await tx.maybe(sql.submissions_lag())
                webhooks = await tx.maybe(sql.webhooks_lag())
                return PoolReading(*(max(0.0, row.oldest_s) if row else 0.0 for row in (submissions, webhooks)))
        except (FleetError, TimeoutError) as problem:
            log.warning("gauges.not_read", database=name, problem=str(problem) or "no answer in time")
            return None


async def _queued_gpu_s(
    tx: ControlTx, queue: QueueFigures, fleets: Mapping[str, str], expected_s: Mapping[WorkflowId, float]
) -> dict[str, float]:
    """Work that several fleets may do is divided evenly among them."""
    sharers: dict[WorkflowId, list[str]] = {}
    for row in await tx.all(sql.fleets_of(list(queue.waiting))) if queue.waiting else []:
        sharers.setdefault(row.workflow_id, []).append(fleets.get(str(row.fleet_id), str(row.fleet_id)))
    found = dict.fromkeys(fleets.values(), 0.0)
    for workflow_id, waiting in queue.waiting.items():
        for fleet in sharers.get(workflow_id, ()):
            share = waiting.queued * expected_s.get(workflow_id, 0.0) / len(sharers[workflow_id])
            found[fleet] = found.get(fleet, 0.0) + share
    return found


def _expected_wait_s(
    queued_gpu_s: Mapping[str, float], workers: Mapping[tuple[str, str], int], scaling: Mapping[str, NewestDecision]
) -> dict[str, float]:
    """Of a job queued now, where that is known: as the fleet's newest decision has it, else by its workers."""
    found = {}
    for fleet, gpu_s in queued_gpu_s.items():
        at_work = workers.get((fleet, "ready"), 0) + workers.get((fleet, "busy"), 0)
        newest = scaling.get(fleet)
        if newest is not None and newest.age_s < DECISION_HOLDS_S:
            if newest.decision.figures.expected_wait_s is not None:
                found[fleet] = newest.decision.figures.expected_wait_s
        elif not gpu_s or at_work:
            found[fleet] = gpu_s / at_work if at_work else 0.0
    return found


def _status(status: str, *, silent: bool, busy: bool) -> str:
    """What an operator would say of it: whether it answers comes first, then what it may do, then what it does."""
    if silent:
        return "silent"
    if status == WorkerStatus.APPROVED:
        return "busy" if busy else "ready"
    return str(status)
