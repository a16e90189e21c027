"""Any order of everything that can happen to the queue, against a model, with the invariants after each step."""

import asyncio
import random
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, ClassVar

import sqlalchemy as sa
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from comfyfleet import dispatch
from comfyfleet.checks import QUEUE, Finding, check_invariants
from comfyfleet.db import Database, open_database
from comfyfleet.dispatch import (
    Ask,
    Beat,
    DispatchStatus,
    Ended,
    FailureClass,
    Grant,
    Holder,
    LeaseProof,
    LeaseSigner,
    Leasing,
    NewDispatch,
    Provider,
    QueueRules,
    Report,
)
from comfyfleet.dispatch.failures import POLICIES
from comfyfleet.kernel.ids import DispatchId, LaneId, TenantId, WorkerId, WorkflowId, new_id
from comfyfleet.kernel.secret import Secret
from tests.conftest import Databases, ManualClock

RULES = QueueRules(lease_ttl_s=60, grace_s=15, max_attempts=3, max_releases=2, run_deadline_s=600)
SIGNER = LeaseSigner(Secret("the key that signs leases in tests"))
WORKERS = st.integers(min_value=0, max_value=2)


@dataclass
class Expected:
    """What the model knows of one dispatch."""

    status: str = "queued"
    epoch: int = 0
    attempts: int = 0
    releases: int = 0
    worker: int | None = None

    @property
    def exhausted(self) -> bool:
        return self.attempts >= RULES.max_attempts + self.releases


@dataclass(frozen=True)
class Held:
    """A lease somebody once got. Whether it still counts is what the test is about."""

    grant: Grant
    worker: int


