"""What the control plane keeps in memory behind it: jobs ordered, leased, completed and settled over HTTP, and gone."""

import asyncio
from dataclasses import dataclass

import psycopg

from bench.dispatch.ground import Ground
from bench.dispatch.processes import next_line, resident_mb, simulated_workers
from bench.jobs.create import HttpCreation, serve
from bench.jobs.studio import SLUG, Studio, open_studio
from comfyfleet import fleet
from comfyfleet.fleet import FleetRules, NewWorker
from comfyfleet.house import House

WORKERS, CALLERS = 16, 16
LOOK_EVERY_S, SETTLE_S = 0.5, 2.0
WITHIN_S = 7200.0
UNDER_WAY = "SELECT count(*) FROM ai_jobs WHERE status IN ('queued', 'processing')"


@dataclass(frozen=True, slots=True)
class Remembered:
    few_mb: float
    many_mb: float


async def measure(ground: Ground, *, few: int, many: int) -> Remembered:
    async with (
        open_studio(ground, "memory") as (studio, house),
        serve(ground, "memory", studio) as server,
    ):
        workers = await _hire(house, studio)
        pid = server.process.pid if server.process is not None else 0
        creation = HttpCreation(server.port, CALLERS)
        order = {"mode": "park", "port": server.port, "workers": workers}
        async with simulated_workers(order) as process:
            await next_line(process)
            reading = asyncio.create_task(_read_on(process))
            try:
                await creation.create(few)
                await _until_settled(studio, reading)
                first_mb = resident_mb(pid)
                await creation.create(many - few)
                await _until_settled(studio, reading)
                return Remembered(first_mb, resident_mb(pid))
            finally:
                reading.cancel()


async def _hire(house: House, studio: Studio) -> list[tuple[str, str]]:
    made = []
    async with house.control_tx() as tx:
        crew = await fleet.create_fleet(tx, slug=SLUG, stage="production", name="Bench")
        await fleet.assign_workflow(tx, crew.id, studio.workflow_id)
        for number in range(WORKERS):
            new = NewWorker(worker_id=f"bench-{number}", address="127.0.0.1")
            found = await fleet.register_worker(tx, new, fleet=crew, rules=FleetRules())
            made.append((new.worker_id, found.token.reveal()))
    return made


async def _read_on(process: asyncio.subprocess.Process) -> None:
    """Each lease is a line; who does not read them would stop the workers."""
    while True:
        await next_line(process)


async def _until_settled(studio: Studio, reading: "asyncio.Task[None]") -> None:
    """Until no job is under way, and what was borrowed for them has been given back."""
    async with asyncio.timeout(WITHIN_S):
        while await asyncio.to_thread(_under_way, studio):
            if reading.done():
                reading.result()
            await asyncio.sleep(LOOK_EVERY_S)
    await asyncio.sleep(SETTLE_S)


def _under_way(studio: Studio) -> int:
    with psycopg.connect(studio.pool_url, autocommit=True) as connection:
        row = connection.execute(UNDER_WAY).fetchone()
        return int(row[0]) if row else 0
