"""A job's trace in both databases: stored with the order, carried to the queue, told with the lease and the end."""

import secrets
from collections.abc import Iterator
from dataclasses import replace

import pytest

from comfyfleet import dispatch, jobs
from comfyfleet.dispatch import Ended, FailureClass
from comfyfleet.house import House
from comfyfleet.kernel.traceparent import attempt_context
from comfyfleet.traces.control_plane import ControlPlaneSpans
from comfyfleet.traces.open import open_traces
from tests.collector import Collector, a_collector
from tests.conftest import ManualClock
from tests.database.jobs.world import World

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
async def world(house: House) -> World:
    return await World.make(house)


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    with a_collector() as found:
        for name, value in found.variables.items():
            monkeypatch.setenv(name, value)
        yield found


async def test_the_trace_of_an_order_goes_with_the_job_from_the_outbox_to_the_lease_and_the_settlement(
    world: World, clock: ManualClock
) -> None:
    job_id = await world.create(traceparent=TRACE)
    assert [row.traceparent for row in await world.submissions()] == [TRACE]
    await world.relay()
    assert [row.traceparent for row in await world.dispatches()] == [TRACE]
    clock.advance(30)
    grant = await world.lease()
    assert (grant.traceparent, grant.epoch) == (TRACE, 1)
    assert grant.waited_s == pytest.approx(30, abs=5)
    clock.advance(7)
    ended = await world.queue.complete(grant, world.holder)
    assert isinstance(ended, Ended)
    assert ended.attempt is not None
    assert (ended.attempt.traceparent, ended.attempt.epoch, ended.attempt.dispatch_id) == (TRACE, 1, job_id)
    assert ended.attempt.leased_s == pytest.approx(7, abs=5)
    again = await world.queue.complete(grant, world.holder)
    assert isinstance(again, Ended)
    assert again.attempt is None  # said before: it has its span
    async with world.house.control_tx() as tx:
        [owed] = await dispatch.settlements.due_settlements(tx, world.pool, rows=10)
        shown = await dispatch.get_dispatch(tx, owed.dispatch_id)
    assert owed.traceparent == TRACE
    assert shown.dispatch.trace_id == TRACE.split("-")[1]


async def test_a_second_attempt_has_waited_since_the_first_one_ended(world: World, clock: ManualClock) -> None:
    await world.queued(traceparent=TRACE)
    first = await world.lease()
    clock.advance(100)
    failed = await world.queue.fail(first, world.holder, FailureClass.INFRA)
    assert isinstance(failed, Ended)
    assert failed.attempt is not None
    assert (failed.attempt.error_class, failed.attempt.epoch) == ("infra", 1)
    clock.advance(20)
    assert await world.promote() == 1
    second = await world.lease()
    assert (second.traceparent, second.epoch) == (TRACE, 2)
    assert second.waited_s == pytest.approx(20, abs=5)


async def test_a_lease_that_is_told_again_has_the_same_trace_and_no_second_wait(world: World) -> None:
    await world.queued(traceparent=TRACE)
    first = await world.queue.lease(world.holder, poll_id="same")
    again = await world.queue.lease(world.holder, poll_id="same")
    assert first is not None
    assert again is not None
    assert (again.traceparent, again.waited_s) == (first.traceparent, None)
    assert first.waited_s is not None


async def test_rows_without_a_trace_are_as_they_were(world: World) -> None:
    await world.queued()
    grant = await world.lease()
    assert (grant.traceparent, grant.waited_s) == (None, None)
    ended = await world.queue.complete(grant, world.holder)
    assert isinstance(ended, Ended)
    assert ended.attempt is None
    assert await world.settle() == 1


async def test_a_job_begins_one_trace_however_often_it_is_sent(world: World) -> None:
    job_id = await world.create()
    other = TRACE.replace("0af", "1af")
    async with world.house.pool_tx(world.pool) as tx:
        assert await jobs.begin_traces(tx, {job_id: TRACE}) == {job_id: TRACE}
        assert await jobs.begin_traces(tx, {job_id: other}) == {job_id: TRACE}
        assert await jobs.traceparents_of(tx, [job_id]) == {job_id: TRACE}
        assert await jobs.traceparents_of(tx, []) == {}


async def test_a_job_that_is_cancelled_before_it_was_sent_keeps_its_trace(world: World) -> None:
    job_id = await world.create(traceparent=TRACE)
    async with world.house.tenant_tx(world.member.tenant) as tx:
        _, submission = await jobs.request_cancel(tx, job_id, world.member.user.id)
    assert submission is not None
    assert submission.traceparent == TRACE


async def test_relayed_late_by_upkeep_a_job_is_in_its_trace_and_one_without_begins_its_own(
    world: World, collector: Collector
) -> None:
    """Nobody was there at the order: another process, later, has nothing but the rows."""
    trace = f"00-{secrets.token_hex(16)}-b7ad6b7169203331-01"
    ordered = await world.create(traceparent=trace)
    made = await world.create()
    with open_traces("upkeep") as sink:
        world.house = replace(world.house, traces=ControlPlaneSpans(sink))
        assert await world.relay() == 2
    stored = {row.id: row.traceparent for row in await world.dispatches()}
    assert stored == {row.job_id: row.traceparent for row in await world.submissions()}
    assert stored[ordered] == trace
    assert [(each.name, each.parent_id) for each in collector.of(trace.split("-")[1])] == [
        ("relay", "b7ad6b7169203331")
    ]
    order, relay = sorted(collector.of(stored[made].split("-")[1]), key=lambda each: each.name)
    assert (order.name, order.parent_id, order.span_id) == ("order", None, stored[made].split("-")[2])
    assert (relay.name, relay.parent_id) == ("relay", order.span_id)


async def test_an_attempt_whose_worker_went_silent_has_a_span_with_its_failure(
    world: World, collector: Collector, clock: ManualClock
) -> None:
    trace = f"00-{secrets.token_hex(16)}-b7ad6b7169203331-01"
    await world.queued(traceparent=trace)
    await world.lease()
    with open_traces("upkeep") as sink:
        world.house = replace(world.house, traces=ControlPlaneSpans(sink))
        assert await world.pass_time(clock, 600) == 1
    [lost] = collector.of(trace.split("-")[1])
    context = attempt_context(trace, 1)
    assert context is not None
    assert (lost.name, lost.span_id, lost.parent_id) == ("attempt", context.span_id, "b7ad6b7169203331")
    assert (lost.is_error, lost.attributes["error.type"]) == (True, "infra")


async def test_an_attempt_that_was_taken_from_its_worker_has_one_too(world: World, collector: Collector) -> None:
    trace = f"00-{secrets.token_hex(16)}-b7ad6b7169203331-01"
    await world.queued(traceparent=trace)
    await world.lease()
    async with world.house.control_tx() as tx:
        returned = await dispatch.return_leases(tx, world.holder.worker_id, "revoked")
    with open_traces("server") as sink:
        replace(world.house, traces=ControlPlaneSpans(sink)).taken_back(returned)
    [lost] = collector.of(trace.split("-")[1])
    assert (lost.name, lost.attributes["error.type"]) == ("attempt", "interrupted")
