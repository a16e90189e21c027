"""One look at the databases, kept for 15 s. A database that does not answer gives no gauges, never old ones."""

import asyncio
import math
import time
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field

import structlog

from comfyfleet import audit
from comfyfleet.dispatch import figures
from comfyfleet.dispatch.figures import QueueFigures
from comfyfleet.fleet.lifecycle import WorkerStatus
from comfyfleet.gauges import sql
from comfyfleet.house import House
from comfyfleet.kernel.errors import FleetError
from comfyfleet.metrics.control_plane import NO_FLEET

HOLDS_S = 15.0
READ_S = 5.0
# A worker polls or beats at least every 30 s.
SILENT_S = 90.0

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
                workflow_names = {str(row.id): row.slug for row in await tx.all(sql.workflow_names())}
                fleets = {str(row.id): f"{row.slug}/{row.stage}" for row in await tx.all(sql.fleet_names())}
                workers: Counter[tuple[str, str]] = Counter()
                for row in await tx.all(sql.workers(silent_s=SILENT_S)):
                    fleet = NO_FLEET if row.fleet_id is None else fleets.get(str(row.fleet_id), str(row.fleet_id))
                    workers[fleet, _status(row.status, silent=bool(row.silent), busy=bool(row.busy))] += row.workers
                return Reading(
                    names=workflow_names | fleets,
                    queue=await figures.count_queue(tx),
                    workers=dict(workers),
                    settlements_lag_s={row.pool: row.oldest_s for row in await tx.all(sql.settlements_lag())},
                    parked=await figures.count_parked(tx),
                    alarms=len(await audit.open_alarms(tx)),
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


def _status(status: str, *, silent: bool, busy: bool) -> str:
    """What an operator would say of it: whether it answers comes first, then what it may do, then what it does."""
    if silent:
        return "silent"
    if status == WorkerStatus.APPROVED:
        return "busy" if busy else "ready"
    return str(status)
