"""The loops over the central database, tick by tick."""

import asyncio
from dataclasses import replace

import pytest

from comfyfleet import fleet
from comfyfleet.db.dialect import now
from comfyfleet.db.tables import (
    capability_lists,
    comfyui_workers,
    failover_blocks,
    fleet_inventories,
    upkeep_ticks,
    waiting_reasons,
    worker_audit_log,
)
from comfyfleet.dispatch import Dispatch, FailureClass, Holder, QueueRules, outages, waiting
from comfyfleet.fleet import FleetRules, NewWorker, Sighting, Worker, WorkerStatus
from comfyfleet.house import House
from comfyfleet.jobs import JobStatus
from comfyfleet.kernel.ids import WorkflowId, new_id
from comfyfleet.upkeep import (
    UpkeepRules,
    expire_leases,
    explain_waiting,
    fail_overdue,
    forget_old,
    promote_delayed,
    relay_submissions,
    retire_workers,
)
from comfyfleet.upkeep.turns import take_turn
from tests.builders import a_member, a_workflow
from tests.conftest import ManualClock
from tests.database.jobs.world import CREDIT, World

LONG_S = UpkeepRules().retention_s + 60


async def status_of(world: World) -> str:
    [row] = await world.dispatches()
    return str(row.status)


# ── leases ──────────────────────────────────────────────────────────────────────────────────


async def test_a_lease_that_ran_out_is_swept_and_promoted(world: World, clock: ManualClock) -> None:
    await world.queued()
    await world.sweep()
    await world.lease()
    assert await world.pass_time(clock, world.house.queue_rules.grace_s + 1) == 1
    assert await status_of(world) == "delayed"
    clock.advance(10)
    waiter = world.wait_for_work()
    assert await promote_delayed.tick(world.house) == 1
    await asyncio.wait_for(waiter.woken, 5)
    assert await status_of(world) == "queued"
    assert await promote_delayed.tick(world.house) == 0


async def test_a_run_past_its_deadline_ends_though_its_worker_is_alive(world: World, clock: ManualClock) -> None:
    job_id = await world.queued(run_deadline_s=60.0)
    await world.sweep()
    grant = await world.lease()
    for _ in range(3):
        clock.advance(25)
        await world.queue.beat(grant, world.holder)
        await world.sweep()
    await world.settle()
    job = await world.job(job_id)
    assert (job.status, job.error_class) == (JobStatus.FAILED, "timeout")
    assert await world.balance() == CREDIT


async def test_i6_after_an_outage_every_lease_gets_a_life_more(world: World, clock: ManualClock) -> None:
    await world.queued()
    await world.sweep()
    grant = await world.lease()
    await world.queue.beat(grant, world.holder)
    clock.advance(world.house.queue_rules.lease_ttl_s * 2)
    assert await world.sweep() == 0
    assert await status_of(world) == "leased"
    assert await world.pass_time(clock, world.house.queue_rules.lease_ttl_s - 5) == 0
    assert await world.pass_time(clock, 10) == 1, "only a life: a dead worker's lease ends all the same"


async def test_i6_those_that_were_spared_are_counted(world: World) -> None:
    async def spare() -> int:
        async with world.house.control_tx() as tx:
            return await outages.spare_leases(tx, rules=world.house.queue_rules)

    await world.queued()
    before = await spare()
    await world.lease()
    assert (before, await spare()) == (0, 1)


@pytest.mark.parametrize("ttl_s", [1.0, 3.0, 12.0, 90.0])
async def test_i6_the_pause_between_two_sweeps_is_no_outage(house: House, clock: ManualClock, ttl_s: float) -> None:
    """However short a lease is: else every sweep would spare what it came for, and no lease would ever run out."""
    world = await World.make(replace(house, queue_rules=QueueRules(lease_ttl_s=ttl_s)))
    await world.queued()
    await world.sweep()
    await world.lease()
    expired, pause_s = 0, expire_leases.EVERY_S * 1.25
    for _ in range(int((world.house.queue_rules.grace_s + ttl_s) / pause_s) + 1):
        clock.advance(pause_s)
        expired += await world.sweep()
    assert expired == 1


async def test_i6_an_outage_lengthens_no_run_deadline(world: World, clock: ManualClock) -> None:
    await world.queued(run_deadline_s=100.0)
    await world.sweep()
    await world.lease()
    clock.advance(60)
    assert await world.sweep() == 0
    [row] = await world.dispatches()
    assert row.lease_expires_at == row.deadline_at
    clock.advance(41)
    assert await world.sweep() == 1
    assert await status_of(world) == "failed"


