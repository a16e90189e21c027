"""Polls that find nothing wait. What wakes them, and who goes on when one was woken in vain."""

import asyncio
import time

import pytest
import sqlalchemy as sa

from comfyfleet import dispatch, fleet
from comfyfleet.db.tables import ai_job_dispatches as d
from comfyfleet.dispatch import DispatchStatus, FailureClass
from comfyfleet.fleet import Worker, WorkerEvent
from comfyfleet.kernel.errors import FleetError, Unauthenticated
from tests.conftest import ManualClock
from tests.database.desk.shop import Shop, a_beat, a_poll, a_report, end, soon, until
from tests.database.dispatch.truths import broken_truths

# Nothing here runs the desk's chores: what a wake does not bring would only be found after two seconds, by a look.


async def test_polls_at_once_share_one_statement_and_each_gets_a_job_of_its_own(shop: Shop) -> None:
    workers = await shop.workers(8)
    ids = await shop.add(5)
    asked = shop.desks[0].polls.batches
    grants = await asyncio.gather(*(shop.poll(worker) for worker in workers))
    assert shop.desks[0].polls.batches == asked + 1
    assert sorted(grant.dispatch_id for grant in grants if grant) == sorted(ids)


async def test_a_replica_that_has_just_come_up_serves_at_once(shop: Shop) -> None:
    worker = await shop.worker()
    await shop.place(workflow_id=await shop.workflow("new"), structure_hash="new")
    waiting = shop.waiting(worker, at=1)
    await shop.parked(1, at=1)
    shop.desks[1].start()
    assert await soon(waiting, 1.5) is not None


async def test_one_that_is_refused_does_not_fail_the_others_of_its_batch(shop: Shop) -> None:
    good, bad = await shop.worker("good"), await shop.worker("bad")
    await shop.revoke("bad")
    [dispatch_id] = await shop.add()
    refused, grant = await asyncio.gather(shop.poll(bad), shop.poll(good), return_exceptions=True)
    assert isinstance(refused, Unauthenticated)
    assert grant is not None
    assert not isinstance(grant, BaseException)
    assert grant.dispatch_id == dispatch_id


async def full_one(shop: Shop) -> Worker:
    """Holds what it may, and asks for more all the same."""
    worker = await shop.worker("full")
    await shop.add()
    assert await shop.poll(worker) is not None
    return worker


async def test_a_full_worker_that_was_woken_passes_the_job_on(shop: Shop) -> None:
    full, free = await full_one(shop), await shop.worker("free")
    in_vain = shop.waiting(full)
    await shop.parked(1)
    waiting = shop.waiting(free)
    await shop.parked(2)
    [dispatch_id] = await shop.add()
    grant = await soon(waiting)
    assert grant is not None
    assert grant.dispatch_id == dispatch_id
    await end(in_vain)


async def test_a_drained_worker_that_was_woken_passes_the_job_on(shop: Shop) -> None:
    drained, free = await shop.worker("drained"), await shop.worker("free")
    in_vain = shop.waiting(drained)
    await shop.parked(1)
    waiting = shop.waiting(free)
    await shop.parked(2)
    async with shop.house.control_tx() as tx:
        await fleet.move_worker(tx, "drained", WorkerEvent.DRAIN)
    await shop.add()
    assert await soon(waiting) is not None
    assert await soon(in_vain) is None, "it does not wait on for nothing: its next call tells it that it drains"


async def test_a_revoked_worker_that_was_woken_passes_the_job_on(shop: Shop) -> None:
    revoked, free = await shop.worker("revoked"), await shop.worker("free")
    in_vain = shop.waiting(revoked)
    await shop.parked(1)
    waiting = shop.waiting(free)
    await shop.parked(2)
    await shop.revoke("revoked")
    await shop.add()
    assert await soon(waiting) is not None
    with pytest.raises(FleetError):
        await soon(in_vain)


