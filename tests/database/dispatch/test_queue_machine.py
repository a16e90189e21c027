"""Any order of everything that can happen to the queue, against a model, with the invariants after each step."""

import asyncio
import random
from collections.abc import Coroutine
from typing import Any, ClassVar

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, Phase, event, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)
from hypothesis.statistics import collector, describe_statistics

from comfyfleet import dispatch, fleet, workflows
from comfyfleet.db import Database, open_database
from comfyfleet.desk import Poll
from comfyfleet.dispatch import (
    Beat,
    Ended,
    FailureClass,
    Grant,
    Holder,
    LeaseProof,
    LeaseSigner,
    NewDispatch,
    Provider,
    QueueRules,
    Report,
)
from comfyfleet.dispatch.failures import POLICIES
from comfyfleet.fleet import FleetRules, NameProof, NewWorker, Registration, Worker, WorkerEvent
from comfyfleet.kernel.errors import FleetError, LeaseLost, NotWaiting, WorkerNameHeld
from comfyfleet.kernel.ids import DispatchId, TenantId, WorkflowId, new_id
from comfyfleet.kernel.secret import Secret
from tests.builders import a_version
from tests.conftest import Databases, ManualClock
from tests.database.dispatch.queue_model import UNSURE_S, WAITING, Held, Model
from tests.database.dispatch.truths import broken_truths
from tests.database.dispatch.ways import Answer, Desks, Verbs

RULES = QueueRules(
    lease_ttl_s=60, grace_s=15, max_attempts=3, max_releases=2, run_deadline_s=600, queue_deadline_s=5000
)
# All examples share one database, and their workers are in no fleet: none of them is one too many.
FLEET_RULES = FleetRules(max_workers_without_fleet=1_000_000)
SIGNER = LeaseSigner(Secret("the key that signs leases in tests"))
NOTHING = NameProof()
SLOTS = 3
# Two that come and go, fail and are blocked; and one that takes whatever waits.
WORKERS, TAKER = st.integers(0, 1), 2
DESK = st.integers(0, 1)
WHICH = st.integers(0, 50)
SEVERAL = st.lists(WHICH, min_size=1, max_size=4)
ROWS = "SELECT id, status, epoch, attempts, releases, priority FROM ai_job_dispatches WHERE workflow_id = :w"


