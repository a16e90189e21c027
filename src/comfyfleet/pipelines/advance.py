"""What a tenant's runs can do now, they do: jobs are begun, gates open by rule, and each run shows how it stands.

All of it is one transaction, in which the runs are held: a crash anywhere leaves nothing, or all of it, done.
"""

import random
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from comfyfleet import ledger
from comfyfleet.db import TenantTx
from comfyfleet.db.direct import each_of, length_of
from comfyfleet.jobs import Job, Submission
from comfyfleet.kernel.errors import EffectUnavailable, InvalidInput, KeyReused, Unavailable
from comfyfleet.kernel.ids import JobId, PipelineId, RunId, UserId
from comfyfleet.kernel.secret import Secret
from comfyfleet.pipelines import sql
from comfyfleet.pipelines.begin import Place, begin_job
from comfyfleet.pipelines.count import count_run, count_step
from comfyfleet.pipelines.frontier import Frontier, RunFrontier
from comfyfleet.pipelines.gates import open_by_rule
from comfyfleet.pipelines.look import read_frontiers
from comfyfleet.pipelines.model import Pipeline, Run
from comfyfleet.pipelines.policy import named, opens_for
from comfyfleet.pipelines.read import read_pipelines, read_steps
from comfyfleet.pipelines.recipe import Recipe, Recipes
from comfyfleet.pipelines.rules import RunRules
from comfyfleet.pipelines.select import (
    BaseGeneration,
    ChildGeneration,
    Generation,
    Outlook,
    begin,
    closed_gate,
    next_of_run,
    outlook,
    select_next,
)
from comfyfleet.pipelines.stand import show_stand
from comfyfleet.pipelines.unavailable import pause_reason

# A transaction must end soon, on a slow machine too: others of the tenant wait for it, and give up after ten seconds.
ORDERS_MAX = 25
LOOK_S = 0.5
TOKENS = "tokens"
SUSPENDED = "tenant_suspended"


@dataclass
class Advanced:
    """`to_score`: gates that a scorer has to open. `left_due`: runs that have to be looked at again. `submissions`: of
    the jobs, as the outbox has them.

    `has_more`: not for want of room: at once. `missed`: runs that somebody else held just then.
    """

    jobs: list[Job] = field(default_factory=list)
    to_score: list[tuple[RunId, int]] = field(default_factory=list)
    looked_at: int = 0
    left_due: int = 0
    has_more: bool = False
    missed: int = 0
    submissions: list[Submission] = field(default_factory=list)


