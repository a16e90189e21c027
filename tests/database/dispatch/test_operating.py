"""What operators do to the queue: take leases back, give another priority, look, clear a block; on both engines."""

import asyncio
import json
from dataclasses import replace

import pytest
import sqlalchemy as sa

from comfyfleet import dispatch, fleet
from comfyfleet.audit import recent_block_events
from comfyfleet.checks import QUEUE, Finding, check_invariants
from comfyfleet.dispatch import DispatchFilter, DispatchStatus, FailureClass, Grant, Holder, ListedBlock
from comfyfleet.dispatch.matching import EVERY_STRUCTURE
from comfyfleet.fleet import FleetRules, NewWorker
from comfyfleet.kernel.errors import InvalidInput, LeaseLost, NotFound, NotWaiting
from comfyfleet.kernel.ids import DispatchId, TenantId, WorkerId, WorkflowId, new_id
from comfyfleet.kernel.page import PageRequest
from tests.conftest import ManualClock
from tests.database.dispatch.test_queue import RULES, TENANT, WORKFLOW, Queue, a_holder, queue

__all__ = ["queue"]


async def leased(queue: Queue, holder: Holder) -> Grant:
    await queue.add()
    grant = await queue.lease(holder)
    assert grant is not None
    return grant


async def take_back(queue: Queue, holder: Holder, reason: str = "revoked", **given: list[DispatchId]) -> int:
    async with queue.house.control_tx() as tx:
        return len(await dispatch.return_leases(tx, holder.worker_id, reason, **given))


async def prioritise(queue: Queue, dispatch_id: DispatchId, priority: int) -> dispatch.Dispatch:
    async with queue.house.control_tx() as tx:
        return await dispatch.set_priority(tx, dispatch_id, priority)


async def show(queue: Queue, dispatch_id: DispatchId) -> dispatch.DispatchDetail:
    async with queue.house.control_tx(read_only=True) as tx:
        return await dispatch.get_dispatch(tx, dispatch_id)


async def broken_truths(queue: Queue) -> list[Finding]:
    async with queue.house.control_tx(read_only=True) as tx:
        found = await check_invariants(tx, QUEUE, database="central", rules=queue.rules)
    return [each for each in found if each.state != "ok"]


# ── leases taken back ───────────────────────────────────────────────────────────────────────


async def test_leases_return_to_the_queue_at_once_and_their_tokens_are_dead(queue: Queue) -> None:
    holder, other = a_holder(), a_holder()
    grants = [await leased(queue, holder) for _ in range(3)]
    elsewhere = await leased(queue, other)
    assert await take_back(queue, holder) == 3
    for grant in grants:
        row = await queue.row(grant.dispatch_id)
        assert (row.status, row.attempts, row.releases, row.worker_id) == ("queued", 1, 0, None)
        assert await queue.beat(grant, holder) is None
        assert isinstance(await queue.complete(grant, holder), LeaseLost)
        assert [attempt.reason for attempt in (await show(queue, grant.dispatch_id)).attempts] == ["revoked"]
    assert await queue.beat(elsewhere, other) is not None
    assert await take_back(queue, holder) == 0
    assert await queue.settlements() == []
    assert await broken_truths(queue) == []


async def test_what_is_proven_is_kept(queue: Queue) -> None:
    holder = a_holder()
    kept, lost = await leased(queue, holder), await leased(queue, holder)
    assert await take_back(queue, holder, "worker_restarted", keep=[kept.dispatch_id]) == 1
    assert await queue.beat(kept, holder) is not None
    assert await queue.beat(lost, holder) is None


async def test_a_lease_whose_attempts_are_used_up_fails_and_is_settled(queue: Queue) -> None:
    queue.rules = replace(RULES, max_attempts=1)
    holder = a_holder()
    grant = await leased(queue, holder)
    assert await take_back(queue, holder) == 1
    found = (await show(queue, grant.dispatch_id)).dispatch
    assert (found.status, found.error_class) == (DispatchStatus.FAILED, FailureClass.INFRA)
    assert await queue.settlements() == [(grant.dispatch_id.hex, "failed")]
    assert await broken_truths(queue) == []


async def test_a_lease_that_nobody_wants_any_more_is_cancelled_instead(queue: Queue) -> None:
    holder = a_holder()
    grant = await leased(queue, holder)
    await queue.cancel(grant.dispatch_id)
    assert await take_back(queue, holder) == 1
    assert (await queue.row(grant.dispatch_id)).status == "cancelled"
    assert await queue.settlements() == [(grant.dispatch_id.hex, "cancelled")]
    assert await broken_truths(queue) == []