class QueueMachine(RuleBasedStateMachine):
    runner: ClassVar[asyncio.Runner]
    database: ClassVar[Database]
    clock: ClassVar[ManualClock]
    way: ClassVar[type[Verbs] | type[Desks]]

    def __init__(self) -> None:
        super().__init__()
        # A workflow, workers and tenants of this example's own, in one shared database.
        self.tenants = [TenantId(new_id()) for _ in range(2)]
        self.model = Model(RULES, self.clock)
        self.names = [f"w-{number}-{new_id().hex}" for number in range(3)]
        self.chance = random.Random(7)
        # Every lease anybody ever got; and the calls that ended one, or tried to, with the answers they got. Chosen by
        # number: what can be drawn must not depend on what the clock let happen.
        self.leases: list[Held] = []
        self.calls: list[tuple[str, Report, Answer]] = []
        self.workflow = self.do(self._make_workflow())
        made = [self.do(self._register(number)) for number in range(3)]
        self.workers = [each.worker for each in made]
        # Every token each of them ever had; when it was last heard of; and whose last token was revoked.
        self.tokens = [[each.token] for each in made]
        self.heard_at = [self.model.now] * 3
        self.fenced: set[int] = set()
        self.at = self.way(self.database, self.workflow, SIGNER, RULES)

    def do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.runner.run(work)

    def tx(self, verb: Any, *arguments: Any, **named: Any) -> Any:
        async def work() -> Any:
            async with self.database.control_tx() as tx:
                return await verb(tx, *arguments, **named)

        return self.do(work())

    async def _make_workflow(self) -> WorkflowId:
        slug = f"flow-{new_id().hex}"
        async with self.database.control_tx() as tx:
            made = await workflows.add_workflow(tx, a_version(structure_hash=slug), slug=slug, name=slug)
        return made.id

    async def _register(self, number: int) -> Registration:
        new = NewWorker(self.names[number], "127.0.0.1", max_concurrency=1000 if number == TAKER else SLOTS)
        async with self.database.control_tx() as tx:
            return await fleet.register_worker(tx, new, fleet=None, own_workflows=[self.workflow], rules=FLEET_RULES)

    def holder(self, number: int) -> Holder:
        return Holder(self.workers[number].id, self.workers[number].incarnation)

    # ── work comes ──

    @initialize(counts=st.tuples(st.integers(1, 4), st.integers(1, 4)), desk=DESK)
    def begin(self, counts: tuple[int, int], desk: int) -> None:
        """With something to lose: most of what can go wrong needs a lease."""
        for tenant, count in enumerate(counts):
            self.create(tenant, priority=0, cost=1.0, count=count)
        self.poll([0, 1, 0], SLOTS, desk)

    @rule(tenant=st.integers(0, 1), priority=st.integers(0, 1), cost=st.floats(0.1, 100), count=st.integers(1, 3))
    def create(self, tenant: int, priority: int, cost: float, count: int) -> None:
        news = [
            NewDispatch(
                DispatchId(new_id()),
                self.tenants[tenant],
                "main",
                self.workflow,
                "structure",
                Provider.SELF_HOSTED,
                b"{}",
                priority=priority,
                cost_s=cost,
            )
            for _ in range(count)
        ]
        places = self.tx(dispatch.enqueue_dispatches, news, rules=RULES)
        assert self.tx(dispatch.enqueue_dispatches, news, rules=RULES) == {}, "once per id"
        self.on_the_loop(self.at.queued, places.values())
        for new in news:
            self.model.create(new.id, priority)

    def on_the_loop(self, tell: Any, *told: Any) -> None:
        async def work() -> None:
            tell(*told)

        self.do(work())

    # ── work goes ──

    @rule(workers=st.lists(WORKERS, min_size=1, max_size=4), slots=st.integers(1, SLOTS + 1), desk=DESK)
    def poll(self, workers: list[int], slots: int, desk: int) -> None:
        """Several at once, and all again, for the replies were lost: whoever got a lease gets that one."""
        polls = [self._poll(self.workers[worker], slots) for worker in workers]
        self.at.at = desk
        first, again = [self._leased(polls, workers) for _ in range(2)]
        assert {poll: again[poll].token for poll in first} == {poll: first[poll].token for poll in first}
        event(f"poll: {len(again)} of {len(polls)} get a lease")

    def _leased(self, polls: list[Poll], workers: list[int]) -> dict[Poll, Held]:
        found = {}
        for poll, worker, grant in zip(polls, workers, self.do(self.at.poll(polls)), strict=True):
            if grant is None or isinstance(grant, FleetError):
                continue
            known = self.model.rows[grant.dispatch_id].token == grant.token
            held = Held(grant.dispatch_id, grant.epoch, grant.token, worker, self.holder(worker))
            found[poll] = held if known else self._remember(grant, worker)
        return found

    def _remember(self, grant: Grant, worker: int) -> Held:
        self.leases.append(self.model.lease(grant, worker, self.holder(worker)))
        return self.leases[-1]

    def _poll(self, worker: Worker, slots: int) -> Poll:
        return Poll(worker, frozenset(["self_hosted"]), slots, poll_id=new_id().hex)

    @rule(desk=DESK)
    def whatever_waits_is_found(self, desk: int) -> None:
        """By one that is neither full nor blocked: at once, or behind a floor once that has been lowered."""
        poll = self._poll(self.workers[TAKER], 1000)
        self.at.at = desk
        [grant] = self.do(self.at.poll([poll]))
        if grant is None:
            self.at.a_second_passes()
            [grant] = self.do(self.at.poll([poll]))
            if grant is not None:
                event("found when a floor was lowered")
        assert (grant is not None) == bool(self.model.waiting("queued"))
        if grant is not None:
            self._remember(grant, TAKER)

    # ── under a lease ──

    def one(self, which: int) -> Held | None:
        """The newest first: most of the old ones are lost."""
        return self.leases[-1 - which % len(self.leases)] if self.leases else None

    def some(self, which: list[int]) -> list[Held]:
        return [held for each in which if (held := self.one(each)) is not None]

    @rule(which=SEVERAL, again=st.booleans(), desk=DESK)
    def heartbeat(self, which: list[int], again: bool, desk: int) -> None:
        held = self.some(which)
        beats = [Beat(self._proof(each, again=again)) for each in held]
        current = [self.model.is_current(each, beat.proof.holder) for each, beat in zip(held, beats, strict=True)]
        self.at.at = desk
        assert self.do(self.at.beat(beats)) == current
        event(f"heartbeat: {sum(current)} of {len(current)} live on")
        for each, counts in zip(held, current, strict=True):
            if counts:
                self.model.beat(each)

    def _proof(self, held: Held, *, again: bool) -> LeaseProof:
        """By the process that got the lease, or by the one that has its name now."""
        holder = self.holder(held.worker) if again else held.holder
        return LeaseProof(held.dispatch_id, held.token, holder)

    @rule(which=SEVERAL, again=st.booleans(), desk=DESK)
    def complete(self, which: list[int], again: bool, desk: int) -> None:
        held = self.some(which)
        reports = [Report(self._proof(each, again=again), "complete") for each in held]
        self.at.at = desk
        answers = self.do(self.at.complete(reports))
        for each, report, answer in zip(held, reports, answers, strict=True):
            if self._counts(each, report, answer):
                assert answer.status == self.model.end(self.model[each], "completed")
        self.calls += zip(["complete"] * len(held), reports, answers, strict=True)

    @rule(which=WHICH, failure=st.sampled_from(list(FailureClass)), again=st.booleans(), desk=DESK)
    def fail(self, which: int, failure: FailureClass, again: bool, desk: int) -> None:
        held = self.one(which)
        if held is None:
            return
        if held.worker == TAKER and POLICIES[failure].blocks != "nothing":
            failure = FailureClass.INFRA  # it must not be blocked
        report = Report(self._proof(held, again=again), f"fail {failure}", failure=failure, error="x")
        self.at.at = desk
        answer = self.do(self.at.fail(report))
        if self._counts(held, report, answer):
            row, expected = self.model[held], self.model.fail(self.model[held], failure)
            if expected == "delayed" and isinstance(self.at, Desks) and dispatch.may_fail_everywhere(failure):
                self.model.follow(row, answer.status, {"delayed", "failed"})
            assert answer.status == row.status
        self.calls.append(("fail", report, answer))

    @rule(which=WHICH, again=st.booleans(), desk=DESK)
    def requeue(self, which: int, again: bool, desk: int) -> None:
        held = self.one(which)
        if held is None:
            return
        report = Report(self._proof(held, again=again), "requeue", error="spot")
        self.at.at = desk
        answer = self.do(self.at.requeue(report))
        if self._counts(held, report, answer):
            assert answer.status == self.model.requeue(self.model[held])
        self.calls.append(("requeue", report, answer))

    def _counts(self, held: Held, report: Report, answer: Answer) -> bool:
        """A call that counts is answered as new; any other is a repeated one, or is told that its lease is lost."""
        current = self.model.is_current(held, report.proof.holder)
        assert (isinstance(answer, Ended) and not answer.replayed) is current
        event(f"{report.digest}: {'counts' if current else 'is refused, or a repeated call'}")
        return current

    @rule(which=WHICH, desk=DESK)
    def replay(self, which: int, desk: int) -> None:
        """However late it comes again, it gets the first answer, and nothing happens."""
        if not self.calls:
            return
        verb, report, first = self.calls[-1 - which % len(self.calls)]
        self.at.at = desk
        answer = self.do(getattr(self.at, verb)([report] if verb == "complete" else report))
        answer = answer[0] if verb == "complete" else answer
        event(f"replay: {'lost again' if isinstance(first, LeaseLost) else 'the first answer again'}")
        if isinstance(first, LeaseLost):
            assert isinstance(answer, LeaseLost)
        else:
            assert (answer.status, answer.replayed) == (first.status, True)

    @rule(which=WHICH)
    def two_at_once(self, which: int) -> None:
        """Complete and requeue of one lease in the same instant: one is accepted, if the lease still stands."""
        held = self.one(which)
        if held is None:
            return
        proof = LeaseProof(held.dispatch_id, held.token, held.holder)

        async def both() -> list[Any]:
            given = [Report(proof, "c2")], Report(proof, "r2", error="x")
            return await asyncio.gather(self.at.complete(given[0]), self.at.requeue(given[1]))

        current = self.model.is_current(held, held.holder)
        [completed], returned = self.do(both())
        accepted = [isinstance(each, Ended) and not each.replayed for each in (completed, returned)]
        assert accepted.count(True) == int(current)
        if accepted[0]:
            self.model.end(self.model[held], "completed")
        elif accepted[1]:
            assert returned.status == self.model.requeue(self.model[held])

    # ── from outside ──

    @rule(which=WHICH, twice=st.booleans())
    def cancel(self, which: int, twice: bool) -> None:
        if not self.model.rows:
            return
        dispatch_id = list(self.model.rows)[which % len(self.model.rows)]
        for _ in range(1 + twice):
            found = self.tx(dispatch.cancel_dispatch, dispatch_id)
            assert found.status == self.model.cancel(self.model.rows[dispatch_id])

    @rule(which=WHICH, priority=st.integers(0, 2), desk=DESK)
    def set_priority(self, which: int, priority: int, desk: int) -> None:
        if not self.model.rows:
            return
        dispatch_id = list(self.model.rows)[which % len(self.model.rows)]
        row = self.model.rows[dispatch_id]
        if row.status not in WAITING:
            with pytest.raises(NotWaiting):
                self.tx(dispatch.set_priority, dispatch_id, priority)
            return
        moved = self.tx(dispatch.set_priority, dispatch_id, priority)
        row.priority = priority
        assert (moved.priority, moved.status) == (priority, row.status)
        self.at.at = desk
        self.on_the_loop(self.at.came_back, [moved.lane])

    @rule(worker=st.integers(0, 2), which=SEVERAL, forgot=st.booleans(), desk=DESK)
    def restart(self, worker: int, which: list[int], forgot: bool, desk: int) -> None:
        """A new process of the same name. What its journal proves it goes on with; the rest goes back.

        Its last token it needs only while the name is held; where it `forgot` that one, a free name is enough.
        """
        proven = self.some(which)
        self.tx(self._pardon, worker)
        proofs = [LeaseProof(each.dispatch_id, each.token, each.holder) for each in proven]
        good = {each.dispatch_id: each for each in proven if self.model.is_proven(each, worker)}
        shown = NOTHING if forgot and self._is_free(worker) else NameProof(self.tokens[worker][-1])
        tokens, returned = self.tx(self._take_over, worker, proofs, shown)
        self.at.at = desk
        self.on_the_loop(self.at.taken_back, returned)
        assert tokens.keys() == good.keys()
        event(f"restart: {len(tokens)} proven, {len(returned)} returned{', by silence' * (shown is NOTHING)}")
        self._take_back(worker, returned, keep=tokens.keys())
        for each, token in tokens.items():
            self.leases.append(self.model.rebind(good[each], token, self.holder(worker)))

    async def _pardon(self, tx: Any, worker: int) -> None:
        found = await fleet.get_worker(tx, self.names[worker])
        if found.status == "revoked":
            await fleet.move_worker(tx, self.names[worker], WorkerEvent.APPROVE)

    @rule(worker=st.integers(0, 2), which=WHICH)
    def a_live_name_is_refused_without_proof(self, worker: int, which: int) -> None:
        """To who shows nothing, or a token of an earlier life; and the worker goes on, lease and all."""
        if not self._is_held(worker):
            return
        *older, _ = self.tokens[worker]
        shown = NameProof(older[which % len(older)]) if older and which % 2 else NOTHING
        with pytest.raises(WorkerNameHeld):
            self.tx(self._take_over, worker, [], shown)
        found = self.tx(fleet.get_worker, self.names[worker])
        assert (found.incarnation, found.token_hash) == (
            self.workers[worker].incarnation,
            self.tokens[worker][-1].digest(),
        )
        event(f"a live name is refused to {'who shows nothing' if shown is NOTHING else 'an earlier life'}")

    def _is_held(self, worker: int) -> bool:
        return worker not in self.fenced and self._silent_s(worker) < FLEET_RULES.name_held_s - UNSURE_S

    def _is_free(self, worker: int) -> bool:
        """Not the opposite: in between, either is right."""
        return worker in self.fenced or self._silent_s(worker) > FLEET_RULES.name_held_s + UNSURE_S

    def _silent_s(self, worker: int) -> float:
        return self.model.now - self.heard_at[worker]

    async def _take_over(self, tx: Any, worker: int, proofs: list[LeaseProof], shown: NameProof) -> Any:
        """As the endpoint does it, in one transaction."""
        new = NewWorker(self.names[worker], "127.0.0.1", max_concurrency=self.workers[worker].max_concurrency)
        made = await fleet.register_worker(
            tx, new, fleet=None, own_workflows=[self.workflow], rules=FLEET_RULES, proof=shown
        )
        self.workers[worker], self.heard_at[worker] = made.worker, self.model.now
        self.tokens[worker].append(made.token)
        self.fenced.discard(worker)
        tokens = await dispatch.rebind_leases(tx, proofs, to=self.holder(worker), signer=SIGNER, rules=RULES)
        return tokens, await dispatch.return_leases(tx, made.worker.id, "worker_restarted", keep=tokens)

    @rule(worker=WORKERS, desk=DESK)
    def revoke(self, worker: int, desk: int) -> None:
        self.tx(self._pardon, worker)
        self.tx(fleet.move_worker, self.names[worker], WorkerEvent.REVOKE)
        self.fenced.add(worker)
        returned = self.tx(dispatch.return_leases, self.workers[worker].id, "revoked")
        self.at.at = desk
        self.on_the_loop(self.at.taken_back, returned)
        self._take_back(worker, returned)
        assert self.tx(dispatch.return_leases, self.workers[worker].id, "revoked") == []

    def _take_back(self, worker: int, returned: list[Ended], *, keep: Any = ()) -> None:
        taken = {each for each in self.model.held_by(worker) if each not in keep}
        expected = {each: self.model.take_back(self.model.rows[each]) for each in taken}
        assert {each.dispatch_id: each.status for each in returned} == expected

    # ── time ──

    @rule(seconds=st.sampled_from([1, 10, 20, 70, 400, 700]))
    def time_passes(self, seconds: int) -> None:
        self.clock.advance(seconds)

    @rule()
    def expire(self) -> None:
        self.tx(dispatch.expire_leases, rows=1000, chance=self.chance)
        self._follow(self.model.after_sweep)

    @rule(desk=DESK)
    def promote(self, desk: int) -> None:
        lanes = self.tx(dispatch.promote_delayed, rows=1000)
        self.at.at = desk
        self.on_the_loop(self.at.came_back, lanes)
        self._follow(self.model.after_promotion)

    @rule()
    def fail_overdue(self) -> None:
        self.tx(dispatch.fail_overdue, rows=1000)
        self._follow(self.model.after_queue_deadline)

    def _follow(self, allowed: Any) -> None:
        for dispatch_id, found in self.do(self._read()).items():
            row = self.model.rows[dispatch_id]
            if found.status != row.status:
                event(f"by time: {row.status} becomes {found.status}")
            self.model.follow(row, found.status, allowed(row))

    async def _read(self) -> dict[DispatchId, Any]:
        async with self.database.engine.connect() as connection:
            bound = sa.text(ROWS).bindparams(sa.bindparam("w", self.workflow, type_=sa.Uuid())).columns(id=sa.Uuid())
            return {row.id: row for row in await connection.execute(bound)}

    # ── after each step ──

    @invariant()
    def the_rows_are_as_the_model_says(self) -> None:
        found = {
            dispatch_id: (row.status, row.epoch, row.attempts, row.releases, row.priority)
            for dispatch_id, row in self.do(self._read()).items()
        }
        assert found == {
            dispatch_id: (row.status, row.epoch, row.attempts, row.releases, row.priority)
            for dispatch_id, row in self.model.rows.items()
        }

    @invariant()
    def no_invariant_is_broken(self) -> None:
        assert self.do(broken_truths(self.database, RULES)) == []

    def teardown(self) -> None:
        self.do(self.at.close())


