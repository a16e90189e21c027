"""Runs on simulated workers, with one server process: are the workers kept busy, and how soon comes the next job?"""

import asyncio
import itertools
import json
import random
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

import psycopg

from bench.dispatch.ground import Ground
from bench.dispatch.wire import SimulatedWorker, open_line
from bench.jobs.create import serve
from bench.jobs.studio import SLUG
from bench.jobs.workers import Hand
from bench.pipelines.scale import Scale
from bench.pipelines.studio import JOBS_AT_ONCE_MAX, open_pipeline, start_run
from comfyfleet import fleet
from comfyfleet.fleet import FleetRules, NewWorker
from comfyfleet.house import House
from comfyfleet.kernel.ids import WorkflowId

POLL_S = 20
FINISHED = "SELECT id, queued_at, finished_at FROM ai_job_dispatches"
PLACES = "SELECT job_id, run_id FROM run_jobs"
ALL_AT_WORK_WITHIN_S = 120.0
# No two pictures take the same time; fifty workers that end at the same instant are a thing of benches.
SPREAD = 0.3


@dataclass
class Clock:
    """When the workers had work, as they know it."""

    spans: list[tuple[float, float]] = field(default_factory=list)
    at_work: dict[str, float] = field(default_factory=dict)

    def busy_s(self, start: float, end: float) -> float:
        spans = [*self.spans, *((since, end) for since in self.at_work.values())]
        return sum(max(0.0, min(till, end) - max(since, start)) for since, till in spans)


@dataclass
class Sleeper(Hand):
    """A job takes about as long as it says, and its time begins when it is handed over."""

    port: int
    job_s: float
    clock: Clock
    chance: random.Random

    async def work(self) -> None:
        try:
            while True:
                job = json.loads(await self.line.call(self.worker.poll(wait_s=POLL_S)))["job"]
                if job is not None:
                    await self._run({name: job[name] for name in ("dispatch_id", "lease_token")})
        finally:
            self.line.close()

    async def _run(self, lease: dict[str, str]) -> None:
        began = self.clock.at_work[self.worker.worker_id] = time.monotonic()
        await self._say("heartbeat", current_load=1, leases=[lease])
        # A server hangs up on who says nothing for so long.
        self.line.close()
        await asyncio.sleep(self.job_s * self.chance.uniform(1 - SPREAD, 1 + SPREAD))
        self.line = await open_line(self.port)
        await self._deliver(lease)
        del self.clock.at_work[self.worker.worker_id]
        self.clock.spans.append((began, time.monotonic()))


@dataclass(frozen=True, slots=True)
class Fed:
    share: float
    gaps_ms: Sequence[float]
    jobs: int


async def measure(ground: Ground, scale: Scale) -> Fed:
    """Each run has one job under way at a time: the next one is a child, or another of its parent's children."""
    async with (
        open_pipeline(ground, "feed") as (studio, house, pipeline, refine),
        serve(ground, "feed", studio, RUN_JOBS_PER_TENANT_MAX=str(JOBS_AT_ONCE_MAX)) as server,
    ):
        workers = await _hire(house, [studio.workflow_id, refine], scale.workers)
        for number in range(scale.runs):
            await start_run(studio, house, pipeline, number, variants=3, top=3, concurrency=1)
        clock = Clock()
        sleepers = [
            Sleeper(worker, await open_line(server.port), server.port, scale.job_s, clock, random.Random(number))
            for number, worker in enumerate(workers)
        ]
        tasks = [asyncio.create_task(each.work()) for each in sleepers]
        try:
            start, end = await _count(scale, clock, tasks)
            share = clock.busy_s(start, end) / (scale.workers * (end - start))
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        gaps = await asyncio.to_thread(_gaps_ms, studio.central_url, studio.pool_url)
        return Fed(share, gaps, len(clock.spans))


async def _count(scale: Scale, clock: Clock, tasks: Sequence["asyncio.Task[None]"]) -> tuple[float, float]:
    """From the moment when all have work."""
    async with asyncio.timeout(ALL_AT_WORK_WITHIN_S):
        while len(clock.at_work) < scale.workers:
            await asyncio.sleep(0.1)
            _require_alive(tasks)
    await asyncio.sleep(scale.warm_up_s)
    start = time.monotonic()
    await asyncio.sleep(scale.seconds)
    _require_alive(tasks)
    return start, time.monotonic()


def _require_alive(tasks: Sequence["asyncio.Task[None]"]) -> None:
    for stopped in (task for task in tasks if task.done()):
        stopped.result()


async def _hire(house: House, workflow_ids: Sequence[WorkflowId], count: int) -> list[SimulatedWorker]:
    made = []
    async with house.control_tx() as tx:
        crew = await fleet.create_fleet(tx, slug=SLUG, stage="production", name="Bench")
        for workflow_id in workflow_ids:
            await fleet.assign_workflow(tx, crew.id, workflow_id)
        for number in range(count):
            new = NewWorker(worker_id=f"bench-{number}", address="127.0.0.1")
            found = await fleet.register_worker(tx, new, fleet=crew, rules=FleetRules())
            made.append(SimulatedWorker(new.worker_id, found.token.reveal()))
    return made


def _gaps_ms(central_url: str, pool_url: str) -> list[float]:
    """By the databases' own clock: a run's job finished → its next one stands in the queue."""
    with psycopg.connect(pool_url) as pool:
        runs: dict[UUID, UUID] = dict(pool.execute(PLACES).fetchall())
    jobs: dict[UUID, list[tuple[datetime, datetime | None]]] = defaultdict(list)
    with psycopg.connect(central_url) as central:
        for name, queued_at, finished_at in central.execute(FINISHED).fetchall():
            if name in runs:
                jobs[runs[name]].append((queued_at, finished_at))
    gaps = []
    for times in jobs.values():
        times.sort(key=lambda each: each[0])
        for (_, finished_at), (queued_at, _) in itertools.pairwise(times):
            if finished_at is not None:
                gaps.append((queued_at - finished_at).total_seconds() * 1000)
    return sorted(gaps)
