"""What the night is played on: a pipeline of three steps in every tenant, and runs of it with gates and budgets."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from comfyfleet import pipelines
from comfyfleet.kernel.ids import CandidateId, RunId, TenantId
from comfyfleet.pipelines import Approval, MoreBudget, NewRun, Pipeline
from comfyfleet.workflows import effects
from tests.api.ordering import an_effect
from tests.chaos.stage import POOLS, Customer, Stage, steadily

PRICE = 3
STEPS: list[dict[str, Any]] = [
    {"name": "Base", "effect": "base", "properties": {"prompt": "a cat"}},
    {"name": "Refine", "effect": "refine", "needs": {"parent": True}, "properties": {"prompt": "sharper"}},
    {"name": "Finish", "effect": "refine", "needs": {"parent": True}, "properties": {"prompt": "brighter"}},
]
KINDS = ("all", "jobs", "tokens", "person")
RUNS = """SELECT id, name, status, status_reason, variants, top, tokens_spent, jobs_started, in_flight, tokens_max,
 jobs_max, advance_due_at FROM pipeline_runs"""
CANDIDATES = """SELECT id, run_id, position, parent_id, job_id, image_index, elo, votes, status, children, started,
 failures FROM candidates"""
RUN_JOBS = """SELECT q.job_id, q.run_id, q.position, q.parent_id, q.place, q.ordinal, q.state, q.tokens, j.status,
 j.idempotency_key, j.reserved_tokens FROM run_jobs q LEFT JOIN ai_jobs j ON j.id = q.job_id"""
WAITING_GATE = """SELECT min(s.position) FROM pipeline_run_steps s
 WHERE s.run_id = :run_id AND s.top IS NULL AND s.alive > 0"""
PAIR = """SELECT id FROM candidates WHERE run_id = :run_id AND position = :position AND status = 'active'"""


@dataclass(frozen=True, slots=True)
class Started:
    """`kind`: all its gates open by rule; it meets a budget in jobs or tokens; or a person opens its gates."""

    id: RunId
    customer: Customer
    kind: str


@dataclass
class Gallery:
    stage: Stage
    variants: int
    top: int
    concurrency: int
    pipelines: dict[TenantId, Pipeline] = field(default_factory=dict)
    runs: list[Started] = field(default_factory=list)

    @property
    def whole_tree(self) -> int:
        return sum(self.variants**step for step in (1, 2, 3))

    def tree_of(self, kind: str) -> int:
        """How many candidates a run of this kind comes to, if nothing is set aside."""
        return self.variants * (1 + 2 * self.top) if kind == "person" else self.whole_tree

    async def furnish(self) -> None:
        house = self.stage.house
        made = [
            await an_effect(house, "base", takes_input=False, price=PRICE),
            await an_effect(house, "refine", price=PRICE),
        ]
        for effect in made:
            await self.stage.assign(effect.workflow_id)
        async with house.control_tx(read_only=True) as tx:
            self.offers = await effects.take_offers(tx, {"base", "refine"})
        new = pipelines.parse_pipeline({"name": "Night", "steps": STEPS})
        for customer in self.stage.customers:
            async with house.tenant_tx(customer.tenant) as tx:
                applied = await pipelines.apply_pipeline(tx, new, user_id=customer.user.id, offers=self.offers)
            self.pipelines[customer.tenant.id] = applied[0]

    # ── what people do; cut off, they do it again ──

    async def start(self, kind: str) -> None:
        customer = self.stage.customers[len(self.runs) % len(self.stage.customers)]
        half = max(self.whole_tree // 2, 1)
        new = NewRun(
            self.pipelines[customer.tenant.id].id,
            customer.user.id,
            name=f"{kind} {len(self.runs)}",
            variables={},
            target_folder=f"night/{len(self.runs)}",
            variants=self.variants,
            top=self.top,
            concurrency=self.concurrency,
            jobs_max=half if kind == "jobs" else None,
            tokens_max=half * PRICE if kind == "tokens" else None,
            approval=Approval("person" if kind == "person" else "all"),
            seed=len(self.runs),
            idempotency_key=f"night {len(self.runs)}",
        )

        async def create() -> RunId:
            async with self.stage.house.tenant_tx(customer.tenant) as tx:
                return (await pipelines.create_run(tx, new, offers=self.offers, concurrency_max=1000))[0].id

        self.runs.append(Started(await steadily(create), customer, kind))

    async def approve(self, run: Started) -> None:
        [gate] = await self.ask(run, WAITING_GATE, run_id=run.id)

        async def say() -> None:
            async with self.stage.house.tenant_tx(run.customer.tenant) as tx:
                await pipelines.approve_step(tx, run.id, run.customer.user.id, gate[0], top=self.top)

        if gate[0] is not None:
            await steadily(say)

    async def pay_more(self, run: Started) -> None:
        async def say() -> None:
            async with self.stage.house.tenant_tx(run.customer.tenant) as tx:
                more = MoreBudget(tokens_max=10**9, jobs_max=10**6)
                await pipelines.raise_budget(tx, run.id, run.customer.user.id, more)

        await steadily(say)

    async def vote(self, run: Started, position: int) -> bool:
        rows = await self.ask(run, PAIR, run_id=run.id, position=position)
        if len(rows) < 2:
            return False
        winner, loser = self.stage.chance.sample(sorted(row.id for row in rows), 2)
        key = uuid4().hex

        async def say() -> None:
            async with self.stage.house.tenant_tx(run.customer.tenant) as tx:
                await pipelines.cast_vote(
                    tx,
                    run.customer.user.id,
                    winner_id=CandidateId(winner),
                    loser_id=CandidateId(loser),
                    idempotency_key=key,
                )

        await steadily(say)
        return True

    # ── what there is ──

    async def ask(self, run: Started, question: str, **values: Any) -> Sequence[Any]:
        return await self.stage.ask(self.stage.house.pool(run.customer.tenant.pool), question, **values)

    async def ask_all(self, question: str) -> list[Any]:
        return [row for pool in POOLS for row in await self.stage.ask(self.stage.house.pool(pool), question)]
