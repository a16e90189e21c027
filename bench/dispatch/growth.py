"""What one lease costs as the queue grows: on the server, and as its caller feels it."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import psycopg

from bench.dispatch.engine import Verbs, open_verbs
from bench.dispatch.ground import Ground
from bench.dispatch.processes import cpu_ms
from bench.dispatch.stock import Stock
from comfyfleet.dispatch import Ask, Holder
from comfyfleet.kernel.ids import LaneId, WorkerId, new_id

LANES = 10
OWN_ROWS = 12_000  # of the worker's own, behind the others' backlog
OTHERS_LANES = 190
WARM_UP = 50
BACKENDS = """SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
AND backend_type = 'client backend'"""
SPENT = """SELECT coalesce(sum(total_plan_time + total_exec_time), 0)
FROM pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
AND query NOT LIKE '%pg_stat_statements%'"""


@dataclass(frozen=True, slots=True)
class Cost:
    """Milliseconds of one lease: as its caller waits, as the server times its statements, and of the server's CPU.

    What cannot be told here is None. CPU time moves least when others use the machine, so it is what is compared.
    """

    p50_ms: float
    statements_ms: float | None
    cpu_ms: float | None

    @property
    def compared(self) -> float:
        return next(cost for cost in (self.cpu_ms, self.statements_ms, self.p50_ms) if cost is not None)


@dataclass
class Queue:
    """One database with so many rows waiting, and the lanes our worker serves."""

    stock: Stock
    lanes: list[LaneId]
    waiting: int  # in those lanes

    @classmethod
    def match(cls, ground: Ground, name: str, waiting: int) -> "Queue":
        """All rows wait in the worker's own lanes."""
        stock = Stock(ground.central(name, flushes=False))
        lanes = stock.lanes(LANES)
        stock.add(waiting, lanes, settle=True)
        return cls(stock, lanes, waiting)

    @classmethod
    def adverse(cls, ground: Ground, name: str, waiting: int) -> "Queue":
        """The backlog is others', at a higher priority; the worker's own rows came later."""
        stock = Stock(ground.central(name, flushes=False))
        stock.add(waiting, stock.lanes(OTHERS_LANES, priority=5, first=1000))
        lanes = stock.lanes(LANES)
        stock.add(OWN_ROWS, lanes, settle=True)
        return cls(stock, lanes, OWN_ROWS)

    async def measure(self, ground: Ground, leases: int) -> Cost:
        self.stock.refill(self.waiting, self.lanes)
        async with open_verbs(self.stock.url) as verbs:
            await time_leases(verbs, self.lanes, WARM_UP)
            before = self._spent_ms(ground)
            times = await time_leases(verbs, self.lanes, leases)
            after = self._spent_ms(ground)
        statements, cpu = (
            (late - early) / leases if early is not None and late is not None else None
            for early, late in zip(before, after, strict=True)
        )
        return Cost(median(times) * 1000, statements, cpu)

    def _spent_ms(self, ground: Ground) -> tuple[float | None, float | None]:
        """So far, by the server's own watch over statements, and by the system's over its processes."""
        with psycopg.connect(self.stock.url, autocommit=True) as connection:
            backends = [row[0] for row in connection.execute(BACKENDS)]
            row = connection.execute(SPENT).fetchone() if ground.watched else None
        return (float(row[0]) if row else None), cpu_ms(backends)


async def time_leases(verbs: Verbs, lanes: Sequence[LaneId], leases: int) -> list[float]:
    """One after the other, each by another worker."""
    times, mine = [], frozenset(lanes)
    for _ in range(leases):
        ask = Ask(Holder(WorkerId(new_id()), 1), mine, leases_max=2)
        started = time.perf_counter()
        grant = await verbs.lease(ask)
        times.append(time.perf_counter() - started)
        assert grant is not None, "the queue ran dry"  # noqa: S101 a lease that found nothing is no lease
    return times
