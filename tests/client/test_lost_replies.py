"""Replies get lost and streams break, over real sockets: everything happens once, and nothing is missed."""

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from comfyfleet.client import AsyncClient, Event, Progressed, StatusChanged
from tests.client.faulty import FaultyProxy
from tests.client.fleet import NEGATIVE, PHOTO, Fleet


@pytest.fixture
async def proxy(fleet: Fleet) -> AsyncIterator[FaultyProxy]:
    async with FaultyProxy(fleet.server.port) as found:
        yield found


async def test_every_reply_of_an_order_is_lost_once_and_it_is_made_once(
    fleet: Fleet, proxy: FaultyProxy, tmp_path: Path
) -> None:
    proxy.loses.update(
        {b"POST /api/videos/uploads": 1, b"PUT /objects": 1, b"POST /api/videos ": 1, b"POST /api/ai-jobs ": 2}
    )
    async with AsyncClient(proxy.url, fleet.key) as client:
        balance = (await client.wallet()).balance
        jobs = {job.id async for job in client.jobs.list()}
        job = await client.submit(fleet.effect, PHOTO)
        assert proxy.lost == 5
        assert {each.id async for each in client.jobs.list()} - jobs == {job.id}
        assert (await client.wallet()).balance == balance - job.credits_cost
        keys = re.findall(rb'"idempotency_key":"([^"]+)"', b"".join(proxy.requests))
        assert (len(keys), len(set(keys))) == (3, 1)
        proxy.loses.update({f"POST /api/ai-jobs/{job.id}/cancel".encode(): 1})
        assert (await client.cancel(job.id)).status == "cancelled"
        proxy.loses.update({f"POST /api/ai-jobs/{job.id}/retry".encode(): 1})
        again = await client.retry(job.id)
        assert {each.id async for each in client.jobs.list()} - jobs == {job.id, again.id}
        proxy.loses.update({b"GET /objects": 1})
        with fleet.worker():
            result = await client.wait(again.id)
        [saved] = await result.save(tmp_path)
        assert saved.path.read_bytes() == NEGATIVE
        assert +proxy.loses == {}


async def test_a_stream_that_is_cut_goes_on_where_it_was(fleet: Fleet, proxy: FaultyProxy) -> None:
    told: list[Event] = []
    proxy.cuts += [b'"value":2', b'"value":4', b'"value":5']
    async with AsyncClient(proxy.url, fleet.key) as client:
        job = await client.submit(fleet.effect, PHOTO)
        with fleet.worker(steps=6, paced=True) as worker:

            def hear(event: Event) -> None:
                told.append(event)
                # One step for each that is heard: none is told before the one before it has arrived.
                if isinstance(event, Progressed) or event == StatusChanged(job.id, "processing"):
                    worker.go_on(1)

            async with asyncio.timeout(60):
                await client.wait(job.id, on_progress=hear)
    assert [event.facts["value"] for event in told if isinstance(event, Progressed)] == [1, 2, 3, 4, 5, 6]
    assert proxy.cuts == []
    asked = [each for each in proxy.requests if b"/events?" in each.partition(b"\r\n")[0]]
    assert [b"last-event-id:" in each.lower() for each in asked] == [False, True, True, True]
    statuses = [event.status for event in told if isinstance(event, StatusChanged)]
    assert statuses == sorted(set(statuses), key=["queued", "processing", "completed"].index)


async def test_a_server_that_restarts_is_waited_for(fleet: Fleet) -> None:
    """What it remembered of the job is gone; how it ended is not."""
    async with AsyncClient(fleet.url, fleet.key) as client:
        job = await client.submit(fleet.effect, PHOTO)
        waiting = asyncio.create_task(client.wait(job.id))
        await asyncio.sleep(0.5)
        await asyncio.to_thread(fleet.server.stop)
        await asyncio.sleep(0.5)
        await asyncio.to_thread(fleet.server.start)
        with fleet.worker():
            async with asyncio.timeout(60):
                assert (await waiting).job.status == "completed"
