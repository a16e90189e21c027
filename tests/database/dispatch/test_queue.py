"""Enqueue, lease, hold, end; on both engines."""

import asyncio
import random
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
import sqlalchemy as sa
from msgspec import structs

from comfyfleet import dispatch
from comfyfleet.db.tables import lanes
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
    Place,
    Provider,
    QueueRules,
    Report,
)
from comfyfleet.house import House
from comfyfleet.kernel.errors import LeaseLost
from comfyfleet.kernel.ids import DispatchId, LaneId, TenantId, WorkerId, WorkflowId, new_id
from comfyfleet.kernel.secret import Secret
from tests.conftest import ManualClock

RULES = QueueRules()
SIGNER = LeaseSigner(Secret("the key that signs leases in tests"))
WORKFLOW = WorkflowId(new_id())
TENANT = TenantId(new_id())


@dataclass
class Queue:
    """The verbs, each in a transaction of its own, as an edge calls them."""

    house: House
    rules: QueueRules = field(default_factory=QueueRules)

    async def add(self, **given: Any) -> DispatchId:
        dispatch_id = DispatchId(given.pop("id", None) or new_id())
        await self.place(id=dispatch_id, **given)
        return dispatch_id

    async def place(self, **given: Any) -> dict[DispatchId, Place]:
        new = NewDispatch(
            **{
                "id": DispatchId(new_id()),
                "tenant_id": TENANT,
                "pool": "main",
                "workflow_id": WORKFLOW,
                "structure_hash": "structure-1",
                "provider": Provider.SELF_HOSTED,
                "payload": b'{"graph": 1}',
                **given,
            }
        )
        async with self.house.control_tx() as tx:
            return await dispatch.enqueue_dispatches(tx, [new], rules=self.rules)

    async def all_lanes(self) -> frozenset[LaneId]:
        async with self.house.control_tx() as tx:
            return frozenset(row.id for row in await tx.all(sa.select(lanes.c.id)))

    async def lease(self, holder: Holder, **given: Any) -> Grant | None:
        ask = Ask(**{"holder": holder, "lanes": await self.all_lanes(), "leases_max": 1000, **given})
        async with self.house.control_tx() as tx:
            return (await dispatch.lease_dispatches(tx, [ask], Leasing(SIGNER, self.rules))).grants.get(ask)

    async def beat(self, grant: Grant, holder: Holder, **said: Any) -> dispatch.Extended | None:
        async with self.house.control_tx() as tx:
            found, _ = await dispatch.extend_leases(tx, [Beat(proof(grant, holder), **said)], rules=self.rules)
        return found.get(grant.dispatch_id)

    async def complete(
        self, grant: Grant, holder: Holder, digest: str = "d", *, ran_s: float | None = None
    ) -> Ended | LeaseLost:
        report = Report(proof(grant, holder), digest, ran_s=ran_s)
        async with self.house.control_tx() as tx:
            return (await dispatch.complete_dispatches(tx, [report], signer=SIGNER))[grant.dispatch_id]

    async def fail(self, grant: Grant, holder: Holder, failure: FailureClass) -> Ended | LeaseLost:
        report = Report(proof(grant, holder), "f", failure=failure, error="it broke")
        async with self.house.control_tx() as tx:
            return await dispatch.fail_dispatch(tx, report, signer=SIGNER, rules=self.rules, chance=0.5)

    async def requeue(self, grant: Grant, holder: Holder) -> Ended | LeaseLost:
        report = Report(proof(grant, holder), "r", error="spot")
        async with self.house.control_tx() as tx:
            return await dispatch.requeue_dispatch(tx, report, signer=SIGNER, rules=self.rules, chance=0.5)

    async def cancel(self, dispatch_id: DispatchId) -> dispatch.Dispatch:
        async with self.house.control_tx() as tx:
            return await dispatch.cancel_dispatch(tx, dispatch_id)

    async def sweep(self) -> int:
        async with self.house.control_tx() as tx:
            return len(await dispatch.expire_leases(tx, chance=random.Random(1)))

    async def promote(self) -> int:
        async with self.house.control_tx() as tx:
            return len(await dispatch.promote_delayed(tx))

    async def row(self, dispatch_id: DispatchId) -> Any:
        async with self.house.central.engine.connect() as connection:
            text = sa.text("SELECT * FROM ai_job_dispatches WHERE id = :id")
            return (await connection.execute(text.bindparams(sa.bindparam("id", dispatch_id, type_=sa.Uuid())))).one()

    async def settlements(self) -> list[tuple[str, str]]:
        async with self.house.central.engine.connect() as connection:
            rows = await connection.execute(sa.text("SELECT dispatch_id, outcome FROM settlements"))
            return [(str(row.dispatch_id).replace("-", ""), row.outcome) for row in rows]


