"""The product's own side of every figure: how a caller leases, completes and enqueues inside one process.

The other modules know only `open_desk` and `enqueue`; whatever the engine does behind them may change here alone.
"""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from bench.dispatch.ground import Ground
from bench.dispatch.stock import Stock
from comfyfleet import dispatch
from comfyfleet.dispatch import Ask, Ended, Grant, Holder, LeaseProof, Leasing, NewDispatch, Report
from comfyfleet.dispatch.floors import Floors
from comfyfleet.house import House
from comfyfleet.kernel.errors import LeaseLost
from comfyfleet.kernel.ids import LaneId, WorkerId, new_id

CALLERS = 200
LANES, LANES_EACH = 200, 10


@dataclass(frozen=True)
class Desk:
    """What one process leases and completes through, for any number of callers at once."""

    house: House
    leasing: Leasing
    # Two leases at once would see the same heads, and one of them would look again.
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def lease(self, ask: Ask) -> Grant | None:
        async with self.turn, self.house.control_tx() as tx:
            return (await dispatch.lease_dispatches(tx, [ask], self.leasing)).get(ask)

    async def complete(self, report: Report) -> Ended | LeaseLost:
        async with self.house.control_tx() as tx:
            done = await dispatch.complete_dispatches(tx, [report], signer=self.leasing.signer)
        return done[report.proof.dispatch_id]


@asynccontextmanager
async def open_desk(house: House) -> AsyncIterator[Desk]:
    yield Desk(house, Leasing(house.leases, house.queue_rules, floors=Floors()))


async def enqueue(house: House, news: Sequence[NewDispatch]) -> None:
    async with house.control_tx() as tx:
        await dispatch.enqueue_dispatches(tx, news, rules=house.queue_rules)


@dataclass
class Caller:
    """A worker as the engine sees it: its lanes, one job at a time."""

    desk: Desk
    lanes: frozenset[LaneId]
    completed: int = 0
    holder: Holder = field(default_factory=lambda: Holder(WorkerId(new_id()), 1))

    async def cycle(self) -> None:
        grant = await self.desk.lease(Ask(self.holder, self.lanes, leases_max=2))
        if grant is None:
            # Found nothing, though plenty waits: another took it. As a worker would, ask again.
            await asyncio.sleep(0)
            return
        proof = LeaseProof(grant.dispatch_id, grant.token, self.holder)
        ended = await self.desk.complete(Report(proof, digest="digest"))
        assert isinstance(ended, Ended)  # noqa: S101 a bench that loses jobs measures nothing
        self.completed += 1

    async def work(self, until: float) -> None:
        while time.perf_counter() < until:
            await self.cycle()


@dataclass
class EngineDrain:
    """Lease + complete through the verbs: 200 callers, each with its own 10 of 200 lanes."""

    stock: Stock
    lanes: list[LaneId]
    waiting: int

    @classmethod
    def prepare(cls, ground: Ground, waiting: int) -> "EngineDrain":
        stock = Stock(ground.central("engine"))
        lanes = stock.lanes(LANES)
        stock.add(waiting, lanes, settle=True)
        return cls(stock, lanes, waiting)

    async def measure(self, ground: Ground, seconds: float) -> float:
        """Jobs completed a second; the first fifth is for warming up."""
        self.stock.refill(self.waiting, self.lanes)
        chance = random.Random(1)
        async with ground.house(self.stock.url) as house, open_desk(house) as desk:
            callers = [Caller(desk, frozenset(chance.sample(self.lanes, LANES_EACH))) for _ in range(CALLERS)]
            await _all_work(callers, seconds / 5)
            before, started = _total(callers), time.perf_counter()
            await _all_work(callers, seconds)
            return (_total(callers) - before) / (time.perf_counter() - started)


async def _all_work(callers: Sequence[Caller], seconds: float) -> None:
    until = time.perf_counter() + seconds
    await asyncio.gather(*(caller.work(until) for caller in callers))


def _total(callers: Sequence[Caller]) -> int:
    return sum(caller.completed for caller in callers)
