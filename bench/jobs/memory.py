"""What the control plane keeps in memory behind it: jobs ordered, leased, completed and settled over HTTP, and gone."""

import asyncio
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import psycopg

from bench.dispatch.ground import Ground
from bench.dispatch.processes import resident_mb
from bench.dispatch.wire import SimulatedWorker
from bench.jobs.create import HttpCreation, serve
from bench.jobs.studio import SLUG, Studio, open_studio
from bench.jobs.workers import at_work
from comfyfleet import fleet
from comfyfleet.fleet import FleetRules, NewWorker
from comfyfleet.house import House

WORKERS, CALLERS = 16, 16
AT_A_TIME = 300
LOOK_EVERY_S, SETTLE_S = 0.5, 2.0
WITHIN_S = 600.0
UNDER_WAY = "SELECT count(*) FROM ai_jobs WHERE status IN ('queued', 'processing')"


@dataclass(frozen=True, slots=True)
class Remembered:
    few_mb: float
    many_mb: float
    jobs: int


async def measure(ground: Ground, *, few: int, many: int, within_s: float) -> Remembered:
    """So many jobs, or beyond the few as many as there is time for."""
    async with (
        open_studio(ground, "memory") as (studio, house),
        serve(ground, "memory", studio) as server,
    ):
        pid = server.process.pid if server.process is not None else 0
        creation = HttpCreation(server.port, CALLERS)
        async with at_work(server.port, await _hire(house, studio)) as workers:
            await _order(creation, studio, workers, few, until=math.inf)
            few_mb = resident_mb(pid)
            await _order(creation, studio, workers, many, until=time.monotonic() + within_s)
            return Remembered(few_mb, resident_mb(pid), creation.created)


async def _hire(house: House, studio: Studio) -> list[SimulatedWorker]:
    made = []
    async with house.control_tx() as tx:
        crew = await fleet.create_fleet(tx, slug=SLUG, stage="production", name="Bench")
        await fleet.assign_workflow(tx, crew.id, studio.workflow_id)
        for number in range(WORKERS):
            new = NewWorker(worker_id=f"bench-{number}", address="127.0.0.1")
            found = await fleet.register_worker(tx, new, fleet=crew, rules=FleetRules())
            made.append(SimulatedWorker(new.worker_id, found.token.reveal()))
    return made


async def _order(
    creation: HttpCreation, studio: Studio, workers: Sequence["asyncio.Task[None]"], jobs: int, *, until: float
) -> None:
    """Until there are so many, a few hundred at a time; then until all of them have ended and all is quiet."""
    while creation.created < jobs and time.monotonic() < until:
        await creation.create(min(AT_A_TIME, jobs - creation.created))
        await _until_left(AT_A_TIME, studio, workers)
    await _until_left(0, studio, workers)
    await asyncio.sleep(SETTLE_S)


async def _until_left(left: int, studio: Studio, workers: Sequence["asyncio.Task[None]"]) -> None:
    async with asyncio.timeout(WITHIN_S):
        while await asyncio.to_thread(_under_way, studio) > left:
            for stopped in (task for task in workers if task.done()):
                stopped.result()
            await asyncio.sleep(LOOK_EVERY_S)


def _under_way(studio: Studio) -> int:
    with psycopg.connect(studio.pool_url, autocommit=True) as connection:
        row = connection.execute(UNDER_WAY).fetchone()
        return int(row[0]) if row else 0
