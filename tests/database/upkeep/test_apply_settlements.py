"""What the queue decided, applied in the tenant's pool: once, with exact money, whatever crashes between the two."""

import asyncio
from dataclasses import replace

import pytest

from comfyfleet.dispatch import FailureClass, settlements
from comfyfleet.house import House
from comfyfleet.jobs import JobStatus
from comfyfleet.kernel.errors import DatabaseUnavailable, LeaseLost, NotFound
from comfyfleet.kernel.ids import DispatchId, SettlementId, new_id
from comfyfleet.kernel.page import PageRequest
from comfyfleet.metrics.facts import Fact, JobSettled
from comfyfleet.upkeep import apply_settlements
from tests.builders import a_member, a_tenant
from tests.conftest import Databases, ManualClock
from tests.database.jobs.world import CREDIT, PRICE, World


async def parked(house: House) -> list[settlements.Settlement]:
    async with house.control_tx(read_only=True) as tx:
        return (await settlements.list_parked(tx, PageRequest())).rows


async def test_t4_a_crash_after_the_central_commit_is_made_up_for(world: World) -> None:
    job_id = await world.completed()
    assert (await world.job(job_id)).status is JobStatus.QUEUED
    assert await world.settle() == 1
    job = await world.job(job_id)
    assert (job.status, job.error_message, job.completed_at is None) == (JobStatus.COMPLETED, None, False)
    assert await world.money(job_id) == ["JOB_CONSUME", "JOB_RESERVE"]
    assert await world.balance() == CREDIT - PRICE
    assert (await world.dispatches())[0].settled_at is not None
    assert await world.settle() == 0


async def test_t5_applied_and_not_marked_is_applied_again_and_moves_nothing(world: World, clock: ManualClock) -> None:
    job_id = await world.failed()
    await world.settle()
    first = await world.job(job_id)
    await world.in_central("UPDATE settlements SET applied_at = NULL")
    await world.in_central("UPDATE ai_job_dispatches SET settled_at = NULL")
    clock.advance(settlements.CLAIM_S + 1)
    assert await world.settle() == 1
    assert await world.job(job_id) == first
    assert await world.money(job_id) == ["JOB_REFUND", "JOB_RESERVE"]
    assert await world.balance() == CREDIT
    assert (await world.settlements())[0].applied_at is not None
    assert (await world.dispatches())[0].settled_at is not None


async def test_each_job_is_told_once_to_who_counts(world: World, clock: ManualClock) -> None:
    told: list[Fact] = []
    world.house.facts.note = told.append
    done, broken = await world.completed(), await world.failed(FailureClass.WORKFLOW_INVALID)
    await world.settle()
    await world.in_central("UPDATE settlements SET applied_at = NULL")
    clock.advance(settlements.CLAIM_S + 1)
    assert await world.settle() == 2
    settled = {each.job_id: each for each in told if isinstance(each, JobSettled)}
    assert len(told) == len(settled) == 2
    assert (settled[done].outcome, settled[broken].outcome) == ("completed", "workflow_invalid")
    assert settled[done].workflow_id == world.workflow_id
    assert settled[done].tenant_id == world.member.tenant.id
    assert 0 <= (settled[done].wait_s or 0) <= settled[done].total_s


async def test_a_failed_job_is_refunded_and_its_error_can_be_read(world: World) -> None:
    job_id = await world.failed(FailureClass.WORKFLOW_INVALID)
    await world.settle()
    job = await world.job(job_id)
    assert (job.status, job.error_class, job.error_message) == (JobStatus.FAILED, "workflow_invalid", "it broke")
    assert await world.balance() == CREDIT


async def test_a_cancelled_job_is_refunded(world: World) -> None:
    job_id = await world.queued()
    await world.queue.cancel(DispatchId(job_id))
    await world.settle()
    job = await world.job(job_id)
    assert (job.status, job.error_class, job.error_message) == (JobStatus.CANCELLED, "cancelled", "Cancelled.")
    assert await world.balance() == CREDIT