@dataclass
class Round:
    """One look at the runs that are held. `paused`: why one cannot go on; `waits`: who is to be looked at again."""

    tx: TenantTx
    runs: dict[RunId, Run]
    over_time: set[RunId]
    pipelines: dict[PipelineId, Pipeline]
    recipes: Recipes
    rules: RunRules
    webhook_secret: Secret
    rng: random.Random
    frontier: Frontier = field(default_factory=lambda: Frontier((), 0))
    balances: dict[UserId, int] = field(default_factory=dict)
    paused: dict[RunId, str] = field(default_factory=dict)
    waits: set[RunId] = field(default_factory=set)
    begun: dict[RunId, list[tuple[int, Job]]] = field(default_factory=dict)
    submissions: list[Submission] = field(default_factory=list)
    views: dict[RunId, RunFrontier] = field(default_factory=dict)
    counted: set[JobId] = field(default_factory=set)
    until: float = field(default_factory=lambda: time.monotonic() + LOOK_S)
    is_cut: bool = False

    async def look(self, run_ids: Sequence[RunId]) -> None:
        wanted = {run_id: self.runs[run_id] for run_id in run_ids}
        self.views |= await read_frontiers(self.tx, wanted, self.over_time, self.pipelines, self.recipes)

    async def hold_wallets(self) -> None:
        """Of those whose runs have something to begin; by their ids, as everybody does who needs several."""
        for user_id in sorted({self.runs[view.id].user_id for view in self.frontier.runs if self._is_ready(view)}):
            if user_id not in self.balances:
                self.balances[user_id] = (await ledger.hold_wallet(self.tx, user_id)).balance

    def _is_ready(self, view: RunFrontier) -> bool:
        return view.has_room and next_of_run(view, self.rng) is not None

    async def begin_all(self) -> None:
        """As long as there is room and something to begin, each run in its turn."""
        blocked = self.paused.keys() | self.waits
        ready = tuple(view for view in self.views.values() if view.id not in blocked)
        self.frontier = Frontier(ready, self.frontier.room)
        await self.hold_wallets()
        while isinstance(found := select_next(self.frontier, self.rng), (BaseGeneration, ChildGeneration)):
            await self._begin(found)
            if time.monotonic() > self.until:
                self.is_cut = True
                break
        self.views |= {view.id: view for view in self.frontier.runs}

    async def _begin(self, found: Generation) -> None:
        run = self.runs[found.run_id]
        step = self.pipelines[run.pipeline_id].steps[found.position]
        recipe = self.recipes.get(step.effect)
        if not isinstance(recipe, Recipe):
            if isinstance(recipe, Unavailable):
                self._set_aside(run.id)
            elif isinstance(recipe, EffectUnavailable):
                self._pause(run.id, pause_reason(recipe))
            else:
                self._pause(run.id, recipe.message if recipe is not None else f"There is no effect {step.effect!r}.")
            return
        if self.balances[run.user_id] < recipe.price:
            self._pause(run.id, TOKENS)
            return
        try:
            placed = await begin_job(
                self.tx,
                run,
                step,
                Place.of(found),
                recipe,
                rules=self.rules.jobs,
                webhook_secret=self.webhook_secret,
            )
        except (InvalidInput, KeyReused) as problem:
            # The effect changed since the run was started: somebody has to look at it.
            self._pause(run.id, f"Step {step.name!r} cannot be made: {problem.message}")
            return
        if placed is None:
            await self._see_again(run.id)
            return
        if placed.submission is not None:
            self.submissions.append(placed.submission)
        self.balances[run.user_id] -= recipe.price
        # Whoever was served last is last.
        self.begun[run.id] = [*self.begun.pop(run.id, []), (found.position, placed.job)]
        self.frontier = begin(self.frontier, found)

    async def _see_again(self, run_id: RunId) -> None:
        """What is there has changed."""
        await self._count_and_look([run_id])
        seen = tuple(self.views[run_id] if view.id == run_id else view for view in self.frontier.runs)
        self.frontier = replace(self.frontier, runs=seen)

    async def _count_and_look(self, run_ids: Sequence[RunId]) -> None:
        for run_id in run_ids:
            await self.write_counts(run_id)
            self.runs[run_id] = Run.from_row(await self.tx.one(sql.hold_run_of_house(), of_run=run_id))
        await self.look(run_ids)

    def _pause(self, run_id: RunId, reason: str) -> None:
        self.paused[run_id] = reason
        self._leave(run_id)

    def pause_what_is_not_over(self, reason: str) -> None:
        for view in self.views.values():
            is_over = next_of_run(view, self.rng) is None and outlook(view) in (Outlook.DONE, Outlook.FAILED)
            if not is_over:
                self.paused[view.id] = reason

    def _set_aside(self, run_id: RunId) -> None:
        self.waits.add(run_id)
        self._leave(run_id)

    def _leave(self, run_id: RunId) -> None:
        self.views |= {view.id: view for view in self.frontier.runs if view.id == run_id}
        self.frontier = self.frontier.without(run_id)

    async def open_gates(self) -> list[tuple[RunId, int]]:
        """By the runs' own rules. Those that a scorer has to open come back."""
        to_score, opened = [], []
        for run_id, view in self.views.items():
            position = closed_gate(view)
            if run_id in self.paused or outlook(view) is not Outlook.WAITING or position is None:
                continue
            run = self.runs[run_id]
            step = (await read_steps(self.tx, [run_id]))[run_id][position]
            top = opens_for(run.approval, step, top=run.top)
            if top is not None:
                await open_by_rule(self.tx, run_id, position, top=top, by=named(run.approval))
                opened.append(run_id)
            elif run.approval.kind == "scorer":
                to_score.append((run_id, position))
        if not opened:
            return to_score
        await self._count_and_look(opened)
        await self.begin_all()
        return await self.open_gates()

    async def write_counts(self, run_id: RunId) -> None:
        jobs, tokens = await self._count_steps(run_id)
        await count_run(self.tx, run_id, in_flight=jobs, jobs_started=jobs, tokens_spent=tokens)

    async def _count_steps(self, run_id: RunId) -> tuple[int, int]:
        """Those of its steps are written; how many jobs and tokens are to be added to its own comes back."""
        fresh = [(position, job) for position, job in self.begun.get(run_id, []) if job.id not in self.counted]
        for position, count in Counter(position for position, _ in fresh).items():
            await count_step(self.tx, run_id, position, in_flight=count, started=count)
        self.counted |= {job.id for _, job in fresh}
        return len(fresh), sum(job.reserved_tokens for _, job in fresh)

    async def close(self, run_id: RunId, *, turn: int, stays_due: bool) -> None:
        """Its counts and its turn, in one statement: this is written for every look at a run."""
        jobs, tokens = await self._count_steps(run_id)
        by = {"by_in_flight": jobs, "by_jobs": jobs, "by_tokens": tokens}
        await self.tx.run(sql.mark_served(stays_due=stays_due), of_run=run_id, turn=turn, **by)