def proof(grant: Grant, holder: Holder) -> LeaseProof:
    return LeaseProof(grant.dispatch_id, grant.token, holder)


def a_holder() -> Holder:
    return Holder(WorkerId(new_id()), 1)


@pytest.fixture
def queue(house: House) -> Queue:
    return Queue(house)


async def test_a_dispatch_is_enqueued_once_per_id(queue: Queue) -> None:
    same = DispatchId(new_id())
    await asyncio.gather(*(queue.place(id=same) for _ in range(8)))
    holder = a_holder()
    assert await queue.lease(holder) is not None
    assert await queue.lease(holder) is None


async def test_a_lease_carries_payload_epoch_and_a_token_that_is_not_stored(queue: Queue) -> None:
    dispatch_id = await queue.add()
    grant = await queue.lease(a_holder())
    assert grant is not None
    assert (grant.dispatch_id, grant.epoch, grant.attempt) == (dispatch_id, 1, 1)
    assert grant.payload == b'{"graph": 1}'
    row = await queue.row(dispatch_id)
    assert row.lease_hash == grant.token.digest()
    assert grant.token.reveal() not in str(row)


async def test_of_32_who_poll_for_one_job_one_gets_it(queue: Queue) -> None:
    for _ in range(3):
        await queue.add()
        grants = await asyncio.gather(*(queue.lease(a_holder()) for _ in range(32)))
        assert len([grant for grant in grants if grant is not None]) == 1


async def test_a_completed_lease_is_settled_once_and_a_repeated_call_gets_the_first_answer(queue: Queue) -> None:
    dispatch_id, holder = await queue.add(), a_holder()
    grant = await queue.lease(holder)
    assert grant is not None
    assert await queue.beat(grant, holder) is not None
    first, again = await queue.complete(grant, holder), await queue.complete(grant, holder)
    assert first == Ended(dispatch_id, DispatchStatus.COMPLETED)
    assert again == Ended(dispatch_id, DispatchStatus.COMPLETED, replayed=True)
    assert isinstance(await queue.complete(grant, holder, digest="another"), LeaseLost)
    assert await queue.settlements() == [(dispatch_id.hex, "completed")]


@pytest.mark.parametrize(("ran_s", "took_s"), [(None, 9.0), (4.0, 4.0), (0.0, 0.0), (90.0, 9.0)])
async def test_what_waited_behind_another_on_its_worker_did_not_run_meanwhile(
    queue: Queue, clock: ManualClock, ran_s: float | None, took_s: float
) -> None:
    dispatch_id, holder = await queue.add(), a_holder()
    grant = await queue.lease(holder)
    assert grant is not None
    clock.advance(9)
    await queue.complete(grant, holder, ran_s=ran_s)
    assert (await queue.row(dispatch_id)).duration_seconds == pytest.approx(took_s, abs=2)


STALE = ["foreign token", "other worker", "earlier life", "older epoch", "no token"]


@pytest.mark.parametrize("how", STALE)
async def test_a_stale_or_foreign_lease_has_no_effect(queue: Queue, how: str, clock: ManualClock) -> None:
    dispatch_id, holder = await queue.add(), a_holder()
    grant = await queue.lease(holder)
    assert grant is not None
    bad, who = grant, holder
    match how:
        case "foreign token":
            bad = structs.replace(grant, token=Secret("1." + "x" * 43))
        case "other worker":
            who = a_holder()
        case "earlier life":
            who = replace(holder, incarnation=0)
        case "no token":
            bad = structs.replace(grant, token=Secret("²³.x"))
        case "older epoch":
            clock.advance(RULES.grace_s + 1)
            assert await queue.sweep() == 1
            clock.advance(600)
            assert await queue.promote() == 1
            assert await queue.lease(holder) is not None
    before = await queue.row(dispatch_id)
    assert await queue.beat(bad, who) is None
    assert isinstance(await queue.complete(bad, who), LeaseLost)
    assert isinstance(await queue.fail(bad, who, FailureClass.INFRA), LeaseLost)
    assert isinstance(await queue.requeue(bad, who), LeaseLost)
    assert await queue.row(dispatch_id) == before
    assert await queue.settlements() == []


