"""What every queue adapter owes the pool; a new one is added to QUEUES."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comfyfleet.kernel.errors import NotFound
from comfyfleet.pool.errors import QueueFull
from comfyfleet.pool.model import QueuedJob
from comfyfleet.pool.queue import MemoryQueue, QueueAdapter, QueueDepth

QUEUES: dict[str, Callable[[], QueueAdapter]] = {"memory": MemoryQueue}


@pytest.fixture(params=QUEUES)
def queue(request: pytest.FixtureRequest) -> QueueAdapter:
    return QUEUES[request.param]()


def job(name: str, *, priority: int = 0, shape: str = "shape") -> QueuedJob:
    return QueuedJob(name, {}, shape, "content", priority=priority)


def anything(_: QueuedJob) -> bool:
    return True


async def reserved(queue: QueueAdapter) -> str | None:
    found = await queue.reserve(anything)
    return None if found is None else found.id


async def test_the_higher_priority_goes_first_then_the_longer_waiting(queue: QueueAdapter) -> None:
    for each in (job("a"), job("b", priority=5), job("c", priority=5, shape="other"), job("d", priority=-1)):
        await queue.put(each)
    assert [await reserved(queue) for _ in range(5)] == ["b", "c", "a", "d", None]


async def test_a_job_nobody_can_run_does_not_hold_up_the_others(queue: QueueAdapter) -> None:
    await queue.put(job("a", priority=9, shape="blocked"))
    await queue.put(job("b"))
    found = await queue.reserve(lambda each: each.structure_hash != "blocked")
    assert found is not None
    assert found.id == "b"


async def test_peek_takes_nothing(queue: QueueAdapter) -> None:
    await queue.put(job("a"))
    for _ in range(2):
        found = await queue.peek(anything)
        assert found is not None
        assert found.id == "a"
    assert await queue.peek(lambda _: False) is None
    assert await queue.depth() == QueueDepth(waiting=1, delayed=0, reserved=0)


async def test_a_reserved_job_is_handed_out_once(queue: QueueAdapter) -> None:
    await queue.put(job("a"))
    assert await reserved(queue) == "a"
    assert await reserved(queue) is None
    assert await queue.depth() == QueueDepth(waiting=0, delayed=0, reserved=1)


async def test_commit_and_discard_end_a_reservation(queue: QueueAdapter) -> None:
    for name in ("a", "b"):
        await queue.put(job(name))
        await reserved(queue)
    await queue.commit("a")
    await queue.discard("b", "it failed")
    assert await queue.depth() == QueueDepth(0, 0, 0)
    for ending in (queue.commit("a"), queue.discard("b", "again"), queue.retry(job("a"))):
        with pytest.raises(NotFound):
            await ending


async def test_a_retried_job_keeps_its_place_and_what_was_learnt(queue: QueueAdapter) -> None:
    await queue.put(job("a"))
    await queue.put(job("b"))
    first = await queue.reserve(anything)
    assert first is not None
    await queue.retry(replace(first, attempts=1, failed_on=frozenset({"s"})))
    again = await queue.reserve(anything)
    assert again is not None
    assert (again.id, again.attempts, again.failed_on) == ("a", 1, frozenset({"s"}))


async def test_a_delayed_retry_comes_back_by_itself_and_rings(queue: QueueAdapter) -> None:
    rung = asyncio.Event()
    await queue.put(job("a"))
    first = await queue.reserve(anything)
    assert first is not None
    queue.attach(rung.set)
    await queue.retry(first, delay_s=0.01)
    assert await reserved(queue) is None
    assert await queue.depth() == QueueDepth(waiting=0, delayed=1, reserved=0)
    await asyncio.wait_for(rung.wait(), 10)
    assert await reserved(queue) == "a"


async def test_put_rings(queue: QueueAdapter) -> None:
    rings: list[str] = []
    queue.attach(lambda: rings.append("ring"))
    await queue.put(job("a"))
    assert rings == ["ring"]


async def test_a_waiting_or_delayed_job_can_be_removed_and_a_reserved_one_not(queue: QueueAdapter) -> None:
    for name in ("a", "b", "c"):
        await queue.put(job(name))
    first = await queue.reserve(anything)
    assert first is not None
    second = await queue.reserve(anything)
    assert second is not None
    await queue.retry(second, delay_s=3600)
    assert [await queue.remove(name) for name in ("a", "b", "c", "x")] == [False, True, True, False]
    assert await queue.depth() == QueueDepth(waiting=0, delayed=0, reserved=1)


async def test_the_memory_queue_is_bounded_and_a_retry_always_fits() -> None:
    queue = MemoryQueue(waiting_max=2)
    await queue.put(job("a"))
    await queue.put(job("b"))
    with pytest.raises(QueueFull):
        await queue.put(job("c"))
    first = await queue.reserve(anything)
    assert first is not None
    await queue.put(job("c"))
    await queue.retry(first)
    assert (await queue.depth()).waiting == 3


async def test_closing_gives_back_what_is_left_in_order() -> None:
    queue = MemoryQueue()
    for each in (job("a"), job("b", priority=1), job("c")):
        await queue.put(each)
    first = await queue.reserve(anything)
    assert first is not None
    await queue.retry(first, delay_s=3600)
    assert [each.id for each in await queue.close()] == ["b", "a", "c"]


@given(
    st.lists(
        st.tuples(st.sampled_from(["put", "reserve", "retry", "remove", "commit"]), st.integers(0, 7)), max_size=60
    )
)
async def test_nothing_is_lost_and_nothing_is_handed_out_twice(steps: list[tuple[str, int]]) -> None:
    queue = MemoryQueue()
    waiting: dict[str, tuple[int, int]] = {}
    held: dict[str, QueuedJob] = {}
    places: dict[str, tuple[int, int]] = {}
    for number, (step, which) in enumerate(steps):
        if step == "put":
            new = job(f"j{number}", priority=which % 3, shape=f"s{which % 2}")
            await queue.put(new)
            waiting[new.id] = places[new.id] = (-new.priority, number)
        elif step == "reserve":
            found = await queue.reserve(anything)
            assert (None if found is None else found.id) == min(waiting, key=lambda name: waiting[name], default=None)
            if found is not None:
                del waiting[found.id]
                held[found.id] = found
        elif step == "remove" and waiting:
            name = sorted(waiting)[which % len(waiting)]
            assert await queue.remove(name)
            del waiting[name]
        elif step in {"retry", "commit"} and held:
            name = sorted(held)[which % len(held)]
            taken = held.pop(name)
            if step == "commit":
                await queue.commit(name)
            else:
                await queue.retry(replace(taken, failed_on=frozenset({str(which)})))
                waiting[name] = places[name]
    assert await queue.depth() == QueueDepth(len(waiting), 0, len(held))
