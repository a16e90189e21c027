"""The queue in figures, and attempts as blocks of time; on both engines."""

from datetime import timedelta

import pytest

from comfyfleet.dispatch import FailureClass, figures, timeline
from comfyfleet.kernel.ids import TenantId, WorkflowId, new_id
from tests.conftest import ManualClock
from tests.database.dispatch.test_queue import TENANT, WORKFLOW, Queue, a_holder, queue

__all__ = ["queue"]


async def counted(queue: Queue) -> figures.QueueFigures:
    async with queue.house.control_tx(read_only=True) as tx:
        return await figures.count_queue(tx)


async def test_what_waits_is_counted_by_workflow_and_by_tenant(queue: Queue, clock: ManualClock) -> None:
    other, guest = WorkflowId(new_id()), TenantId(new_id())
    await queue.add()
    clock.advance(100)
    await queue.add(tenant_id=guest, priority=5)
    await queue.add(workflow_id=other, tenant_id=guest)
    await queue.add(workflow_id=other, tenant_id=guest)
    running = await queue.lease(a_holder())
    assert running is not None
    found = await counted(queue)
    left = {WORKFLOW: 2, other: 2}
    left[running.lane.workflow_id] -= 1
    assert {key: each.queued for key, each in found.waiting.items()} == left
    assert found.running == {running.lane.workflow_id: 1}
    assert sum(each.queued for each in found.tenants.values()) == 3
    assert set(found.tenants) <= {TENANT, guest}
    assert not any(each.is_at_least for each in [*found.waiting.values(), *found.tenants.values()])


async def test_the_longest_wait_is_told(queue: Queue, clock: ManualClock) -> None:
    await queue.add()
    clock.advance(250)
    await queue.add()
    found = await counted(queue)
    assert found.waiting[WORKFLOW].oldest_s == pytest.approx(250, abs=5)
    assert found.tenants[TENANT].oldest_s == pytest.approx(250, abs=5)


async def test_counting_ends_at_a_bound(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "COUNTED_MAX", 3)
    monkeypatch.setattr(figures, "SEEN_MAX", 2)
    for _ in range(5):
        await queue.add()
    found = await counted(queue)
    assert (found.waiting[WORKFLOW].queued, found.waiting[WORKFLOW].is_at_least) == (3, True)
    assert (found.tenants[TENANT].queued, found.tenants[TENANT].is_at_least) == (2, True)


async def test_what_ended_is_counted_in_its_stretch(queue: Queue, clock: ManualClock) -> None:
    holder = a_holder()
    for number in range(3):
        await queue.add()
        grant = await queue.lease(holder)
        assert grant is not None
        clock.advance(60)
        if number < 2:
            await queue.complete(grant, holder)
        else:
            await queue.fail(grant, holder, FailureClass.USER_INPUT)
    clock.advance(30)
    async with queue.house.control_tx(read_only=True) as tx:
        ends = await figures.count_ends(tx, stretch_s=60.0, stretches=4)
        spans = await figures.read_spans(tx, window_s=210.0)
    assert (ends.completed, ends.failed) == ([0, 1, 1, 0], [0, 0, 0, 1])
    assert ends.by_reason == {"completed": 2, "user_input": 1}
    shares = figures.busy_shares(spans, {holder.worker_id: 1})
    assert shares[holder.worker_id] == pytest.approx(180 / 210, abs=0.03)


async def test_too_many_spans_shorten_what_is_looked_at(queue: Queue, clock: ManualClock) -> None:
    holder = a_holder()
    for _ in range(3):
        await queue.add()
        grant = await queue.lease(holder)
        assert grant is not None
        clock.advance(60)
        await queue.complete(grant, holder)
    async with queue.house.control_tx(read_only=True) as tx:
        spans = await figures.read_spans(tx, window_s=3600.0, rows=2)
    assert spans.looked_s == pytest.approx(60, abs=3)
    assert figures.busy_shares(spans, {holder.worker_id: 1})[holder.worker_id] == pytest.approx(1.0, abs=0.05)


async def test_attempts_are_blocks_of_time(queue: Queue, clock: ManualClock) -> None:
    holder, other = a_holder(), a_holder()
    async with queue.house.control_tx(read_only=True) as tx:
        began = await timeline.time_now(tx)
    first = await queue.add()
    grant = await queue.lease(holder)
    assert grant is not None
    clock.advance(40)
    await queue.complete(grant, holder)
    second = await queue.add()
    running = await queue.lease(other)
    assert running is not None
    clock.advance(10)
    async with queue.house.control_tx(read_only=True) as tx:
        whole = await timeline.read_timeline(tx, began, began + timedelta(minutes=5))
        earlier = await timeline.read_timeline(tx, began - timedelta(hours=2), began - timedelta(hours=1))
        later = await timeline.read_timeline(tx, began + timedelta(seconds=45), began + timedelta(minutes=5))
        of_one = await timeline.read_timeline(tx, began, began + timedelta(minutes=5), worker_id=holder.worker_id)
        cut = await timeline.read_timeline(tx, began, began + timedelta(minutes=5), rows=1)
    open_one, ended = whole.blocks
    assert (open_one.dispatch_id, open_one.ends_s, open_one.outcome) == (second, None, None)
    assert (ended.dispatch_id, ended.outcome, ended.workflow_id) == (first, "completed", WORKFLOW)
    assert ended.begins_s == pytest.approx(0, abs=3)
    assert ended.ends_s == pytest.approx(40, abs=3)
    assert earlier.blocks == []
    assert [each.dispatch_id for each in later.blocks] == [second]
    assert [each.dispatch_id for each in of_one.blocks] == [first]
    assert (len(cut.blocks), cut.left_out, whole.left_out) == (1, True, False)


async def test_many_blocks_are_read_a_little_at_a_time(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline, "READ_ROWS", 2)
    holder = a_holder()
    made = set()
    for _ in range(7):
        made.add(await queue.add())
        grant = await queue.lease(holder)
        assert grant is not None
        await queue.complete(grant, holder)
    async with queue.house.control_tx(read_only=True) as tx:
        at = await timeline.time_now(tx)
        begin, end = at - timedelta(hours=1), at + timedelta(seconds=1)
        whole = await timeline.read_timeline(tx, begin, end)
        some = await timeline.read_timeline(tx, begin, end, rows=5)
    assert ({each.dispatch_id for each in whole.blocks}, whole.left_out) == (made, False)
    assert (len(whole.blocks), len(some.blocks), some.left_out) == (7, 5, True)
