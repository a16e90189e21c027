"""From the pool's outbox into the central queue: once, whatever crashes between the two."""

import asyncio

import pytest

from comfyfleet import dispatch, jobs, tenants
from comfyfleet.db.tables import fair_shares
from comfyfleet.house import House
from comfyfleet.jobs import JobStatus
from comfyfleet.kernel.errors import DatabaseUnavailable
from comfyfleet.upkeep import UpkeepRules, forget_old, relay_submissions
from tests.builders import a_user, credit
from tests.conftest import ManualClock
from tests.database.jobs.world import CREDIT, PRICE, World

LONG_S = UpkeepRules().retention_s + 60


async def test_c4_a_crash_after_the_tenants_commit_loses_no_job(world: World) -> None:
    job_id = await world.create()
    waiter = world.wait_for_work()
    assert await relay_submissions.tick(world.house, world.pool) == 1
    [row] = await world.dispatches()
    assert (row.id, row.tenant_id, row.pool, row.status) == (job_id, world.member.tenant.id, "main", "queued")
    assert (await asyncio.wait_for(waiter.woken, 5)).lane == row.lane
    assert (await world.submissions())[0].sent_at is not None
    assert await world.relay() == 0


async def test_c5_while_central_is_away_jobs_wait_in_the_outbox(world: World, without_central: House) -> None:
    job_id = await world.create()
    with pytest.raises(DatabaseUnavailable):
        await relay_submissions.tick(without_central, world.pool)
    assert (await world.submissions())[0].sent_at is None
    assert (await world.job(job_id)).status is JobStatus.QUEUED
    assert await world.relay() == 1
    assert [row.id for row in await world.dispatches()] == [job_id]


async def test_c6_a_crash_after_the_central_insert_queues_no_job_twice(world: World) -> None:
    await world.create()
    async with world.house.pool_tx(world.pool) as tx:
        found = await jobs.unsent(tx, rows=10)
    async with world.house.control_tx() as tx:
        news = [jobs.to_dispatch(each, pool=world.pool, weight=1) for each in found]
        await dispatch.enqueue_dispatches(tx, news, rules=world.house.queue_rules)
    assert await world.relay() == 1
    assert len(await world.dispatches()) == 1
    assert (await world.submissions())[0].sent_at is not None


async def test_c7_a_job_that_has_ended_is_never_sent_again_even_when_its_dispatch_is_forgotten(
    world: World, clock: ManualClock
) -> None:
    job_id = await world.completed()
    await world.settle()
    await world.in_pool("UPDATE submissions SET sent_at = NULL")
    clock.advance(LONG_S)
    assert await forget_old.tick(world.house, rules=UpkeepRules()) == 1
    assert await world.dispatches() == []
    assert await world.relay() == 1
    assert await world.dispatches() == []
    assert (await world.submissions())[0].sent_at is not None
    assert (await world.job(job_id)).status is JobStatus.COMPLETED
    assert await world.balance() == CREDIT - PRICE


async def test_ticks_at_once_queue_each_job_once_and_count_it_once(world: World) -> None:
    ids = {await world.create(expected_s=2.0) for _ in range(5)}
    await asyncio.gather(*(world.relay() for _ in range(6)))
    while await world.relay():
        pass
    assert {row.id for row in await world.dispatches()} == ids
    [share] = await world.central(fair_shares)
    assert share.finish_tag == pytest.approx(10.0)


async def test_the_weight_of_the_tenant_and_the_needs_of_the_job_reach_the_queue(house: House) -> None:
    async with house.control_tx() as tx:
        heavy = await tenants.create_tenant(tx, slug="heavy", name="Heavy", pool="main", weight=4)
    user = await a_user(house, heavy)
    await credit(house, heavy, user, CREDIT)
    world = await World.make(house)
    world.member = type(world.member)(heavy, user, world.member.key)
    await world.queued(expected_s=8.0, priority=3, run_deadline_s=77.0)
    [row] = await world.dispatches()
    assert (row.priority, row.run_deadline_s) == (3, 77.0)
    [share] = await world.central(fair_shares)
    assert share.finish_tag == pytest.approx(2.0)


async def test_more_than_a_batch_is_relayed_oldest_first(world: World, clock: ManualClock) -> None:
    first = await world.create(reserved_tokens=0)
    clock.advance(1)
    async with world.house.tenant_tx(world.member.tenant) as tx:
        await jobs.create_jobs(tx, [world.new(reserved_tokens=0) for _ in range(relay_submissions.BATCH)])
    assert await world.relay() == relay_submissions.BATCH
    assert first in {row.id for row in await world.dispatches()}
    assert await world.relay() == 1
    assert await world.relay() == 0


async def test_sent_submissions_are_forgotten_in_time_and_unsent_ones_never(world: World, clock: ManualClock) -> None:
    await world.queued()
    kept = await world.create()
    clock.advance(LONG_S)
    assert await forget_old.tick_pool(world.house, world.pool, rules=UpkeepRules()) == 1
    assert [row.job_id for row in await world.submissions()] == [kept]


async def test_a_pool_that_the_settings_do_not_name_is_an_outage_of_that_pool(world: World) -> None:
    with pytest.raises(DatabaseUnavailable):
        await relay_submissions.tick(world.house, "elsewhere")