async def test_i6_the_first_sweep_ever_spares_what_it_finds(world: World, clock: ManualClock) -> None:
    await world.queued()
    await world.lease()
    clock.advance(1000)
    assert await world.sweep() == 0
    assert await status_of(world) == "leased"
    assert [row.loop for row in await world.central(upkeep_ticks)].count(expire_leases.NAME) == 1


async def test_sweeps_at_once_expire_each_lease_once(world: World, clock: ManualClock) -> None:
    await world.sweep()
    for _ in range(4):
        await world.queued()
        await world.lease()
    clock.advance(world.house.queue_rules.grace_s + 1)
    counts = await asyncio.gather(*(world.sweep() for _ in range(4)))
    assert sum(counts) == 4
    assert {row.attempts for row in await world.dispatches()} == {1}
    assert all(row.ended_at for row in await world.attempts())


async def test_while_one_replica_has_its_turn_the_others_pass(world: World, clock: ManualClock) -> None:
    if world.house.central.engine.dialect.name == "sqlite":
        pytest.skip("there the write lock is the turn: the others wait for it")
    await world.create()
    await world.sweep()
    clock.advance(7)
    async with world.house.control_tx() as tx:
        assert await take_turn(tx, expire_leases.NAME) == pytest.approx(7, abs=5)
        assert await take_turn(tx, f"{relay_submissions.NAME}:main") is not None
        assert await take_turn(tx, explain_waiting.NAME) is not None
    async with world.house.control_tx() as tx:
        for name in (expire_leases.NAME, f"{relay_submissions.NAME}:main", explain_waiting.NAME):
            assert await take_turn(tx, name) is not None
        async with world.house.control_tx() as other:
            assert await take_turn(other, expire_leases.NAME) is None
        assert await world.relay() == 0
        assert await world.dispatches() == []
    assert await world.relay() == 1


# ── waiting ─────────────────────────────────────────────────────────────────────────────────


async def test_a_job_nobody_took_in_time_fails_and_is_refunded(world: World, clock: ManualClock) -> None:
    job_id = await world.queued()
    clock.advance(world.house.queue_rules.queue_deadline_s - 1)
    assert await fail_overdue.tick(world.house) == 0
    await explain_waiting.tick(world.house)
    clock.advance(2)
    counts = await asyncio.gather(*(fail_overdue.tick(world.house) for _ in range(3)))
    assert sum(counts) == 1
    await world.settle()
    job = await world.job(job_id)
    assert (job.status, job.error_class) == (JobStatus.FAILED, "timeout")
    assert job.error_message == f"No worker could run this job in time. {waiting.NO_WORKER}"
    assert await world.balance() == CREDIT


async def test_a_job_that_runs_is_not_overdue(world: World, clock: ManualClock) -> None:
    await world.queued(run_deadline_s=10 * world.house.queue_rules.queue_deadline_s)
    await world.lease()
    clock.advance(world.house.queue_rules.queue_deadline_s + 1)
    assert await fail_overdue.tick(world.house) == 0
    assert await status_of(world) == "leased"


async def a_worker(house: House, workflow_id: WorkflowId, name: str, *, provider: str = "self_hosted") -> Worker:
    async with house.control_tx() as tx:
        new = NewWorker(name, "192.0.2.1", providers=(provider,))
        return (
            await fleet.register_worker(tx, new, fleet=None, own_workflows=[workflow_id], rules=FleetRules())
        ).worker


async def reason(world: World) -> str | None:
    async with world.house.control_tx(read_only=True) as tx:
        return await waiting.reason_of(tx, Dispatch.from_row((await world.dispatches())[0]))


@pytest.fixture
async def routed(world: World) -> World:
    return replace(world, workflow_id=(await a_workflow(world.house, structure_hash="structure-1")).id)


async def test_a_job_that_no_worker_may_run_says_so_until_one_comes(routed: World, clock: ManualClock) -> None:
    await routed.queued()
    assert await explain_waiting.tick(routed.house) == 0
    assert await reason(routed) is None
    clock.advance(explain_waiting.WAITED_S + 1)
    assert await explain_waiting.tick(routed.house) == 1
    assert await reason(routed) == waiting.NO_WORKER
    await a_worker(routed.house, routed.workflow_id, "cloudy", provider="cloud")
    assert await explain_waiting.tick(routed.house) == 1
    await a_worker(routed.house, routed.workflow_id, "right")
    assert await explain_waiting.tick(routed.house) == 0
    assert await reason(routed) is None
    assert await routed.central(waiting_reasons) == []


