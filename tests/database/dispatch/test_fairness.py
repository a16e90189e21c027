"""The statement that hands out fair tags does the sums of `dispatch/fairness.py`, to the last bit."""

import asyncio
from collections import defaultdict
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from comfyfleet import dispatch
from comfyfleet.db import Database, open_database
from comfyfleet.db.tables import ai_job_dispatches
from comfyfleet.dispatch import (
    Ask,
    Holder,
    LeaseProof,
    LeaseSigner,
    Leasing,
    NewDispatch,
    Provider,
    QueueRules,
    Report,
)
from comfyfleet.dispatch.fairness import finish_tag, share_cost, start_tags, virtual_now
from comfyfleet.kernel.ids import DispatchId, LaneId, TenantId, WorkerId, WorkflowId, new_id
from comfyfleet.kernel.secret import Secret
from tests.conftest import Databases

RULES = QueueRules()
SIGNER = LeaseSigner(Secret("the key that signs leases in tests"))
COSTS = st.floats(min_value=0.1, max_value=5_000.0, allow_nan=False)
# (tenant, workflow, cost, weight) of each job queued together; or: lease one, and give it back or not.
BATCHES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1), COSTS, st.integers(1, 9)), min_size=1, max_size=5)
STEPS = st.lists(st.one_of(BATCHES, st.sampled_from(["lease", "lease and give back"])), min_size=1, max_size=8)


@dataclass
class Expected:
    """One lane, by the pure functions."""

    waiting: dict[DispatchId, float] = field(default_factory=dict)
    returned: set[DispatchId] = field(default_factory=set)
    finish: dict[int, float] = field(default_factory=dict)

    def add(self, jobs: dict[int, list[tuple[DispatchId, float]]]) -> None:
        """Every tenant of a batch finds the lane as it was before the batch."""
        fresh = [tag for key, tag in self.waiting.items() if key not in self.returned]
        now = virtual_now(min(fresh, default=None), max(self.finish.values(), default=None))
        for tenant, each in jobs.items():
            costs = [cost for _, cost in each]
            self.finish[tenant] = finish_tag(self.finish.get(tenant), now, sum(costs))
            tags = start_tags(self.finish[tenant], costs)
            self.waiting |= {key: tag for (key, _), tag in zip(each, tags, strict=True)}


class Trial:
    """One example: tenants, workflows and a worker of its own, in a database all examples share."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.tenants = [TenantId(new_id()) for _ in range(3)]
        self.workflows = [WorkflowId(new_id()) for _ in range(2)]
        self.holder = Holder(WorkerId(new_id()), 1)
        self.expected: dict[int, Expected] = defaultdict(Expected)
        self.lanes: set[LaneId] = set()

    async def enqueue(self, batch: list[tuple[int, int, float, int]]) -> None:
        news, jobs = [], defaultdict[int, Any](lambda: defaultdict(list))
        for tenant, workflow, cost_s, weight in batch:
            new = self._new(tenant, workflow, cost_s, weight)
            news.append(new)
            jobs[workflow][tenant].append((new.id, share_cost(cost_s, weight)))
        async with self.database.control_tx() as tx:
            placed = await dispatch.enqueue_dispatches(tx, news, rules=RULES)
        self.lanes |= {place.lane for place in placed.values()}
        for workflow, each in jobs.items():
            self.expected[workflow].add(each)

    async def lease(self, *, give_back: bool) -> None:
        ask = Ask(self.holder, frozenset(self.lanes), 1000)
        async with self.database.control_tx() as tx:
            grant = (await dispatch.lease_dispatches(tx, [ask], Leasing(SIGNER, RULES))).grants.get(ask)
            if grant is not None and give_back:
                report = Report(LeaseProof(grant.dispatch_id, grant.token, self.holder), "r", error="spot")
                await dispatch.requeue_dispatch(tx, report, signer=SIGNER, rules=RULES, chance=0.5)
        if grant is None:
            return
        lane = next(each for each in self.expected.values() if grant.dispatch_id in each.waiting)
        assert lane.waiting[grant.dispatch_id] == min(lane.waiting.values())
        if give_back:
            lane.returned.add(grant.dispatch_id)
        else:
            del lane.waiting[grant.dispatch_id]

    async def tags(self) -> dict[DispatchId, float]:
        d = ai_job_dispatches
        async with self.database.engine.connect() as connection:
            query = sa.select(d.c.id, d.c.fair_tag).where(d.c.workflow_id.in_(self.workflows), d.c.status == "queued")
            return {row.id: row.fair_tag for row in await connection.execute(query)}

    def _new(self, tenant: int, workflow: int, cost_s: float, weight: int) -> NewDispatch:
        return NewDispatch(
            id=DispatchId(new_id()),
            tenant_id=self.tenants[tenant],
            pool="main",
            workflow_id=self.workflows[workflow],
            structure_hash="structure",
            provider=Provider.SELF_HOSTED,
            payload=b"{}",
            cost_s=cost_s,
            weight=weight,
        )


async def follow(database: Database, steps: list[Any]) -> None:
    trial = Trial(database)
    for step in steps:
        if isinstance(step, str):
            await trial.lease(give_back=step == "lease and give back")
        else:
            await trial.enqueue(step)
        expected = {key: tag for lane in trial.expected.values() for key, tag in lane.waiting.items()}
        assert await trial.tags() == expected


def test_the_database_gives_the_very_tags_of_the_pure_functions(
    databases: Databases, hypothesis_steps: dict[str, int]
) -> None:
    with asyncio.Runner() as runner:
        database = open_database("central", databases.make("central"))

        def finished(work: Coroutine[Any, Any, None]) -> None:
            runner.run(work)

        @settings(
            deadline=None,
            suppress_health_check=list(HealthCheck),
            max_examples=3 * hypothesis_steps["max_examples"],
        )
        @given(STEPS)
        def same(steps: list[Any]) -> None:
            finished(follow(database, steps))

        try:
            same()
        finally:
            runner.run(database.close())
