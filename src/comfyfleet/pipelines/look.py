"""How far runs have come: the little that the next choice needs, read from counts and ranks, never from whole trees."""

from collections.abc import Mapping, Sequence
from typing import Any

from comfyfleet.db import TenantTx
from comfyfleet.kernel.ids import PipelineId, RunId
from comfyfleet.pipelines.frontier import Budget, Parent, RunFrontier, Stage
from comfyfleet.pipelines.model import Pipeline, Run, RunStep
from comfyfleet.pipelines.read import read_steps
from comfyfleet.pipelines.recipe import Recipes, price_of
from comfyfleet.pipelines.select import FAILURES_MAX, is_hopeless
from comfyfleet.pipelines.tree import sql


async def read_frontiers(
    tx: TenantTx,
    runs: Mapping[RunId, Run],
    over_time: set[RunId],
    pipelines: Mapping[PipelineId, Pipeline],
    recipes: Recipes,
) -> dict[RunId, RunFrontier]:
    steps = await read_steps(tx, list(runs))
    found = {}
    for run_id, run in runs.items():
        prices = [price_of(recipes.get(step.effect)) for step in pipelines[run.pipeline_id].steps]
        needs_parents = _needs_parents(run, steps[run_id][0])
        stages = [await _stage(tx, run_id, steps[run_id], at, price, needs_parents) for at, price in enumerate(prices)]
        budget = budget_of(run, is_over_time=run_id in over_time)
        found[run_id] = RunFrontier(run_id, tuple(stages), run.concurrency, budget, run.finals)
    return found


def _needs_parents(run: Run, base: RunStep) -> bool:
    """Not while nothing can be begun, nor while the first step takes all the room there is: it comes first."""
    is_over = is_hopeless(made=base.made, failures=base.failures)
    left = 0 if is_over else base.variants - base.made - base.in_flight
    return max(left, 0) < run.concurrency - run.in_flight


def budget_of(run: Run, *, is_over_time: bool) -> Budget:
    return Budget(
        jobs=None if run.jobs_max is None else run.jobs_max - run.jobs_started,
        tokens=None if run.tokens_max is None else run.tokens_max - run.tokens_spent,
        is_over_time=is_over_time,
    )


async def _stage(
    tx: TenantTx, run_id: RunId, steps: Sequence[RunStep], position: int, price: int, needs_parents: bool
) -> Stage:
    step = steps[position]
    counts = {name: getattr(step, name) for name in ("made", "alive", "in_flight", "started", "failures")}
    if position == 0:
        return Stage(0, step.variants, price=price, **counts)
    before = steps[position - 1]
    parents = await _parents(tx, run_id, before, step.variants) if before.alive and needs_parents else ()
    return Stage(position, step.variants, before.top is not None, before.top or 0, parents, price, **counts)


async def _parents(tx: TenantTx, run_id: RunId, before: RunStep, variants: int) -> tuple[Parent, ...]:
    """Behind a closed gate one will do: somebody waits."""
    if before.top is None:
        rows = await tx.all(sql.best(top=1), of_run=run_id, at_step=before.position)
    else:
        rows = await tx.all(
            sql.fertile(top=before.top, failures_max=FAILURES_MAX),
            of_run=run_id,
            at_step=before.position,
            variants=variants,
        )
    return tuple(_parent(row) for row in rows)


def _parent(row: Any) -> Parent:
    return Parent(row.id, row.elo, row.children, row.started, row.failures)