async def test_an_unconfirmed_lease_lives_shorter_than_a_confirmed_one(queue: Queue, clock: ManualClock) -> None:
    first, holder = await queue.add(), a_holder()
    grant = await queue.lease(holder)
    assert grant is not None
    await queue.beat(grant, holder)
    await queue.add()
    await queue.lease(a_holder())
    clock.advance(RULES.grace_s + 1)
    assert await queue.sweep() == 1
    assert (await queue.row(first)).status == "leased"
    clock.advance(RULES.lease_ttl_s)
    assert await queue.sweep() == 1


async def test_an_expired_lease_that_nobody_took_can_still_be_completed(queue: Queue, clock: ManualClock) -> None:
    _, holder = await queue.add(), a_holder()
    grant = await queue.lease(holder)
    assert grant is not None
    clock.advance(RULES.grace_s + 100)
    assert isinstance(await queue.complete(grant, holder), Ended)


async def test_attempts_used_up_without_a_word_end_in_failure_and_settlement(queue: Queue, clock: ManualClock) -> None:
    dispatch_id = await queue.add()
    for number in range(1, RULES.max_attempts + 1):
        assert await queue.lease(a_holder()) is not None, number
        clock.advance(RULES.grace_s + 1)
        assert await queue.sweep() == 1
        clock.advance(600)
        assert await queue.promote() == (1 if number < RULES.max_attempts else 0)
    assert (await queue.row(dispatch_id)).status == "failed"
    assert await queue.settlements() == [(dispatch_id.hex, "failed")]


async def test_the_run_deadline_ends_a_job_that_still_beats(queue: Queue, clock: ManualClock) -> None:
    dispatch_id, holder = await queue.add(run_deadline_s=120.0), a_holder()
    grant = await queue.lease(holder)
    assert grant is not None
    for _ in range(5):
        await queue.beat(grant, holder)
        clock.advance(30)
    assert await queue.sweep() == 1
    row = await queue.row(dispatch_id)
    assert (row.status, row.error_class) == ("failed", "timeout")
    assert isinstance(await queue.complete(grant, holder), LeaseLost)


@pytest.mark.parametrize("failure", list(FailureClass))
async def test_every_failure_class_as_its_policy_says(queue: Queue, failure: FailureClass) -> None:
    from comfyfleet.dispatch.failures import POLICIES

    dispatch_id, holder = await queue.add(), a_holder()
    grant = await queue.lease(holder)
    assert grant is not None
    ended = await queue.fail(grant, holder, failure)
    assert isinstance(ended, Ended)
    retried = POLICIES[failure].retried
    expected = "delayed" if retried else ("cancelled" if failure is FailureClass.CANCELLED else "failed")
    assert (await queue.row(dispatch_id)).status == expected
    assert len(await queue.settlements()) == (0 if retried else 1)
    again = await queue.fail(grant, holder, failure)
    assert again == structs.replace(ended, replayed=True)


async def test_a_requeue_gives_the_attempt_back_a_bounded_number_of_times(queue: Queue) -> None:
    queue.rules = replace(RULES, max_releases=2, max_attempts=2)
    dispatch_id, holder = await queue.add(), a_holder()
    outcomes = []
    for _ in range(5):
        grant = await queue.lease(holder)
        if grant is None:
            break
        outcomes.append(await queue.requeue(grant, holder))
    row = await queue.row(dispatch_id)
    assert row.releases == 2
    assert row.attempts == 4
    assert row.status in ("failed", "delayed")
    assert [each.status.value for each in outcomes if isinstance(each, Ended)][:3] == ["queued", "queued", "queued"]


