"""What one lease costs as the queue grows: on the server, and as its caller feels it."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import psycopg

from bench.dispatch.engine import Desk, open_desk
from bench.dispatch.ground import Ground
from bench.dispatch.stock import Stock
from comfyfleet.dispatch import Ask, Holder
from comfyfleet.kernel.ids import LaneId, WorkerId, new_id

LANES = 10
OWN_ROWS = 12_000  # of the worker's own, behind the others' backlog
OTHERS_LANES = 190
WARM_UP = 50
SPENT = """SELECT coalesce(sum(total_plan_time + total_exec_time), 0)
FROM pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
AND query NOT LIKE '%%pg_stat_statements%%'"""


@dataclass(frozen=True, slots=True)
class Cost:
    """Milliseconds of one lease. The server's are statements with their planning; None where it cannot tell."""

    p50_ms: float
    server_ms: float | None

    @property
    def compared(self) -> float:
        return self.server_ms if self.server_ms is not None else self.p50_ms


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
        async with ground.house(self.stock.url) as house, open_desk(house) as desk:
            await time_leases(desk, self.lanes, WARM_UP)
            before = self._spent_ms(ground)
            times = await time_leases(desk, self.lanes, leases)
            after = self._spent_ms(ground)
        spent = (after - before) / leases if before is not None and after is not None else None
        return Cost(median(times) * 1000, spent)

    def _spent_ms(self, ground: Ground) -> float | None:
        if not ground.watched:
            return None
        with psycopg.connect(self.stock.url, autocommit=True) as connection:
            row = connection.execute(SPENT).fetchone()
            return float(row[0]) if row else None


async def time_leases(desk: Desk, lanes: Sequence[LaneId], leases: int) -> list[float]:
    """One after the other, each by another worker."""
    times, mine = [], frozenset(lanes)
    for _ in range(leases):
        ask = Ask(Holder(WorkerId(new_id()), 1), mine, leases_max=2)
        started = time.perf_counter()
        grant = await desk.lease(ask)
        times.append(time.perf_counter() - started)
        assert grant is not None, "the queue ran dry"  # noqa: S101 a lease that found nothing is no lease
    return times