async def advance_runs(
    tx: TenantTx,
    run_ids: Sequence[RunId],
    recipes: Recipes,
    *,
    rules: RunRules,
    webhook_secret: Secret,
    rng: random.Random,
    is_suspended: bool = False,
) -> Advanced:
    """Of these, those that are due, that nobody else holds, and whose effects are among the recipes.

    `is_suspended`: of a suspended tenant. Nothing is begun and no gate opens; what is not over is paused.
    """
    await tx.all(sql.hold_tenant())
    rows = await tx.all(sql.hold_due(length_of(run_ids)), **each_of("run", run_ids))
    held = {row.id for row in rows}
    others = [run_id for run_id in run_ids if run_id not in held]
    missed = len(await tx.all(sql.still_due(others))) if others else 0
    room = rules.jobs_per_tenant_max - len(await tx.all(sql.jobs_under_way(rows=rules.jobs_per_tenant_max)))
    if is_suspended:
        room = 0
    done = await _advance_held(
        tx,
        rows,
        recipes,
        room=room,
        rules=rules,
        webhook_secret=webhook_secret,
        rng=rng,
        is_suspended=is_suspended,
    )
    done.missed = missed
    return done


async def go_on(
    tx: TenantTx,
    ended: Mapping[RunId, int],
    recipes: Recipes,
    *,
    rules: RunRules,
    webhook_secret: Secret,
    rng: random.Random,
) -> Advanced:
    """Runs of which so many jobs have ended in this transaction, which holds them: they begin as many, and no more.

    So the tenant has no more under way than before, and need not be held. Where others wait for their turn, nothing is
    begun here: all stay due.
    """
    run_ids = list(ended)
    if await tx.all(sql.others_due(length_of(run_ids)), **each_of("run", run_ids)):
        return Advanced(looked_at=len(ended), left_due=len(ended))
    rows = await tx.all(sql.hold_due(length_of(run_ids)), **each_of("run", run_ids))
    under_way = await tx.all(sql.jobs_under_way(rows=rules.jobs_per_tenant_max))
    room = min(sum(ended.values()), rules.jobs_per_tenant_max - len(under_way))
    return await _advance_held(tx, rows, recipes, room=room, rules=rules, webhook_secret=webhook_secret, rng=rng)


async def _advance_held(
    tx: TenantTx,
    rows: Sequence[Any],
    recipes: Recipes,
    *,
    room: int,
    rules: RunRules,
    webhook_secret: Secret,
    rng: random.Random,
    is_suspended: bool = False,
) -> Advanced:
    pipelines = await read_pipelines(tx, [row.pipeline_id for row in rows])
    known = {each.id for each in pipelines.values() if all(step.effect in recipes for step in each.steps)}
    runs = {row.id: Run.from_row(row) for row in rows if row.pipeline_id in known}
    unknown = len(rows) - len(runs)
    if not runs:
        return Advanced(looked_at=unknown, left_due=unknown)
    over_time = {row.id for row in rows if row.is_over_time}
    this = Round(tx, runs, over_time, pipelines, recipes, rules, webhook_secret, rng)
    this.frontier = Frontier((), min(room, ORDERS_MAX))
    await this.look(list(runs))
    if is_suspended:
        this.pause_what_is_not_over(SUSPENDED)
        to_score = []
    else:
        await this.begin_all()
        to_score = await this.open_gates()
    done = await _close(this, to_score, has_room=room > ORDERS_MAX)
    done.looked_at += unknown
    done.left_due += unknown
    return done


async def _close(this: Round, to_score: list[tuple[RunId, int]], *, has_room: bool) -> Advanced:
    scored = {run_id for run_id, _ in to_score}
    done = Advanced([job for begun in this.begun.values() for _, job in begun], to_score, len(this.runs))
    now_turn = max(time.time_ns() // 1000, *(run.last_turn for run in this.runs.values()))
    turns = {run_id: now_turn + number for number, run_id in enumerate(this.begun, 1)}
    for run_id, view in this.views.items():
        stays_due = run_id in scored | this.waits or (
            run_id not in this.paused and view.has_room and next_of_run(view, this.rng) is not None
        )
        await this.close(run_id, turn=turns.get(run_id, this.runs[run_id].last_turn), stays_due=stays_due)
        await show_stand(this.tx, this.runs[run_id], view, paused=this.paused.get(run_id), is_scored=run_id in scored)
        done.left_due += stays_due
    done.submissions = this.submissions
    done.has_more = this.is_cut or (has_room and len(done.jobs) >= ORDERS_MAX)
    return done