@pytest.mark.parametrize("way", ["lost", "failed", "requeued"])
async def test_a_wish_to_cancel_outlives_the_worker_that_was_to_be_told(
    queue: Queue, clock: ManualClock, way: str
) -> None:
    running, holder = await queue.add(), a_holder()
    grant = await queue.lease(holder)
    assert grant is not None
    await queue.cancel(running)
    if way == "lost":
        clock.advance(3600)
        assert await queue.sweep() == 1
    elif way == "failed":
        await queue.fail(grant, holder, FailureClass.INFRA)
    else:
        await queue.requeue(grant, holder)
    assert (await queue.row(running)).status == "cancelled"
    assert [outcome for _, outcome in await queue.settlements()] == ["cancelled"]


async def test_cancelling_what_waits_is_at_once_and_what_runs_is_told(queue: Queue) -> None:
    waiting = await queue.add()
    assert (await queue.cancel(waiting)).status is DispatchStatus.CANCELLED
    running, holder = await queue.add(), a_holder()
    grant = await queue.lease(holder)
    assert grant is not None
    assert grant.dispatch_id == running
    assert (await queue.cancel(running)).status is DispatchStatus.LEASED
    extended = await queue.beat(grant, holder)
    assert extended is not None
    assert extended.cancel_requested
    assert isinstance(await queue.complete(grant, holder), Ended)
    assert (await queue.cancel(running)).status is DispatchStatus.COMPLETED
    assert sorted(outcome for _, outcome in await queue.settlements()) == ["cancelled", "completed"]


async def test_a_poll_that_comes_again_gets_the_same_lease(queue: Queue) -> None:
    await queue.add()
    await queue.add()
    holder = a_holder()
    first, again = await queue.lease(holder, poll_id="p1"), await queue.lease(holder, poll_id="p1")
    other = await queue.lease(holder, poll_id="p2")
    assert first is not None
    assert again is not None
    assert other is not None
    assert (first.dispatch_id, first.token) == (again.dispatch_id, again.token)
    assert other.dispatch_id != first.dispatch_id


async def test_a_worker_gets_no_more_than_it_may_hold(queue: Queue) -> None:
    for _ in range(3):
        await queue.add()
    holder = a_holder()
    grants = [await queue.lease(holder, leases_max=2) for _ in range(3)]
    assert [grant is not None for grant in grants] == [True, True, False]


async def test_higher_priority_first_then_age(queue: Queue) -> None:
    low, high = await queue.add(priority=0), await queue.add(priority=5)
    second_high = await queue.add(priority=5)
    grants = [await queue.lease(a_holder()) for _ in range(3)]
    assert [grant.dispatch_id for grant in grants if grant] == [high, second_high, low]


async def test_a_tenant_that_queues_a_hundred_does_not_delay_anothers_first(queue: Queue) -> None:
    for _ in range(30):
        await queue.add(cost_s=10.0)
    quiet = await queue.add(tenant_id=TenantId(new_id()), cost_s=10.0)
    first = [await queue.lease(a_holder()) for _ in range(2)]
    assert quiet in [grant.dispatch_id for grant in first if grant]


async def test_a_failure_blocks_its_tenant_then_all_and_one_probe_decides(queue: Queue, clock: ManualClock) -> None:
    queue.rules = replace(RULES, max_attempts=10)
    ours, theirs, holder = TENANT, TenantId(new_id()), a_holder()
    for tenant in (ours, ours, theirs, theirs):
        await queue.add(tenant_id=tenant)
    grant = await queue.lease(holder)
    assert grant is not None
    first_tenant = (await queue.row(grant.dispatch_id)).tenant_id
    await queue.fail(grant, holder, FailureClass.EXECUTION_ERROR)
    second = await queue.lease(holder)
    assert second is not None
    assert (await queue.row(second.dispatch_id)).tenant_id != first_tenant
    await queue.fail(second, holder, FailureClass.EXECUTION_ERROR)
    assert await queue.lease(holder) is None
    assert await queue.lease(a_holder()) is not None
    clock.advance(RULES.block_cooldown_s * 2 + 1)
    probe = await queue.lease(holder)
    assert probe is not None
    assert await queue.lease(holder) is None, "one probe at a time"
    assert isinstance(await queue.complete(probe, holder), Ended)
    await queue.promote()
    assert await queue.lease(holder) is not None