async def test_a_worker_that_is_silent_or_not_approved_is_not_counted_on(routed: World, clock: ManualClock) -> None:
    worker = await a_worker(routed.house, routed.workflow_id, "w")
    await routed.queued()
    clock.advance(fleet.able.SEEN_WITHIN_S + 1)
    assert await explain_waiting.tick(routed.house) == 1
    async with routed.house.control_tx() as tx:
        await fleet.touch_workers(tx, [Sighting(worker.id, ago_s=0.0, current_load=0)])
    assert await explain_waiting.tick(routed.house) == 0
    async with routed.house.control_tx() as tx:
        await fleet.move_worker(tx, "w", fleet.WorkerEvent.DRAIN)
    assert await explain_waiting.tick(routed.house) == 1


async def blocked_world(routed: World, clock: ManualClock, names: list[str]) -> list[Holder]:
    """Each worker in turn fails the job; then it waits, and all are kept away from it for a long time."""
    holders = []
    for name in names:
        worker = await a_worker(routed.house, routed.workflow_id, name)
        holders.append(Holder(worker.id, worker.incarnation))
    await routed.queued()
    for holder in holders:
        grant = await routed.queue.lease(holder)
        assert grant is not None
        await routed.queue.fail(grant, holder, FailureClass.EXECUTION_ERROR)
        clock.advance(10)
        await routed.promote()
    await routed.in_central("UPDATE failover_blocks SET blocked_until = '2999-01-01T00:00:00.000000Z'")
    clock.advance(explain_waiting.WAITED_S + 1)
    async with routed.house.control_tx() as tx:
        for name in names:
            worker_id = (await fleet.get_worker(tx, name)).id
            await fleet.touch_workers(tx, [Sighting(worker_id, ago_s=0.0, current_load=0)])
    return holders


async def test_s2_when_all_are_blocked_the_longest_blocked_tries_again(routed: World, clock: ManualClock) -> None:
    first, second = await blocked_world(routed, clock, ["first", "second"])
    assert await routed.queue.lease(first) is None
    assert await explain_waiting.tick(routed.house) == 1
    assert await reason(routed) == waiting.ALL_BLOCKED
    assert await explain_waiting.tick(routed.house) == 1, "open already: not another one"
    assert await routed.queue.lease(second) is None
    assert await routed.queue.lease(first) is not None


async def test_s2_a_worker_that_is_free_is_reason_enough_to_wait(routed: World, clock: ManualClock) -> None:
    [holder] = await blocked_world(routed, clock, ["first"])
    await a_worker(routed.house, routed.workflow_id, "another")
    assert await explain_waiting.tick(routed.house) == 0
    assert await reason(routed) is None
    assert await routed.queue.lease(holder) is None


async def test_s2_a_block_of_one_tenant_is_told_to_that_tenant_only(routed: World, clock: ManualClock) -> None:
    await blocked_world(routed, clock, ["only"])
    other = replace(routed, member=await a_member(routed.house, tokens=CREDIT))
    await other.create()
    await other.relay()
    clock.advance(explain_waiting.WAITED_S + 1)
    async with routed.house.control_tx() as tx:
        only = (await fleet.get_worker(tx, "only")).id
        await fleet.touch_workers(tx, [Sighting(only, ago_s=0.0, current_load=0)])
    await explain_waiting.tick(routed.house)
    told = await routed.central(waiting_reasons)
    assert [(row.tenant_id, row.reason) for row in told] == [(routed.member.tenant.id, waiting.ALL_BLOCKED)]


async def test_ticks_at_once_tell_each_reason_once(routed: World, clock: ManualClock) -> None:
    await routed.queued()
    clock.advance(explain_waiting.WAITED_S + 1)
    await asyncio.gather(*(explain_waiting.tick(routed.house) for _ in range(4)))
    assert len(await routed.central(waiting_reasons)) == 1


# ── workers, retention ──────────────────────────────────────────────────────────────────────


