"""Leasing beside somebody who holds an old snapshot open: a dump, a report, a forgotten transaction."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median

import psycopg

from bench.dispatch.engine import Caller, make_workers, open_desk
from bench.dispatch.ground import Ground
from bench.dispatch.stock import Stock, workflow_id
from comfyfleet.dispatch import Grant
from comfyfleet.kernel.ids import LaneId

CALLERS, LANES = 8, 10
BACKLOG = 20_000
TOP_UP_EVERY_S = 1.0


@dataclass
class TimedCaller(Caller):
    """When each of its leases was asked for, and how long it took."""

    times: list[tuple[float, float]] = field(default_factory=list)

    async def lease(self) -> Grant | None:
        began = time.perf_counter()
        grant = await super().lease()
        self.times.append((began, time.perf_counter() - began))
        return grant


async def lease_p50_ms(ground: Ground, name: str, seconds: float, *, beside_snapshot: bool) -> float:
    """Of the last third: what piles up behind the snapshot has piled up by then."""
    stock = Stock(ground.central(name))
    lanes = stock.lanes(LANES)
    stock.add(BACKLOG, lanes, settle=True)
    workers = await make_workers(stock.url, [[workflow_id(number) for number in range(LANES)]] * CALLERS)
    async with open_desk(ground, stock.url) as desk:
        callers = [TimedCaller(desk, worker) for worker in workers]
        until = time.perf_counter() + seconds
        with _open_snapshot(stock.url, wanted=beside_snapshot):
            async with asyncio.TaskGroup() as group:
                for caller in callers:
                    group.create_task(caller.work(until))
                group.create_task(_keep_filled(stock, lanes, until))
    late = [took for caller in callers for began, took in caller.times if began > until - seconds / 3]
    return median(late) * 1000


async def _keep_filled(stock: Stock, lanes: list[LaneId], until: float) -> None:
    while time.perf_counter() < until:
        await asyncio.to_thread(stock.refill, BACKLOG, lanes)
        await asyncio.sleep(TOP_UP_EVERY_S)


@contextmanager
def _open_snapshot(url: str, *, wanted: bool) -> Iterator[None]:
    if not wanted:
        yield
        return
    with psycopg.connect(url) as connection:
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        connection.execute("SELECT count(*) FROM lanes")
        yield
        connection.rollback()
