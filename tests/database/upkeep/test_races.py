"""Cases of the failure analysis in which the money shows who was first. Each is named by its number there."""

import asyncio

import pytest

from comfyfleet.checks import check_everything
from comfyfleet.dispatch import DispatchStatus, Ended, FailureClass
from comfyfleet.jobs import JobStatus
from comfyfleet.kernel.errors import LeaseLost
from comfyfleet.kernel.ids import DispatchId
from tests.conftest import ManualClock
from tests.database.jobs.world import CREDIT, PRICE, World

PAID = {JobStatus.COMPLETED: CREDIT - PRICE, JobStatus.FAILED: CREDIT, JobStatus.CANCELLED: CREDIT}


async def nothing_is_wrong(world: World) -> None:
    found = await check_everything(world.house)
    assert [each for each in found if each.state not in ("ok", "notice")] == []


@pytest.mark.parametrize("then", ["completes", "stops"])
async def test_l7_a_cancel_and_a_lease_at_once_end_in_one_of_the_two(world: World, then: str, soak: bool) -> None:
    spent = 0
    for number in range(200 if soak else 6):
        job_id = await world.queued(reserved_tokens=0) if number else await world.queued()
        dispatch_id = DispatchId(job_id)
        leasing, cancelling = world.queue.lease(world.holder), world.queue.cancel(dispatch_id)
        if number % 2:
            grant, cancelled = await asyncio.gather(leasing, cancelling)
        else:
            cancelled, grant = await asyncio.gather(cancelling, leasing)
        if grant is None:
            assert cancelled.status is DispatchStatus.CANCELLED
        else:
            # Leased first: the worker is told, and what it says then counts.
            assert cancelled.status is DispatchStatus.LEASED
            beat = await world.queue.beat(grant, world.holder)
            assert beat is not None
            assert beat.cancel_requested
            if then == "completes":
                assert isinstance(await world.queue.complete(grant, world.holder), Ended)
            else:
                await world.queue.fail(grant, world.holder, FailureClass.CANCELLED)
        await world.settle()
        job = await world.job(job_id)
        wanted = JobStatus.COMPLETED if grant is not None and then == "completes" else JobStatus.CANCELLED
        assert job.status is wanted
        if number == 0:
            spent = PAID[wanted]
    assert await world.balance() == spent
    await nothing_is_wrong(world)


async def test_t1_a_result_sent_ten_times_is_paid_once(world: World) -> None:
    job_id = await world.queued()
    grant = await world.lease()
    answers = await asyncio.gather(*(world.queue.complete(grant, world.holder) for _ in range(10)))
    assert sorted(answer.replayed for answer in answers if isinstance(answer, Ended)) == [False] + [True] * 9
    await asyncio.gather(*(world.settle() for _ in range(3)))
    assert await world.money(job_id) == ["JOB_CONSUME", "JOB_RESERVE"]
    assert await world.balance() == CREDIT - PRICE
    await nothing_is_wrong(world)


@pytest.mark.parametrize("sides", ["before the sweep", "after the sweep"])
async def test_t2_and_t3_the_sweep_decides_whether_a_late_result_is_paid(
    world: World, clock: ManualClock, sides: str
) -> None:
    job_id = await world.queued()
    await world.sweep()
    grant = await world.lease()
    clock.advance(world.house.queue_rules.grace_s + 1)
    if sides == "after the sweep":
        assert await world.sweep() == 1
        assert isinstance(await world.queue.complete(grant, world.holder), LeaseLost)
    else:
        assert isinstance(await world.queue.complete(grant, world.holder), Ended)
        assert await world.sweep() == 0
    await world.settle()
    expected = ["JOB_RESERVE"] if sides == "after the sweep" else ["JOB_CONSUME", "JOB_RESERVE"]
    assert await world.money(job_id) == expected
    await nothing_is_wrong(world)


async def test_t7_a_failure_and_a_result_at_once_are_one_outcome_and_the_money_matches(
    world: World, soak: bool
) -> None:
    for number in range(200 if soak else 6):
        job_id = await world.queued() if not number else await world.queued(reserved_tokens=0)
        grant = await world.lease()
        completed, failed = await asyncio.gather(
            world.queue.complete(grant, world.holder),
            world.queue.fail(grant, world.holder, FailureClass.USER_INPUT),
        )
        assert [isinstance(each, Ended) for each in (completed, failed)].count(True) == 1
        await world.settle()
        job = await world.job(job_id)
        assert (job.status is JobStatus.COMPLETED) is isinstance(completed, Ended)
        if not number:
            assert await world.balance() == PAID[job.status]
    await nothing_is_wrong(world)


async def test_t9_thirty_spot_notices_on_one_job_end_it_and_the_tokens_come_back(world: World) -> None:
    """Twenty give the attempt back, the rest count: a job that never stays anywhere is not carried around for ever."""
    rules = world.house.queue_rules
    job_id = await world.queued()
    given, status = 0, DispatchStatus.QUEUED
    for _ in range(30):
        if status is not DispatchStatus.QUEUED:
            break
        ended = await world.queue.requeue(await world.lease(), world.holder)
        assert isinstance(ended, Ended)
        given, status = given + 1, ended.status
    assert given == rules.max_releases + rules.max_attempts
    assert status is DispatchStatus.FAILED
    await world.settle()
    assert (await world.job(job_id)).status is JobStatus.FAILED
    assert await world.balance() == CREDIT
    await nothing_is_wrong(world)
