"""A tenant with a pipeline of three steps, its runs, and every step of a run's way as one call.

Jobs end by settlements made here, as the queue would make them: the queue itself has its own tests.
"""

import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from comfyfleet import jobs, pipelines, webhooks
from comfyfleet.checks import POOL, check_invariants
from comfyfleet.db.tables import ai_jobs, candidates, pipeline_run_steps, pipeline_runs, run_jobs, webhook_events
from comfyfleet.dispatch import DispatchStatus
from comfyfleet.dispatch.settlements import Settlement
from comfyfleet.house import House
from comfyfleet.kernel.ids import CandidateId, DispatchId, JobId, RunId, SettlementId, new_id
from comfyfleet.pipelines import Approval, Candidate, NewRun, Pipeline, Run, RunStep
from comfyfleet.upkeep import advance_runs
from comfyfleet.workflows import effects
from tests.api.ordering import an_effect
from tests.builders import Member, a_member, balance, credit

RICH = 100_000
PRICE = 10
STEPS: list[dict[str, Any]] = [
    {"name": "Base", "effect": "base", "needs": {"variables": ["subject"]}, "properties": {"prompt": "a {subject}"}},
    {"name": "Refine", "effect": "refine", "needs": {"variables": ["prompt"], "parent": True}},
    {"name": "Finish!", "effect": "refine", "needs": {"parent": True}, "properties": {"prompt": "last", "steps": 5}},
]
VARIABLES = {"subject": "cat", "prompt": "sharper"}