async def test_a_blocked_worker_that_was_woken_passes_the_job_on(shop: Shop) -> None:
    blocked, free = await shop.worker("blocked"), await shop.worker("free")
    await shop.add()
    grant = await shop.poll(blocked)
    assert grant is not None
    await shop.desks[0].fail(a_report(grant, blocked, failure=FailureClass.EXECUTION_ERROR, error="x"))
    in_vain = shop.waiting(blocked)
    await shop.parked(1)
    waiting = shop.waiting(free)
    await shop.parked(2)
    await shop.add()
    assert await soon(waiting) is not None
    await end(in_vain)


async def test_one_that_comes_later_is_not_told_by_a_blocked_one_that_nothing_waits(shop: Shop) -> None:
    """Who comes to wait where others wait already does not ask: unless those others could not take what there is."""
    blocked, free = await shop.worker("blocked"), await shop.worker("free")
    await shop.add()
    grant = await shop.poll(blocked)
    assert grant is not None
    await shop.desks[0].fail(a_report(grant, blocked, failure=FailureClass.EXECUTION_ERROR, error="x"))
    assert await shop.poll(free) is None  # so that the desk knows what it may run
    in_vain = shop.waiting(blocked)
    await shop.parked(1)
    asked = shop.desks[0].polls.batches
    await shop.add()
    await until(lambda: shop.desks[0].polls.batches > asked)
    await shop.parked(1)
    assert await soon(shop.waiting(free)) is not None
    await end(in_vain)


async def test_one_that_hangs_up_when_it_is_woken_passes_the_job_on(shop: Shop) -> None:
    gone, free = await shop.worker("gone"), await shop.worker("free")
    hangs_up = shop.waiting(gone)
    await shop.parked(1)
    waiting = shop.waiting(free)
    await shop.parked(2)
    places = await shop.place()
    shop.desks[0].queued(places.values())
    hangs_up.cancel()
    grant = await soon(waiting)
    assert grant is not None
    assert grant.dispatch_id in places


async def test_a_wake_that_comes_with_the_end_of_the_wait_is_not_lost(shop: Shop) -> None:
    """Both in one turn of the loop: first the job comes, then the time is over."""
    polls, worker = shop.desks[0].polls, await shop.worker()
    [place] = (await shop.place()).values()
    waiting = asyncio.create_task(
        polls._wait(a_poll(worker), frozenset([shop.workflow_id]), 0.05, since=polls.room.calls)
    )
    await until(lambda: len(polls.room) == 1)
    asyncio.get_running_loop().call_later(0.01, polls.wake, {place.lane: 1})
    time.sleep(0.1)  # noqa: ASYNC251 the loop stands still until both are due
    assert (await waiting).lane == place.lane


async def test_a_job_whose_poller_hung_up_goes_to_the_next_who_waits(shop: Shop) -> None:
    """The lease is made while its caller goes away: it is taken back, its attempt is given back."""
    gone, free = await shop.worker("gone"), await shop.worker("free")
    waiting = shop.waiting(free)
    await shop.parked(1)
    [dispatch_id] = await shop.place()
    asked = shop.desks[0].polls.batches
    hangs_up = asyncio.create_task(shop.poll(gone))
    await until(lambda: shop.desks[0].polls.batches > asked)
    hangs_up.cancel()
    grant = await soon(waiting)
    assert grant is not None
    assert (grant.dispatch_id, grant.epoch) == (dispatch_id, 2)
    async with shop.house.control_tx(read_only=True) as tx:
        row = await tx.one(sa.select(d.c.attempts, d.c.releases).where(d.c.id == dispatch_id))
    assert (row.attempts, row.releases) == (2, 1)
    assert await broken_truths(shop.house.central) == []