async def test_a_probe_that_is_taken_back_lets_the_next_one_try(queue: Queue, clock: ManualClock) -> None:
    holder = a_holder()
    await queue.fail(await leased(queue, holder), holder, FailureClass.EXECUTION_ERROR)
    clock.advance(RULES.block_cooldown_s + 1)
    await leased(queue, holder)
    assert await queue.lease(holder) is None, "one probe at a time"
    assert await take_back(queue, holder) == 1
    assert await queue.lease(holder) is not None
    assert await broken_truths(queue) == []


async def test_of_taking_back_and_completing_at_once_one_counts(queue: Queue) -> None:
    holder = a_holder()
    for _ in range(5):
        grant = await leased(queue, holder)
        taken, ended = await asyncio.gather(take_back(queue, holder), queue.complete(grant, holder))
        assert (taken == 1) is isinstance(ended, LeaseLost)
        await queue.cancel(grant.dispatch_id)
    assert await broken_truths(queue) == []


# ── another priority ────────────────────────────────────────────────────────────────────────


async def test_a_waiting_dispatch_moves_to_the_lane_of_its_new_priority_and_keeps_its_age(queue: Queue) -> None:
    ids = [await queue.add() for _ in range(3)]
    before = await queue.row(ids[2])
    moved = await prioritise(queue, ids[2], 5)
    after = await queue.row(ids[2])
    assert (moved.priority, after.priority) == (5, 5)
    assert moved.lane == after.lane != before.lane
    assert (after.queued_at, after.seq, after.status) == (before.queued_at, before.seq, "queued")
    grants = [await queue.lease(a_holder()) for _ in range(3)]
    assert [grant.dispatch_id for grant in grants if grant] == [ids[2], ids[0], ids[1]]


async def test_in_its_new_lane_it_stands_behind_its_own_tenants_jobs_and_beside_the_others(queue: Queue) -> None:
    """A lane has a virtual time of its own: the tag of another lane would put it first or last there."""
    other = TenantId(new_id())
    waiting = [await queue.add(priority=5, cost_s=100.0, tenant_id=tenant) for tenant in (TENANT, other, other)]
    moved = await queue.add()
    await prioritise(queue, moved, 5)
    grants = [await queue.lease(a_holder()) for _ in range(4)]
    order = [grant.dispatch_id for grant in grants if grant]
    assert order.index(waiting[0]) < order.index(moved)
    assert set(order[:2]) == {waiting[0], waiting[1]}


async def test_the_same_priority_changes_nothing(queue: Queue) -> None:
    dispatch_id = await queue.add()
    before = await queue.row(dispatch_id)
    await prioritise(queue, dispatch_id, 0)
    assert await queue.row(dispatch_id) == before


async def test_a_delayed_one_can_be_moved_and_comes_back_in_its_new_lane(queue: Queue, clock: ManualClock) -> None:
    holder = a_holder()
    grant = await leased(queue, holder)
    await queue.fail(grant, holder, FailureClass.INFRA)
    moved = await prioritise(queue, grant.dispatch_id, 7)
    assert moved.status is DispatchStatus.DELAYED
    clock.advance(600)
    assert await queue.promote() == 1
    again = await queue.lease(a_holder())
    assert again is not None
    assert (again.lane.priority, again.lane.id) == (7, moved.lane)


async def test_one_that_is_leased_or_over_is_not_moved(queue: Queue) -> None:
    holder = a_holder()
    grant = await leased(queue, holder)
    with pytest.raises(NotWaiting, match="leased"):
        await prioritise(queue, grant.dispatch_id, 5)
    await queue.complete(grant, holder)
    with pytest.raises(NotWaiting, match="completed"):
        await prioritise(queue, grant.dispatch_id, 5)
    with pytest.raises(NotFound):
        await prioritise(queue, DispatchId(new_id()), 5)
    for priority in (-101, 101):
        with pytest.raises(InvalidInput, match="priority"):
            await prioritise(queue, grant.dispatch_id, priority)


async def test_of_moving_and_leasing_at_once_the_lease_stands_in_one_lane(queue: Queue) -> None:
    for number in range(5):
        dispatch_id, holder = await queue.add(), a_holder()
        moved, grant = await asyncio.gather(
            prioritise(queue, dispatch_id, number + 1), queue.lease(holder), return_exceptions=True
        )
        assert not isinstance(grant, BaseException)
        row = await queue.row(dispatch_id)
        if isinstance(moved, BaseException):
            assert isinstance(moved, NotWaiting)
            assert row.priority == 0
        grant = grant or await queue.lease(holder)
        assert grant is not None
        await queue.complete(grant, holder)
    assert await broken_truths(queue) == []


# ── looking ─────────────────────────────────────────────────────────────────────────────────