@dataclass
class Studio:
    house: House
    member: Member
    pipeline: Pipeline
    rng: random.Random = field(default_factory=lambda: random.Random(7))

    @classmethod
    async def open(cls, house: House, *, tokens: int = RICH, steps: Sequence[Any] = STEPS) -> "Studio":
        member = await a_member(house)
        if tokens:
            await credit(house, member.tenant, member.user, tokens)
        await an_effect(house, "base", takes_input=False, price=PRICE)
        await an_effect(house, "refine", price=PRICE)
        async with house.tenant_tx(member.tenant) as tx:
            await webhooks.add_endpoint(tx, url="https://example.com/hook")
        studio = cls(house, member, pipeline=None)  # type: ignore[arg-type]
        studio.pipeline = await studio.apply(name="Gym shoot", steps=list(steps))
        return studio

    @classmethod
    async def another(cls, first: "Studio") -> "Studio":
        """A tenant beside the first, with a pipeline of the same effects."""
        member = await a_member(first.house, tokens=RICH)
        studio = cls(first.house, member, pipeline=first.pipeline)
        studio.pipeline = await studio.apply(name="Gym shoot", steps=STEPS)
        return studio

    # ── what people do ──

    async def apply(self, **said: Any) -> Pipeline:
        new = pipelines.parse_pipeline(said)
        offers = await self.offers({step.effect for step in new.steps})
        async with self.house.tenant_tx(self.member.tenant) as tx:
            made, _ = await pipelines.apply_pipeline(tx, new, user_id=self.member.user.id, offers=offers)
        return made

    async def offers(self, slugs: set[str]) -> Any:
        async with self.house.control_tx(read_only=True) as tx:
            return await effects.take_offers(tx, slugs)

    def new(self, **given: Any) -> NewRun:
        said = {"name": "night", "variables": VARIABLES, "target_folder": "gym", "variants": 2, "top": 2, **given}
        return NewRun(self.pipeline.id, self.member.user.id, **said)

    async def start(self, **given: Any) -> RunId:
        return (await self.start_once(**given))[0].id

    async def start_once(self, **given: Any) -> tuple[Run, bool]:
        offers = await self.offers({step.effect for step in self.pipeline.steps})
        async with self.house.tenant_tx(self.member.tenant) as tx:
            return await pipelines.create_run(tx, self.new(**given), offers=offers, concurrency_max=1000)

    async def say(self, verb: Any, *args: Any, **given: Any) -> Any:
        """A verb of the tenant's user: the user's id after what it is about."""
        about, *rest = args
        async with self.house.tenant_tx(self.member.tenant) as tx:
            return await verb(tx, about, self.member.user.id, *rest, **given)

    async def approve(self, run_id: RunId, position: int, top: int | None = None) -> Run:
        run: Run = await self.say(pipelines.approve_step, run_id, position, top=top)
        return run

    async def vote(self, winner: CandidateId, loser: CandidateId, key: str | None = None) -> Any:
        async with self.house.tenant_tx(self.member.tenant) as tx:
            return await pipelines.cast_vote(
                tx, self.member.user.id, winner_id=winner, loser_id=loser, idempotency_key=key
            )

    # ── what the house does ──

    async def advance(self, *, house: House | None = None, rng: random.Random | None = None) -> int:
        return await advance_runs.tick(house or self.house, "main", rng=rng or self.rng)

    async def under_way(self, run_id: RunId | None = None) -> list[Any]:
        rows = await self.rows(run_jobs, state="in_flight")
        return sorted((row for row in rows if run_id in (None, row.run_id)), key=lambda row: row.job_id)

    def settlement(self, job_id: JobId, outcome: DispatchStatus, detail: dict[str, Any]) -> Settlement:
        return Settlement(
            id=SettlementId(new_id()),
            dispatch_id=DispatchId(job_id),
            tenant_id=self.member.tenant.id,
            pool=self.member.tenant.pool,
            outcome=outcome,
            error_class="user_input" if outcome is DispatchStatus.FAILED else None,
            error="it broke" if outcome is DispatchStatus.FAILED else None,
            provider_job_id=None,
            detail=detail,
            tries=0,
            last_error=None,
            parked_at=None,
            created_at=datetime.now(UTC),
        )

    async def settle(self, settlement: Settlement) -> set[RunId]:
        async with self.house.tenant_tx(self.member.tenant) as tx:
            return set((await pipelines.apply_settlement(tx, settlement)).runs)

    def completed(
        self, job_id: JobId, images: int = 1, *, media_type: str = "image/png", size_bytes: int = 4
    ) -> Settlement:
        outputs = [
            {
                "path": f"tenants/{self.member.tenant.id}/ai-jobs/{job_id}/1-x/{at}",
                "name": f"{at}.png",
                "mime_type": media_type,
                "size": size_bytes,
            }
            for at in range(images)
        ]
        detail = {"outputs": outputs, "disk": self.house.store.disk}
        return self.settlement(job_id, DispatchStatus.COMPLETED, detail)

    async def complete(self, job_id: JobId, images: int = 1, **given: Any) -> None:
        await self.settle(self.completed(job_id, images, **given))

    async def settle_and_go_on(
        self, job_id: JobId, between: Callable[[], Awaitable[object]] | None = None
    ) -> pipelines.Advanced:
        """In one transaction, as where a job completes."""
        recipes = await advance_runs.read_recipes(self.house, {step.effect for step in self.pipeline.steps})
        async with self.house.tenant_tx(self.member.tenant) as tx:
            settled = await pipelines.apply_settlement(tx, self.completed(job_id))
            if between is not None:
                await between()
            return await pipelines.go_on(
                tx,
                settled.runs,
                recipes,
                rules=self.house.run_rules,
                webhook_secret=self.house.webhook_secret(self.member.tenant.id),
                rng=self.rng,
            )

    async def fail(self, job_id: JobId) -> None:
        await self.settle(self.settlement(job_id, DispatchStatus.FAILED, {}))

    async def cancel(self, job_id: JobId) -> None:
        await self.settle(self.settlement(job_id, DispatchStatus.CANCELLED, {}))

    async def work(self, run_id: RunId | None = None, *, images: int = 1) -> int:
        """All that can be made until somebody has to decide: how many jobs it took."""
        count = 0
        await self.advance()
        while flying := await self.under_way(run_id):
            for row in flying:
                await self.complete(row.job_id, images)
            count += len(flying)
            await self.advance()
        return count

    async def work_once(self) -> None:
        """What is under way is done; what comes of it is begun, and stays."""
        await self.advance()
        for row in await self.under_way():
            await self.complete(row.job_id)
        await self.advance()

    # ── what came of it ──

    async def rows(self, table: sa.Table, **values: Any) -> list[Any]:
        async with self.house.pool("main").engine.connect() as connection:
            same = [table.c[name] == value for name, value in values.items()]
            return list(await connection.execute(sa.select(*table.c).where(*same)))

    async def run(self, run_id: RunId) -> Run:
        run: Run = await self.say(pipelines.read_run, run_id)
        return run

    async def steps(self, run_id: RunId) -> list[RunStep]:
        rows = await self.rows(pipeline_run_steps, run_id=run_id)
        return [RunStep.from_row(row) for row in sorted(rows, key=lambda row: row.position)]

    async def candidates(self, run_id: RunId, position: int | None = None) -> list[Candidate]:
        rows = await self.rows(candidates, run_id=run_id)
        found = [Candidate.from_row(row) for row in sorted(rows, key=lambda row: row.id)]
        return [each for each in found if position in (None, each.position)]

    async def told(self) -> list[str]:
        rows = await self.rows(webhook_events)
        return sorted(row.event_type for row in rows if row.event_type.startswith("run."))

    async def job(self, job_id: JobId) -> jobs.Job:
        async with self.house.tenant_tx(self.member.tenant, read_only=True) as tx:
            return await jobs.get_job(tx, job_id)

    async def payload(self, job_id: JobId) -> dict[str, Any]:
        [row] = await self.rows(ai_jobs, id=job_id)
        found: dict[str, Any] = row.payload
        return found

    async def due(self) -> list[RunId]:
        return [row.id for row in await self.rows(pipeline_runs) if row.advance_due_at is not None]

    async def balance(self) -> int:
        return await balance(self.house, self.member.tenant, self.member.user)

    async def broken(self) -> list[tuple[str, Any]]:
        """What `comfyfleet audit` would say of the pool."""
        async with self.house.pool_tx("main", read_only=True) as tx:
            found = await check_invariants(tx, POOL, database="main", rules=self.house.queue_rules)
        return [(each.code, each.rows) for each in found if each.state != "ok"]


__all__ = ["PRICE", "RICH", "STEPS", "VARIABLES", "Approval", "Studio"]
