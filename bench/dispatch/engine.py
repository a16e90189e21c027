"""The product's own side of every figure: how a caller leases, completes and enqueues inside one process.

`Verbs` is one statement sequence on one connection; the desk is what the server has, where calls that come at once
share statements. The other modules know these two and `enqueue`; what the engine does behind them may change.
"""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from bench.dispatch.ground import SIGNING_KEY, Ground
from bench.dispatch.stock import Stock, workflow_id
from comfyfleet import dispatch, fleet
from comfyfleet.db import Database, open_database
from comfyfleet.desk import Desk, Poll
from comfyfleet.dispatch import (
    Ask,
    Floors,
    Grant,
    Holder,
    LeaseProof,
    LeaseSigner,
    Leasing,
    NewDispatch,
    QueueRules,
    Report,
)
from comfyfleet.fleet import FleetRules, NewWorker, Worker
from comfyfleet.house import House
from comfyfleet.kernel.ids import LaneId, WorkflowId
from comfyfleet.kernel.secret import Secret

CALLERS = 200
LANES, LANES_EACH = 200, 10
PROVIDERS = frozenset({"self_hosted"})


@dataclass(frozen=True)
class Verbs:
    """The verbs on a connection as the desk's are."""

    database: Database
    leasing: Leasing

    async def lease(self, ask: Ask) -> Grant | None:
        async with self.database.control_tx() as tx:
            return (await dispatch.lease_dispatches(tx, [ask], self.leasing)).grants.get(ask)


@asynccontextmanager
async def open_verbs(url: str) -> AsyncIterator[Verbs]:
    database = open_database("central", url, pool_size=1, prepares=True)
    try:
        yield Verbs(database, Leasing(LeaseSigner(Secret(SIGNING_KEY)), QueueRules(), floors=Floors()))
    finally:
        await database.close()


@asynccontextmanager
async def open_desk(ground: Ground, url: str) -> AsyncIterator[Desk]:
    async with ground.house(url) as house:
        house.desk.start()
        # Its first look, which a server takes within two seconds: until then it knows no lanes.
        await house.desk.polls.look()
        try:
            yield house.desk
        finally:
            await house.desk.stop()


async def enqueue(house: House, news: Sequence[NewDispatch]) -> None:
    """As an edge does: committed first, then whoever waits is woken, here or at another replica."""
    async with house.queue_tx() as tx:
        placed = await dispatch.enqueue_dispatches(tx, news, rules=house.queue_rules)
    house.desk.queued(placed.values())


async def make_workers(url: str, sets: Sequence[Sequence[WorkflowId]]) -> list[Worker]:
    """One worker for each set of workflows."""
    database, made = open_database("central", url), []
    async with database.control_tx() as tx:
        for number, own in enumerate(sets):
            new = NewWorker(worker_id=f"bench-{number}", address="127.0.0.1")
            found = await fleet.register_worker(tx, new, fleet=None, own_workflows=own, rules=FleetRules())
            made.append(found.worker)
    await database.close()
    return made


@dataclass
class Caller:
    """A worker as the desk sees it: one job at a time."""

    desk: Desk
    worker: Worker
    completed: int = 0

    async def cycle(self) -> None:
        grant = await self.lease()
        if grant is None:
            return
        proof = LeaseProof(grant.dispatch_id, grant.token, Holder(self.worker.id, self.worker.incarnation))
        await self.desk.complete(Report(proof, digest="digest"))
        self.completed += 1

    async def lease(self) -> Grant | None:
        return await self.desk.poll(Poll(self.worker, PROVIDERS, leases_max=2), wait_s=0)

    async def work(self, until: float) -> None:
        while time.perf_counter() < until:
            await self.cycle()


@dataclass
class EngineDrain:
    """Lease + complete through the desk: 200 callers, each with its own 10 of 200 workflows."""

    stock: Stock
    lanes: list[LaneId]
    workers: list[Worker]
    waiting: int

    @classmethod
    async def prepare(cls, ground: Ground, waiting: int) -> "EngineDrain":
        stock, chance = Stock(ground.central("engine")), random.Random(1)
        lanes = stock.lanes(LANES)
        stock.add(waiting, lanes, settle=True)
        known = [workflow_id(number) for number in range(LANES)]
        workers = await make_workers(stock.url, [chance.sample(known, LANES_EACH) for _ in range(CALLERS)])
        return cls(stock, lanes, workers, waiting)

    async def measure(self, ground: Ground, seconds: float) -> float:
        """Jobs completed a second; the first fifth is for warming up."""
        self.stock.refill(self.waiting, self.lanes)
        async with open_desk(ground, self.stock.url) as desk:
            callers = [Caller(desk, worker) for worker in self.workers]
            await _all_work(callers, seconds / 5)
            before, started = _total(callers), time.perf_counter()
            await _all_work(callers, seconds)
            return (_total(callers) - before) / (time.perf_counter() - started)


async def _all_work(callers: Sequence[Caller], seconds: float) -> None:
    until = time.perf_counter() + seconds
    await asyncio.gather(*(caller.work(until) for caller in callers))


def _total(callers: Sequence[Caller]) -> int:
    return sum(caller.completed for caller in callers)