async def test_a_silent_worker_is_gone(routed: World, clock: ManualClock) -> None:
    await a_worker(routed.house, routed.workflow_id, "quiet")
    clock.advance(routed.house.fleet_rules.stale_worker_s - 1)
    assert await retire_workers.tick(routed.house) == 0
    clock.advance(2)
    counts = await asyncio.gather(*(retire_workers.tick(routed.house) for _ in range(3)))
    assert sum(counts) == 1
    async with routed.house.control_tx() as tx:
        assert (await fleet.get_worker(tx, "quiet")).status is WorkerStatus.GONE


async def test_what_ended_long_ago_is_forgotten_and_nothing_else(world: World, clock: ManualClock) -> None:
    await world.completed()
    await world.settle()
    unsettled = await world.completed()
    waiting_still = await world.queued()
    clock.advance(LONG_S)
    counts = await asyncio.gather(*(forget_old.tick(world.house, rules=UpkeepRules()) for _ in range(3)))
    assert sum(counts) == 1
    kept = {unsettled, waiting_still}
    assert {row.id for row in await world.dispatches()} == kept
    assert {row.dispatch_id for row in await world.payloads()} == kept
    assert {row.dispatch_id for row in await world.attempts()} == {unsettled}
    assert {row.dispatch_id for row in await world.settlements()} == {unsettled}
    assert await world.settle() == 1, "what was not settled can still be"


async def test_a_settlement_that_was_settled_lately_stays(world: World, clock: ManualClock) -> None:
    await world.completed()
    await world.settle()
    clock.advance(LONG_S - 120)
    assert await forget_old.tick(world.house, rules=UpkeepRules()) == 0


async def test_what_workers_did_long_ago_is_forgotten(world: World, clock: ManualClock) -> None:
    async def note() -> None:
        async with world.house.control_tx() as tx:
            await tx.run(worker_audit_log.insert().values(id=new_id(), at=now(), event="poll", detail="{}"))

    await note()
    clock.advance(LONG_S)
    await note()
    assert await forget_old.tick(world.house, rules=UpkeepRules()) == 1
    assert len(await world.central(worker_audit_log)) == 1


async def test_a_worker_that_is_long_gone_is_forgotten_with_its_blocks(routed: World, clock: ManualClock) -> None:
    [gone, revoked] = await blocked_world(routed, clock, ["gone", "revoked"])
    async with routed.house.control_tx() as tx:
        await fleet.deregister_worker(tx, await fleet.get_worker(tx, "gone"))
        await fleet.move_worker(tx, "revoked", fleet.WorkerEvent.REVOKE)
    clock.advance(LONG_S - 120)
    await a_worker(routed.house, routed.workflow_id, "here")
    await forget_old.tick(routed.house, rules=UpkeepRules())
    assert len(await routed.central(comfyui_workers)) == 3
    clock.advance(120)
    await forget_old.tick(routed.house, rules=UpkeepRules())
    assert {row.worker_id for row in await routed.central(comfyui_workers)} == {"revoked", "here"}
    assert [row.worker_id for row in await routed.central(failover_blocks)] == [revoked.worker_id]
    assert gone.worker_id in {row.worker_id for row in await routed.attempts()}, "its jobs' history stays"


async def test_what_a_forgotten_worker_had_is_known_of_its_fleet(routed: World, clock: ManualClock) -> None:
    async with routed.house.control_tx() as tx:
        group = await fleet.create_fleet(tx, slug="video", stage="production", name="Video")
        new = NewWorker("w", "192.0.2.1", capabilities={"node_classes": ["KSampler"]})
        made = await fleet.register_worker(tx, new, fleet=group, rules=FleetRules())
        await fleet.deregister_worker(tx, made.worker)
    clock.advance(LONG_S)
    await forget_old.tick(routed.house, rules=UpkeepRules())
    assert await routed.central(comfyui_workers) == []
    [kept] = await routed.central(fleet_inventories)
    [lists] = await routed.central(capability_lists)
    assert (kept.fleet_id, kept.capability_digest) == (group.id, lists.digest)


async def test_a_worker_that_came_back_is_not_forgotten(routed: World, clock: ManualClock) -> None:
    worker = await a_worker(routed.house, routed.workflow_id, "w")
    async with routed.house.control_tx() as tx:
        await fleet.deregister_worker(tx, worker)
    clock.advance(LONG_S)
    await a_worker(routed.house, routed.workflow_id, "w")
    await forget_old.tick(routed.house, rules=UpkeepRules())
    assert [row.worker_id for row in await routed.central(comfyui_workers)] == ["w"]