@pytest.mark.parametrize("way", [Verbs, Desks])
def test_the_queue_keeps_to_its_model(
    databases: Databases,
    hypothesis_steps: dict[str, int],
    soak: bool,
    way: type[Verbs] | type[Desks],
    request: pytest.FixtureRequest,
) -> None:
    def note(found: dict[str, Any]) -> None:
        """For `--hypothesis-show-statistics`, which knows only tests that hypothesis made."""
        request.node.hypothesis_statistics = describe_statistics({**found, "nodeid": request.node.nodeid})

    clock = ManualClock()
    with asyncio.Runner() as runner, collector.with_value(note):
        database = open_database("central", databases.make("central"), clock_offset_s=clock.read, prepares=way is Desks)
        given = {"runner": runner, "database": database, "clock": clock, "way": way}
        try:
            run_state_machine_as_test(
                type(f"QueueBy{way.__name__}", (QueueMachine,), given),
                settings=settings(
                    deadline=None, suppress_health_check=list(HealthCheck), phases=_phases(soak), **hypothesis_steps
                ),
            )
        finally:
            runner.run(database.close())


def _phases(soak: bool) -> list[Phase]:
    """To make a failing case smaller takes minutes: only in `make soak`. In CI it is told as it was found."""
    return [phase for phase in Phase if soak or phase not in (Phase.shrink, Phase.explain)]
