"""A watcher that is slow, or gone, costs little."""

import asyncio
import contextlib

import pytest

from comfyfleet.comfy.feed import FEED_MESSAGES_MAX, Feed
from comfyfleet.comfy.messages import (
    Executing,
    ExecutionSuccess,
    Heard,
    PreviewImage,
    ProgressStep,
    Reconnected,
    Status,
)


async def drain(feed: Feed) -> list[Heard]:
    heard: list[Heard] = []
    with contextlib.suppress(TimeoutError):
        while True:
            async with asyncio.timeout(0.01):
                heard.append(await feed.receive())
    return heard


async def test_messages_come_in_their_order() -> None:
    feed = Feed("p")
    said = [Executing("1", "p"), ProgressStep(1, 8, "p", "1"), Executing("2", "p"), ExecutionSuccess("p")]
    for message in said:
        feed.put(message)
    assert await drain(feed) == said


async def test_of_what_tells_the_whole_state_a_slow_watcher_gets_the_newest() -> None:
    feed = Feed("p")
    for step in range(500):
        feed.put(ProgressStep(step, 500, "p", "1"))
        feed.put(PreviewImage("image/jpeg", b"x" * 1000, "p", "1"))
        feed.put(Status(step))
    feed.put(ExecutionSuccess("p"))
    assert await drain(feed) == [
        ProgressStep(499, 500, "p", "1"),
        PreviewImage("image/jpeg", b"x" * 1000, "p", "1"),
        Status(499),
        ExecutionSuccess("p"),
    ]


async def test_a_feed_nobody_reads_stays_small_and_then_says_look_yourself() -> None:
    feed = Feed("p")
    for node in range(3 * FEED_MESSAGES_MAX):
        feed.put(Executing(str(node), "p"))
    heard = await drain(feed)
    assert len(heard) <= FEED_MESSAGES_MAX
    assert heard[0] == Reconnected()
    assert heard[-1] == Executing(str(3 * FEED_MESSAGES_MAX - 1), "p")


async def test_progress_alone_never_costs_another_message() -> None:
    feed = Feed("p")
    feed.put(Executing("1", "p"))
    for step in range(3 * FEED_MESSAGES_MAX):
        feed.put(ProgressStep(step, 9, "p", "1"))
    assert await drain(feed) == [Executing("1", "p"), ProgressStep(3 * FEED_MESSAGES_MAX - 1, 9, "p", "1")]


async def test_a_cancelled_wait_loses_nothing() -> None:
    feed = Feed("p")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.001):
            await feed.receive()
    feed.put(ExecutionSuccess("p"))
    assert await feed.receive() == ExecutionSuccess("p")