async def listed(queue: Queue, wanted: DispatchFilter) -> list[DispatchId]:
    async with queue.house.control_tx(read_only=True) as tx:
        return [each.id for each in (await dispatch.list_dispatches(tx, PageRequest(), wanted)).rows]


async def test_dispatches_are_listed_newest_first_and_filtered(queue: Queue) -> None:
    other_workflow, other_tenant, holder = WorkflowId(new_id()), TenantId(new_id()), a_holder()
    running = (await leased(queue, holder)).dispatch_id
    mine, theirs = await queue.add(workflow_id=other_workflow), await queue.add(tenant_id=other_tenant)
    assert await listed(queue, DispatchFilter()) == [theirs, mine, running]
    assert await listed(queue, DispatchFilter(status=DispatchStatus.QUEUED)) == [theirs, mine]
    assert await listed(queue, DispatchFilter(workflow_id=other_workflow)) == [mine]
    assert await listed(queue, DispatchFilter(tenant_id=other_tenant)) == [theirs]
    assert await listed(queue, DispatchFilter(worker_id=holder.worker_id)) == [running]
    assert await listed(queue, DispatchFilter(worker_id=holder.worker_id, workflow_id=other_workflow)) == []
    async with queue.house.control_tx(read_only=True) as tx:
        first = await dispatch.list_dispatches(tx, PageRequest(rows=2), DispatchFilter(workflow_id=WORKFLOW))
        assert ([each.id for each in first.rows], first.next_cursor) == ([theirs, running], None)
        first = await dispatch.list_dispatches(tx, PageRequest(rows=2), DispatchFilter())
        rest = await dispatch.list_dispatches(tx, PageRequest.parse(rows=2, cursor=first.next_cursor), DispatchFilter())
    assert [each.id for each in rest.rows] == [running]


async def test_a_dispatch_is_shown_with_every_attempt(queue: Queue, clock: ManualClock) -> None:
    first, second = a_holder(), a_holder()
    grant = await leased(queue, first)
    await queue.fail(grant, first, FailureClass.INFRA)
    clock.advance(600)
    await queue.promote()
    again = await queue.lease(second)
    assert again is not None
    await queue.beat(again, second)
    detail = await show(queue, grant.dispatch_id)
    found, attempts = detail.dispatch, detail.attempts
    assert (found.status, found.attempts, found.last_error) == (DispatchStatus.LEASED, 2, "it broke")
    assert [(each.epoch, each.reason, each.confirmed_at is None) for each in attempts] == [
        (1, "infra", True),
        (2, None, False),
    ]
    async with queue.house.control_tx(read_only=True) as tx:
        assert [each.epoch for each in await dispatch.attempts_of_worker(tx, second.worker_id)] == [2]
        with pytest.raises(NotFound):
            await dispatch.get_dispatch(tx, DispatchId(new_id()))


# ── blocks ──────────────────────────────────────────────────────────────────────────────────


async def test_a_cleared_block_lets_the_worker_try_again_at_once(queue: Queue, clock: ManualClock) -> None:
    holder = a_holder()
    await queue.fail(await leased(queue, holder), holder, FailureClass.EXECUTION_ERROR)
    await queue.add()
    assert await queue.lease(holder) is None
    async with queue.house.control_tx() as tx:
        (block,) = (await dispatch.list_blocks(tx, PageRequest())).rows
        assert (block.structure_hash, block.tenant_id, block.failure_count) == ("structure-1", TENANT, 1)
        assert not block.half_open
        await dispatch.clear_block(tx, holder.worker_id, "structure-1")
        with pytest.raises(NotFound):
            await dispatch.clear_block(tx, holder.worker_id, "structure-1")
    assert await queue.lease(holder) is not None


async def blocks_of(queue: Queue) -> list[ListedBlock]:
    async with queue.house.control_tx(read_only=True) as tx:
        return list((await dispatch.list_blocks(tx, PageRequest())).rows)


async def block_events(queue: Queue) -> list[str]:
    async with queue.house.control_tx(read_only=True) as tx:
        return [each.event for each in await recent_block_events(tx, seconds=60)]


async def test_fewer_failures_than_the_threshold_keep_nothing_away(queue: Queue) -> None:
    queue.rules = replace(RULES, max_failures_before_block=3)
    holder = await a_known_holder(queue)
    for _ in range(2):
        await queue.fail(await leased(queue, holder), holder, FailureClass.EXECUTION_ERROR)
        both = [await leased(queue, holder) for _ in range(2)]
        assert len({each.dispatch_id for each in both}) == 2, "no probe: as many as it has room for"
        for each in both:
            await queue.requeue(each, holder)
        assert (await blocks_of(queue), await block_events(queue)) == ([], [])
    await queue.fail(await leased(queue, holder), holder, FailureClass.OUT_OF_MEMORY)
    await queue.add()
    assert await queue.lease(holder) is None
    [block] = await blocks_of(queue)
    assert (block.failure_count, block.cooldown_s, block.half_open) == (3, RULES.block_cooldown_s, False)
    assert await block_events(queue) == ["client:blocked_workflow"]


