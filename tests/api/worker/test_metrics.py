"""`/metrics` of a replica that has served a worker."""

import asyncio
import itertools
import socket
from pathlib import Path

import httpx2
import pytest

from comfyfleet.bootstrap import open_metrics
from comfyfleet.gauges import MetricsPort, MetricsPortTaken, PortRules
from comfyfleet.house import House
from comfyfleet.kernel.errors import NotFound
from comfyfleet.settings import Settings
from comfyfleet.upkeep.loop import Loop, Upkeep
from tests.api.worker.conftest import Yard
from tests.api.worker.test_protocol import lease_of
from tests.metric_names import problems_of

OPENMETRICS = {"Accept": "application/openmetrics-text; version=1.0.0"}


def rules(folder: Path, port: int = 0) -> PortRules:
    return PortRules("127.0.0.1", port, 0, lambda: {"store": folder}, lambda: {"central": folder / "central.sqlite"})


async def scrape(port: MetricsPort) -> httpx2.Response:
    async with httpx2.AsyncClient() as client:
        return await client.get(f"http://127.0.0.1:{port.port}/metrics", headers=OPENMETRICS)


async def test_what_a_worker_did_is_counted_once_and_by_name(yard: Yard, tmp_path: Path) -> None:
    with MetricsPort(yard.house, rules(tmp_path)) as port:
        worker = await yard.register()
        for _ in range(3):
            await yard.add()
        first, second = await worker.poll(wait_seconds=1), await worker.poll(wait_seconds=1)
        for _ in range(2):  # sent again, it gets the first answer
            await worker.say("complete", **lease_of(first))
        await worker.say("requeue", **lease_of(second), reason="it drains")
        third = await worker.poll(wait_seconds=1)
        for _ in range(2):  # only the first heartbeat of a lease confirms it
            await worker.say("heartbeat", leases=[lease_of(third)])
        await worker.say("requeue", **lease_of(third), reason="spot_terminate")
        await worker.say("requeue", **lease_of(third), reason="spot_terminate")
        await worker.say("fail", 409, **lease_of(second), error="late", error_class="infra")
        await yard.client.get("/api/nothing/here")
        answer = await scrape(port)
    value = port.registry.get_sample_value
    assert answer.headers["content-type"].startswith("application/openmetrics-text")
    assert value("comfyfleet_queue_jobs", {"workflow": "face-swap", "state": "queued"}) == 2
    fleet = "video/production"
    assert value("comfyfleet_attempts_total", {"fleet": fleet, "reason": "completed"}) == 1
    assert value("comfyfleet_attempts_total", {"fleet": fleet, "reason": "requeued"}) == 2
    events = ("taken", "confirmed", "returned", "refused")
    leases = {event: value("comfyfleet_leases_total", {"event": event}) for event in events}
    assert leases == {"taken": 3, "confirmed": 1, "returned": 2, "refused": 1}
    assert value("comfyfleet_spot_interruptions_total", {"fleet": fleet}) == 1
    assert value("comfyfleet_poll_wait_seconds_count", {"fleet": fleet}) == 3
    assert 0 < (value("comfyfleet_lease_batch_size_count") or 0) <= (value("comfyfleet_lease_batch_size_sum") or 0)
    assert value("comfyfleet_worker_api_seconds_count", {"call": "complete", "status": "2xx"}) == 2
    assert value("comfyfleet_worker_api_seconds_count", {"call": "fail", "status": "4xx"}) == 1
    assert value("comfyfleet_api_request_seconds_count", {"surface": "tenant", "status": "4xx"}) == 1
    assert value("comfyfleet_disk_free_bytes", {"place": "store"})
    before = value("comfyfleet_leases_total", {"event": "taken"})
    await worker.poll(wait_seconds=0)
    assert value("comfyfleet_leases_total", {"event": "taken"}) == before, "nobody counts once the port is closed"


async def test_the_older_text_format_follows_the_rules(yard: Yard, tmp_path: Path) -> None:
    with MetricsPort(yard.house, rules(tmp_path)) as port:
        await yard.register()
        async with httpx2.AsyncClient() as client:
            text = (await client.get(f"http://127.0.0.1:{port.port}/metrics")).text
    assert problems_of(text) == []


async def test_each_tick_of_upkeep_is_counted(house: House, tmp_path: Path) -> None:
    ticks, done = itertools.count(), asyncio.Event()

    async def fails_once() -> int:
        if (tick := next(ticks)) == 0:
            raise NotFound("luck", "today")
        if tick == 2:  # the one before was noted
            done.set()
        return 0

    with MetricsPort(house, rules(tmp_path)) as port:
        upkeep = Upkeep([Loop("try", 0.01, 10, fails_once)], facts=house.facts)
        upkeep.start()
        async with asyncio.timeout(10):
            await done.wait()
        await upkeep.stop()
    counted = [
        port.registry.get_sample_value("comfyfleet_upkeep_ticks_total", {"loop": "try", "outcome": outcome})
        for outcome in ("failed", "ok")
    ]
    assert counted[0] == 1
    assert counted[1] is not None


async def test_without_a_port_nothing_listens_and_a_taken_one_is_told(house: House, settings: Settings) -> None:
    nothing = house.facts.note
    with open_metrics(house, settings):
        assert house.facts.note is nothing
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(MetricsPortTaken, match=f"127.0.0.1:{port} for /metrics.*COMFYFLEET_METRICS_PORT"):
            open_metrics(house, settings.model_copy(update={"metrics_port": port}))
    with open_metrics(house, settings.model_copy(update={"metrics_port": 0})) as found:
        assert isinstance(found, MetricsPort)
        assert (await scrape(found)).status_code == 200