async def test_what_comes_back_is_found_behind_the_floor(shop: Shop, clock: ManualClock) -> None:
    """Requeued, promoted after a pause, given another priority: each stands where reading no longer starts."""
    desk, worker = shop.desks[0], await shop.worker(max_concurrency=3)
    await shop.add(3)
    grants = [await shop.poll(worker, leases_max=3) for _ in range(3)]
    first, second, _ = [grant for grant in grants if grant]
    await desk.requeue(a_report(first, worker, error="spot"))
    again = await shop.poll(worker, leases_max=3)
    assert again is not None
    assert again.dispatch_id == first.dispatch_id
    await desk.fail(a_report(second, worker, failure=FailureClass.INFRA, error="x"))
    clock.advance(600)
    async with shop.house.control_tx() as tx:
        desk.came_back(await dispatch.promote_delayed(tx))
    again = await shop.poll(worker, leases_max=3)
    assert again is not None
    assert again.dispatch_id == second.dispatch_id


async def test_what_another_replica_brings_back_is_found_within_a_second(shop: Shop) -> None:
    """Its floors are not ours: ours are lowered every second."""
    here, there = await shop.worker("here"), await shop.worker("there")
    [dispatch_id] = await shop.add()
    grant = await shop.poll(here)
    assert grant is not None
    await shop.desks[1].requeue(a_report(grant, here, error="spot"))

    async def ask_on() -> None:
        while (found := await shop.poll(there)) is None:  # noqa: ASYNC110 as a worker does that does not wait
            await asyncio.sleep(0.05)
        assert found.dispatch_id == dispatch_id

    await soon(ask_on(), 3)


async def test_one_poll_sent_twice_at_once_is_one_lease(shop: Shop) -> None:
    """A client that heard nothing asks again while its first call still stands."""
    worker = await shop.worker(max_concurrency=5)
    await shop.add(3)
    said = {"poll_id": "p-1", "leases_max": 5}
    first, again = await asyncio.gather(shop.poll(worker, **said), shop.poll(worker, **said))
    later = await shop.poll(worker, **said)
    assert first is not None
    assert again is not None
    assert later is not None
    assert first.token == again.token == later.token
    async with shop.house.control_tx() as tx:
        assert await dispatch.count_leases(tx, worker.id) == 1


async def test_a_busy_worker_that_looks_ahead_is_no_reason_to_give_work_back(shop: Shop) -> None:
    """Two that run one job each would send the next one to and fro until its returns are used up."""
    one, other = await shop.worker("one", max_concurrency=1), await shop.worker("other", max_concurrency=1)
    await shop.add(3)
    for worker in (one, other):
        assert await shop.poll(worker, leases_max=2) is not None
    ahead = await shop.poll(one, leases_max=2)
    assert ahead is not None
    looks_ahead = shop.waiting(other, leases_max=2, idle=False)
    await shop.parked(1)
    assert not shop.desks[0].somebody_waits_for(ahead.lane.id, but=one.id)
    idle = shop.waiting(await shop.worker("idle"))
    await shop.parked(2)
    assert shop.desks[0].somebody_waits_for(ahead.lane.id, but=one.id)
    await end(looks_ahead, idle)


async def test_two_who_claim_one_dispatch_in_one_batch_get_two_answers(shop: Shop) -> None:
    """An older process sends its heartbeat and its result together with the newer one's."""
    desk, worker = shop.desks[0], await shop.worker()
    await shop.add()
    grant = await shop.poll(worker)
    assert grant is not None
    stranger = await shop.worker("stranger")
    mine, theirs = await asyncio.gather(
        desk.heartbeat([a_beat(grant, worker)]), desk.heartbeat([a_beat(grant, stranger)])
    )
    assert list(mine) == [grant.dispatch_id]
    assert theirs == {}
    found = await asyncio.gather(
        desk.complete(a_report(grant, stranger)),
        desk.complete(a_report(grant, worker)),
        desk.complete(a_report(grant, worker)),
        return_exceptions=True,
    )
    assert [isinstance(each, FleetError) for each in found] == [True, False, False]
    assert [each.replayed for each in found if not isinstance(each, BaseException)] == [False, True]
    assert await shop.status(grant.dispatch_id) is DispatchStatus.COMPLETED