async def test_the_prompt_id_comes_home(world: World) -> None:
    job_id = await world.completed()
    await world.in_central("UPDATE ai_job_dispatches SET provider_job_id = 'prompt-7'")
    await world.settle()
    assert (await world.job(job_id)).provider_job_id == "prompt-7"


BROKEN = {
    "no job": "DELETE FROM ai_jobs WHERE id = :id",
    "a job that ended otherwise": ("UPDATE ai_jobs SET status = 'cancelled', completed_at = created_at WHERE id = :id"),
}


@pytest.mark.parametrize("how", BROKEN)
async def test_t6_a_settlement_that_cannot_be_applied_stands_aside(world: World, how: str) -> None:
    broken, good = await world.completed(), await world.completed()
    await world.in_pool(BROKEN[how], id=broken)
    assert await world.settle() == 2
    assert (await world.job(good)).status is JobStatus.COMPLETED
    [aside] = await parked(world.house)
    assert (aside.dispatch_id, aside.tries) == (broken, 1)
    assert aside.last_error
    assert await world.settle() == 0
    assert await world.money(broken) == ["JOB_RESERVE"]


async def test_t6_a_missing_reservation_leaves_the_job_untouched(world: World) -> None:
    broken = await world.completed()
    other = await a_member(world.house)
    await world.in_central(f"UPDATE settlements SET tenant_id = '{_key(world, other.tenant.id)}'")
    await world.settle()
    assert len(await parked(world.house)) == 1
    assert (await world.job(broken)).status is JobStatus.QUEUED


def _key(world: World, value: object) -> str:
    text = str(value)
    return text.replace("-", "") if world.house.central.engine.dialect.name == "sqlite" else text


async def test_what_was_parked_is_applied_when_it_is_replayed(world: World) -> None:
    job_id = await world.completed()
    await world.in_pool("UPDATE ai_jobs SET status = 'cancelled', completed_at = created_at WHERE id = :id", id=job_id)
    await world.settle()
    [aside] = await parked(world.house)
    await world.in_pool("UPDATE ai_jobs SET status = 'processing', completed_at = NULL WHERE id = :id", id=job_id)
    async with world.house.control_tx() as tx:
        await settlements.replay_parked(tx, aside.id)
    assert await parked(world.house) == []
    assert await world.settle() == 1
    assert (await world.job(job_id)).status is JobStatus.COMPLETED
    for gone in (aside.id, SettlementId(new_id())):
        with pytest.raises(NotFound):
            async with world.house.control_tx() as tx:
                await settlements.replay_parked(tx, gone)


async def test_a_fault_that_is_not_understood_is_tried_again_with_pauses_then_parked(
    world: World, clock: ManualClock
) -> None:
    job_id = await world.completed()
    trigger = _refusing(world)
    for statement in trigger:
        await world.in_pool(statement)
    assert await world.settle() == 1
    assert await world.settle() == 0, "it must wait out its pause"
    tries = 1
    while not await parked(world.house):
        clock.advance(600)
        tries += await world.settle()
        assert tries <= apply_settlements.TRIES_MAX
    assert tries == apply_settlements.TRIES_MAX
    assert (await world.job(job_id)).status is JobStatus.QUEUED


def _refusing(world: World) -> list[str]:
    """A pool in which no job can end."""
    if world.house.pool(world.pool).engine.dialect.name == "sqlite":
        return ["CREATE TRIGGER no_end BEFORE UPDATE ON ai_jobs BEGIN SELECT RAISE(ABORT, 'no'); END"]
    return ["ALTER TABLE ai_jobs ADD CONSTRAINT no_end CHECK (status = 'queued')"]


