"""One selection: the frontier read from counts and ranks, and the choice itself; with few candidates and with many."""

import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from statistics import median

import psycopg

from bench.dispatch.ground import Ground
from bench.jobs.studio import Studio
from bench.pipelines.studio import open_pipeline, start_run
from comfyfleet.house import House
from comfyfleet.kernel.ids import RunId
from comfyfleet.pipelines import Pipeline, read_run_of_house
from comfyfleet.pipelines.frontier import Frontier
from comfyfleet.pipelines.look import read_frontiers
from comfyfleet.pipelines.select import ChildGeneration, select_next
from comfyfleet.upkeep.advance_runs import read_recipes

TOP = 20
# Candidates, written by the database itself: the tree of a run that has come far. The first step has its own; the
# second has many, and the third is being made.
CANDIDATES = """INSERT INTO candidates (id, tenant_id, run_id, position, parent_id, job_id, file_id, image_index, seed,
 status, is_passed, elo, rank, votes, children, started, failures, created_at)
SELECT md5(%(run)s::text || n)::uuid, %(tenant)s::uuid, %(run)s::uuid, CASE WHEN n < 20 THEN 0 ELSE 1 END,
 CASE WHEN n < 20 THEN NULL ELSE md5(%(run)s::text || n %% 20)::uuid END, gen_random_uuid(), gen_random_uuid(), 0, n,
 'active', true, 1000 + n %% 97, -(1000 + n %% 97), 0, 0, 0, 0, now() FROM generate_series(0, %(last)s) n"""
STEPS = """UPDATE pipeline_run_steps SET made = CASE position WHEN 0 THEN 20 WHEN 1 THEN %(count)s::int - 20 ELSE 0 END,
 alive = CASE position WHEN 0 THEN 20 WHEN 1 THEN %(count)s::int - 20 ELSE 0 END, started = 20,
 top = CASE WHEN position < 2 THEN 20 END, approved_by = 'bench',
 approved_at = CASE WHEN position < 2 THEN now() END WHERE run_id = %(run)s::uuid"""
PARENTS = """UPDATE candidates SET children = 5 WHERE run_id = %(run)s::uuid AND position = 0"""


@dataclass(frozen=True, slots=True)
class Cost:
    whole_ms: float
    choice_ms: float


@dataclass(frozen=True)
class FullRun:
    studio: Studio
    house: House
    pipeline: Pipeline
    run_id: RunId

    async def measure(self, selections: int) -> Cost:
        """Medians. No transaction is begun or ended in between: what is measured is the choice."""
        rng = random.Random(1)
        recipes = await read_recipes(self.house, {step.effect for step in self.pipeline.steps})
        whole, choice = [], []
        async with self.house.tenant_tx(self.studio.home, read_only=True) as tx:
            run = await read_run_of_house(tx, self.run_id)
            assert run is not None  # noqa: S101 it was made above
            for _ in range(selections):
                began = time.perf_counter()
                found = await read_frontiers(tx, {run.id: run}, set(), {self.pipeline.id: self.pipeline}, recipes)
                read = time.perf_counter()
                selected = select_next(Frontier(tuple(found.values()), 10), rng)
                ended = time.perf_counter()
                assert isinstance(selected, ChildGeneration)  # noqa: S101 else nothing was measured
                whole.append(ended - began)
                choice.append(ended - read)
        return Cost(median(whole) * 1000, median(choice) * 1000)


@asynccontextmanager
async def open_full_run(ground: Ground, name: str, candidates: int) -> AsyncIterator[FullRun]:
    async with open_pipeline(ground, name) as (studio, house, pipeline, _):
        run_id = await start_run(studio, house, pipeline, 1, variants=5, top=TOP, concurrency=5)
        values = {"run": str(run_id), "tenant": str(studio.tenant.id), "last": candidates - 1, "count": candidates}
        with psycopg.connect(studio.pool_url, autocommit=True) as connection:
            for statement in (CANDIDATES, STEPS, PARENTS, "VACUUM ANALYZE"):
                connection.execute(statement, values if "%(" in statement else None)
        yield FullRun(studio, house, pipeline, run_id)
