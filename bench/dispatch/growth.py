"""What one lease costs as the queue grows: on the server, and as its caller feels it."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import mean, median

import sqlalchemy as sa

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


@dataclass(frozen=True, slots=True)
class Cost:
    """Milliseconds of one lease: as its caller waits for it, and of the server's CPU, in the middle and on average.

    CPU time moves least when others use the machine, so it is what is compared; None where it cannot be told.
    """

    wait_ms: float
    cpu_ms: float | None
    cpu_mean_ms: float | None = None

    @property
    def compared(self) -> float:
        return self.wait_ms if self.cpu_ms is None else self.cpu_ms


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

    async def measure(self, leases: int) -> Cost:
        self.stock.refill(self.waiting, self.lanes)
        async with open_verbs(self.stock.url) as verbs:
            await time_leases(verbs, self.lanes, WARM_UP)
            async with verbs.database.control_tx() as tx:
                backend = (await tx.one(sa.text("SELECT pg_backend_pid() AS pid"))).pid
            return typical(await time_leases(verbs, self.lanes, leases, cpu=lambda: cpu_ms(backend)))


async def time_leases(
    verbs: Verbs, lanes: Sequence[LaneId], leases: int, *, cpu: Callable[[], float | None] = lambda: None
) -> list[Cost]:
    """One after the other, each by another worker. `cpu` is a clock: what has been used so far."""
    costs, mine = [], frozenset(lanes)
    for _ in range(leases):
        ask = Ask(Holder(WorkerId(new_id()), 1), mine, leases_max=2)
        used, began = cpu(), time.perf_counter()
        grant = await verbs.lease(ask)
        took, later = time.perf_counter() - began, cpu()
        assert grant is not None, "the queue ran dry"  # noqa: S101 a lease that found nothing is no lease
        costs.append(Cost(took * 1000, later - used if used is not None and later is not None else None))
    return costs


def typical(costs: Sequence[Cost]) -> Cost:
    """The medians; and the mean beside them, which a few dear leases raise and which says more of the whole."""
    used = [cost.cpu_ms for cost in costs if cost.cpu_ms is not None]
    means = [each for cost in costs if (each := cost.cpu_ms if cost.cpu_mean_ms is None else cost.cpu_mean_ms)]
    return Cost(median(cost.wait_ms for cost in costs), median(used) if used else None, mean(means) if means else None)