async def test_a_success_forgets_failures_that_did_not_block(queue: Queue) -> None:
    queue.rules = replace(RULES, max_failures_before_block=2)
    holder = await a_known_holder(queue)
    for _ in range(2):
        await queue.fail(await leased(queue, holder), holder, FailureClass.EXECUTION_ERROR)
        await queue.complete(await leased(queue, holder), holder)
    assert (await blocks_of(queue), await block_events(queue)) == ([], [])
    with pytest.raises(NotFound):
        async with queue.house.control_tx() as tx:
            await dispatch.clear_block(tx, holder.worker_id, "structure-1")


async def test_the_first_fault_of_a_server_blocks_whatever_the_threshold(queue: Queue) -> None:
    queue.rules = replace(RULES, max_failures_before_block=3)
    holder = a_holder()
    await queue.fail(await leased(queue, holder), holder, FailureClass.SERVER_FAULT)
    await queue.add(structure_hash="structure-2", tenant_id=TenantId(new_id()))
    assert await queue.lease(holder) is None
    [block] = await blocks_of(queue)
    assert (block.structure_hash, block.tenant_id, block.failure_count) == (EVERY_STRUCTURE, None, 1)


async def test_each_probe_that_fails_doubles_the_cooldown_up_to_an_hour(queue: Queue, clock: ManualClock) -> None:
    holder, cooldowns = a_holder(), []
    for _ in range(9):
        await queue.fail(await leased(queue, holder), holder, FailureClass.EXECUTION_ERROR)
        [block] = await blocks_of(queue)
        cooldowns.append(block.cooldown_s)
        clock.advance(block.cooldown_s - 1)
        assert await queue.lease(holder) is None
        clock.advance(2)
    assert cooldowns == [60, 120, 240, 480, 960, 1920, 3600, 3600, 3600]


async def test_a_cooldown_that_is_set_to_more_than_an_hour_stays_as_it_is(queue: Queue, clock: ManualClock) -> None:
    queue.rules = replace(RULES, block_cooldown_s=7200.0)
    holder = a_holder()
    for _ in range(2):
        await queue.fail(await leased(queue, holder), holder, FailureClass.EXECUTION_ERROR)
        [block] = await blocks_of(queue)
        assert block.cooldown_s == 7200
        clock.advance(7201)


async def a_known_holder(queue: Queue) -> Holder:
    """One whose worker is registered: events name it."""
    async with queue.house.control_tx() as tx:
        group = await fleet.create_fleet(tx, slug="video", stage="production", name="Video")
        made = await fleet.register_worker(tx, NewWorker("w", "192.0.2.1"), fleet=group, rules=FleetRules())
    return Holder(made.worker.id, made.worker.incarnation)


async def test_blocks_are_paged_by_worker(queue: Queue) -> None:
    holders = sorted((a_holder() for _ in range(3)), key=lambda each: each.worker_id)
    for holder in holders:
        for structure in ("structure-1", "structure-2"):
            await queue.add(structure_hash=structure)
            grant = await queue.lease(holder)
            assert grant is not None
            await queue.fail(grant, holder, FailureClass.OUT_OF_MEMORY)
    async with queue.house.control_tx(read_only=True) as tx:
        first = await dispatch.list_blocks(tx, PageRequest(rows=2))
        rest = await dispatch.list_blocks(tx, PageRequest.parse(rows=2, cursor=first.next_cursor))
        one = await dispatch.list_blocks(tx, PageRequest(), worker_id=holders[1].worker_id)
        none = await dispatch.list_blocks(tx, PageRequest(), worker_id=WorkerId(new_id()))
    assert (len(first.rows), len(rest.rows), rest.next_cursor) == (4, 2, None)
    assert [each.structure_hash for each in one.rows] == ["structure-1", "structure-2"]
    assert none.rows == []


async def test_what_a_settlement_says_of_a_lease_taken_back_is_readable(queue: Queue) -> None:
    queue.rules = replace(RULES, max_attempts=1)
    holder = a_holder()
    await leased(queue, holder)
    await take_back(queue, holder)
    async with queue.house.central.engine.connect() as connection:
        (detail,) = (await connection.execute(sa.text("SELECT detail FROM settlements"))).scalars()
    assert json.loads(detail)["error"] == "The lease was taken back from its worker (revoked)."