class QueueMachine(RuleBasedStateMachine):
    runner: ClassVar[asyncio.Runner]
    database: ClassVar[Database]
    clock: ClassVar[ManualClock]

    leases = Bundle("leases")

    def __init__(self) -> None:
        super().__init__()
        # A workflow, lanes, workers and tenants of this example's own, in one shared database.
        self.workflow, self.hash = WorkflowId(new_id()), new_id().hex
        self.tenants = [TenantId(new_id()) for _ in range(2)]
        self.holders = [Holder(WorkerId(new_id()), 1) for _ in range(3)]
        self.rows: dict[DispatchId, Expected] = {}
        self.lanes: set[LaneId] = set()
        self.order = random.Random(7)

    def do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.runner.run(work)

    async def tx(self, verb: Any, *arguments: Any, **named: Any) -> Any:
        async with self.database.control_tx() as tx:
            return await verb(tx, *arguments, **named)

    def is_current(self, held: Held) -> bool:
        row = self.rows[held.grant.dispatch_id]
        return row.status == "leased" and row.epoch == held.grant.epoch and row.worker == held.worker

    def report(self, held: Held, digest: str, **given: Any) -> Report:
        return Report(LeaseProof(held.grant.dispatch_id, held.grant.token, self.holders[held.worker]), digest, **given)

    @rule(tenant=st.integers(0, 1), priority=st.integers(0, 1), cost=st.floats(0.1, 100))
    def create(self, tenant: int, priority: int, cost: float) -> None:
        new = NewDispatch(
            DispatchId(new_id()),
            self.tenants[tenant],
            "main",
            self.workflow,
            self.hash,
            Provider.SELF_HOSTED,
            b"{}",
            priority=priority,
            cost_s=cost,
        )
        lane = self.do(self.tx(dispatch.enqueue_dispatches, [new], rules=RULES))[new.id].lane
        assert self.do(self.tx(dispatch.enqueue_dispatches, [new], rules=RULES)) == {}
        self.lanes.add(lane)
        self.rows[new.id] = Expected()

    @rule(target=leases, workers=st.lists(WORKERS, min_size=1, max_size=4), slots=st.integers(1, 3))
    def lease(self, workers: list[int], slots: int) -> Any:
        """Several polls in one batch, as the coalescer sends them."""
        asks = {
            Ask(self.holders[worker], frozenset(self.lanes), slots, poll_id=f"p{number}-{new_id().hex}"): worker
            for number, worker in enumerate(workers)
        }
        granted = self.do(self.tx(dispatch.lease_dispatches, list(asks), Leasing(SIGNER, RULES))).grants
        got = [self._count_lease(grant, asks[ask]) for ask, grant in granted.items()]
        again = self.do(self.tx(dispatch.lease_dispatches, list(granted), Leasing(SIGNER, RULES))).grants
        assert {ask: grant.token for ask, grant in again.items()} == {
            ask: grant.token for ask, grant in granted.items()
        }
        return got[0] if got else None

    def _count_lease(self, grant: Grant, worker: int) -> Held:
        row = self.rows[grant.dispatch_id]
        assert row.status == "queued"
        row.status, row.epoch, row.attempts, row.worker = "leased", row.epoch + 1, row.attempts + 1, worker
        assert (grant.epoch, grant.attempt) == (row.epoch, row.attempts)
        return Held(grant, worker)

    @rule(held=leases)
    def heartbeat(self, held: Held | None) -> None:
        if held is None:
            return
        beat = Beat(self.report(held, "").proof)
        extended = self.do(self.tx(dispatch.extend_leases, [beat], rules=RULES))
        assert (held.grant.dispatch_id in extended) is self.is_current(held)

    @rule(held=leases)
    def complete(self, held: Held | None) -> None:
        if held is None:
            return
        current = self.is_current(held)
        report = self.report(held, "complete")
        found = self.do(self.tx(dispatch.complete_dispatches, [report], signer=SIGNER))[held.grant.dispatch_id]
        if current:
            assert found == Ended(held.grant.dispatch_id, DispatchStatus.COMPLETED)
            self.rows[held.grant.dispatch_id].status = "completed"
        elif isinstance(found, Ended):
            assert found.replayed

    @rule(held=leases, failure=st.sampled_from(list(FailureClass)))
    def fail(self, held: Held | None, failure: FailureClass) -> None:
        if held is None:
            return
        current, row = self.is_current(held), self.rows[held.grant.dispatch_id]
        report = self.report(held, f"fail {failure}", failure=failure, error="x")
        found = self.do(self.tx(dispatch.fail_dispatch, report, signer=SIGNER, rules=RULES, chance=0.0))
        if not current:
            assert not isinstance(found, Ended) or found.replayed
            return
        assert isinstance(found, Ended)
        if POLICIES[failure].retried and not row.exhausted:
            row.status = "delayed"
        else:
            row.status = "cancelled" if failure is FailureClass.CANCELLED else "failed"
        assert found.status == row.status

    @rule(held=leases)
    def requeue(self, held: Held | None) -> None:
        if held is None:
            return
        current, row = self.is_current(held), self.rows[held.grant.dispatch_id]
        report = self.report(held, "requeue", error="spot")
        found = self.do(self.tx(dispatch.requeue_dispatch, report, signer=SIGNER, rules=RULES, chance=0.0))
        if not current:
            assert not isinstance(found, Ended) or found.replayed
            return
        assert isinstance(found, Ended)
        if row.releases < RULES.max_releases:
            row.releases += 1
            row.status = "queued"
        else:
            row.status = "failed" if row.exhausted else "queued"
        assert found.status == row.status

    @rule(which=st.integers(0, 50))
    def cancel(self, which: int) -> None:
        if not self.rows:
            return
        dispatch_id = list(self.rows)[which % len(self.rows)]
        row = self.rows[dispatch_id]
        found = self.do(self.tx(dispatch.cancel_dispatch, dispatch_id))
        if row.status in ("queued", "delayed"):
            row.status = "cancelled"
        assert found.status == row.status

    @rule(seconds=st.sampled_from([1, 10, 20, 70, 400, 700]))
    def time_passes(self, seconds: int) -> None:
        self.clock.advance(seconds)

    @rule()
    def sweep(self) -> None:
        self.do(self.tx(dispatch.expire_leases, rows=1000, chance=self.order))
        self._follow({"leased": {"leased", "delayed", "failed"}})

    @rule()
    def promote(self) -> None:
        self.do(self.tx(dispatch.promote_delayed, rows=1000))
        self._follow({"delayed": {"delayed", "queued"}})

    @rule(held=leases)
    def two_at_once(self, held: Held | None) -> None:
        """Complete and requeue of one lease in the same instant: at most one is accepted."""
        if held is None or not self.is_current(held):
            return
        row = self.rows[held.grant.dispatch_id]

        async def both() -> list[Any]:
            return await asyncio.gather(
                self.tx(dispatch.complete_dispatches, [self.report(held, "c2")], signer=SIGNER),
                self.tx(
                    dispatch.requeue_dispatch,
                    self.report(held, "r2", error="x"),
                    signer=SIGNER,
                    rules=RULES,
                    chance=0.0,
                ),
            )

        completed, returned = self.do(both())
        accepted = [
            isinstance(completed[held.grant.dispatch_id], Ended),
            isinstance(returned, Ended),
        ]
        assert accepted.count(True) == 1
        self._follow({row.status: {"completed", "queued", "failed"}}, only=held.grant.dispatch_id)

    def _follow(self, allowed: dict[str, set[str]], only: DispatchId | None = None) -> None:
        """Where time decides, the model takes the database's word, if the move is one that may be."""
        for dispatch_id, found in self.do(self._read()).items():
            row = self.rows[dispatch_id]
            if only is None or dispatch_id == only:
                assert found.status == row.status or found.status in allowed.get(row.status, set())
                row.status, row.releases = found.status, found.releases

    async def _read(self) -> dict[DispatchId, Any]:
        async with self.database.engine.connect() as connection:
            text = sa.text("SELECT id, status, epoch, attempts, releases FROM ai_job_dispatches WHERE workflow_id = :w")
            bound = text.bindparams(sa.bindparam("w", self.workflow, type_=sa.Uuid())).columns(id=sa.Uuid())
            return {row.id: row for row in await connection.execute(bound)}

    @invariant()
    def the_rows_are_as_the_model_says(self) -> None:
        for dispatch_id, found in self.do(self._read()).items():
            row = self.rows[dispatch_id]
            assert (found.status, found.epoch, found.attempts) == (row.status, row.epoch, row.attempts)

    @invariant()
    def no_invariant_is_broken(self) -> None:
        async def broken() -> list[Finding]:
            async with self.database.control_tx(read_only=True) as tx:
                found = await check_invariants(tx, QUEUE, database="central", rules=RULES)
            return [each for each in found if each.state != "ok"]

        assert self.do(broken()) == []


def test_the_queue_keeps_to_its_model(databases: Databases, hypothesis_steps: dict[str, int]) -> None:
    clock = ManualClock()
    with asyncio.Runner() as runner:
        database = open_database("central", databases.make("central"), clock_offset_s=clock.read)
        try:
            run_state_machine_as_test(
                type("Machine", (QueueMachine,), {"runner": runner, "database": database, "clock": clock}),
                settings=settings(deadline=None, suppress_health_check=list(HealthCheck), **hypothesis_steps),
            )
        finally:
            runner.run(database.close())