async def test_a_dead_pool_costs_no_try_and_what_was_taken_is_given_back(world: World, without_pool: House) -> None:
    job_id = await world.completed()
    with pytest.raises(DatabaseUnavailable):
        await apply_settlements.tick(without_pool, world.pool, chance=world.chance)
    [row] = await world.settlements()
    assert (row.tries, row.parked_at, row.applied_at) == (0, None, None)
    assert await world.settle() == 1
    assert (await world.job(job_id)).status is JobStatus.COMPLETED


async def test_a_dead_pool_does_not_delay_another(house: House, databases: Databases, without_pool: House) -> None:
    two = replace(without_pool, pools={**without_pool.pools, "second": house.pools["main"]})
    living = await World.make(two, member=await a_member(two, tenant=await a_tenant(two, pool="second"), tokens=CREDIT))
    dead = await a_tenant(two, pool="main")
    job_id = await living.completed()
    await living.queue.cancel(await living.queue.add(tenant_id=dead.id, pool="main"))
    await living.queue.cancel(await living.queue.add(tenant_id=dead.id, pool="not-in-the-settings"))
    for pool in ("main", "not-in-the-settings"):
        with pytest.raises(DatabaseUnavailable):
            await apply_settlements.tick(two, pool, chance=living.chance)
    assert await living.settle() == 1
    assert (await living.job(job_id)).status is JobStatus.COMPLETED


async def test_ticks_at_once_settle_each_job_once(world: World) -> None:
    done = [await world.completed() for _ in range(3)] + [await world.failed() for _ in range(3)]
    counts = await asyncio.gather(*(world.settle() for _ in range(5)))
    assert sum(counts) == len(done), "of those who take at once, each gets others"
    assert await world.balance() == CREDIT - 3 * PRICE
    assert all(row.applied_at for row in await world.settlements())
    assert await parked(world.house) == []


async def test_who_died_with_settlements_in_hand_holds_them_up_for_a_while_only(
    world: World, clock: ManualClock
) -> None:
    await world.completed()
    async with world.house.control_tx() as tx:
        assert len(await settlements.due_settlements(tx, world.pool, rows=10)) == 1
    assert await world.settle() == 0
    clock.advance(settlements.CLAIM_S + 1)
    assert await world.settle() == 1


@pytest.mark.parametrize("order", ["sweep first", "complete first", "at once"])
async def test_t10_a_deadline_and_a_complete_end_in_one_outcome_and_the_money_matches(
    world: World, clock: ManualClock, order: str
) -> None:
    job_id = await world.queued(run_deadline_s=100.0)
    grant = await world.lease()
    await world.sweep()
    clock.advance(101)
    steps = [world.sweep(), world.queue.complete(grant, world.holder)]
    if order == "at once":
        await asyncio.gather(*steps)
    else:
        for step in steps if order == "sweep first" else reversed(steps):
            await step
    await world.settle()
    job = await world.job(job_id)
    wanted = {JobStatus.COMPLETED: CREDIT - PRICE, JobStatus.FAILED: CREDIT}
    assert await world.balance() == wanted[job.status]
    if order != "at once":
        assert (job.status is JobStatus.FAILED) == (order == "sweep first")
    assert len(await world.settlements()) == 1


async def test_t12_when_every_worker_died_the_sweeper_fails_the_job_and_the_tokens_come_back(
    world: World, clock: ManualClock
) -> None:
    job_id = await world.queued()
    await world.sweep()
    for attempt in range(world.house.queue_rules.max_attempts):
        if attempt:
            assert await world.promote() == 1
        grant = await world.lease()
        assert await world.pass_time(clock, world.house.queue_rules.grace_s + 1) == 1
        await world.pass_time(clock, 60)
    await world.settle()
    job = await world.job(job_id)
    assert (job.status, job.error_class) == (JobStatus.FAILED, "infra")
    assert job.error_message == "Every worker that tried this job was lost."
    assert await world.balance() == CREDIT
    assert isinstance(await world.queue.complete(grant, world.holder), LeaseLost)
