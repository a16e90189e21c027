"""Leases: lost, cancelled, wanted back, kept by a thread while the loop stands still, and delivered after an outage."""

import asyncio
import shutil
import time
from datetime import datetime
from pathlib import Path

import pytest
from prometheus_client.registry import CollectorRegistry
from structlog.testing import capture_logs

from comfyfleet.kernel.errors import Superseded
from comfyfleet.live.states import BEHIND
from comfyfleet.worker.beat import Heartbeat, interval_s
from comfyfleet.worker.control import BeatClient, CallRefused, Session
from comfyfleet.worker.leases import LeaseBook
from comfyfleet.worker.news import News
from comfyfleet.worker.own_token import FILE
from comfyfleet.worker.telemetry import Telemetry
from tests.engines import EngineProcess, an_engine
from tests.worker.line import Line
from tests.worker.plant import Plant
from tests.worker.test_killed import running_on, runs_of
from tests.worker.workers import a_worker, eventually

LONG = {"seconds": 300, "steps": 3000}
LEASE_TTL_S = 4.5


def unanswered_beats(registry: CollectorRegistry) -> float | None:
    return registry.get_sample_value("comfyfleet_worker_heartbeats_total", {"answer": "unanswered"})


async def test_a_lost_lease_stops_the_job_and_nothing_is_uploaded(plant: Plant, tmp_path: Path) -> None:
    async with an_engine(tmp_path / "engine") as engine, a_worker(plant, tmp_path / "home", engine.url, name="loser"):
        job = await asyncio.to_thread(plant.order, "draw", **LONG)
        await eventually(lambda: engine.engine.queue.snapshot()[0], "it runs")
        await asyncio.to_thread(plant.cancel, job)  # so that nobody gets it again
        await plant.take_leases_from("loser")
        await eventually(lambda: not engine.engine.queue.snapshot()[0], "it was interrupted")
        await eventually(lambda: not list(tmp_path.rglob("journal/*")), "the journal is empty")
        assert await asyncio.to_thread(plant.ends, job) == "cancelled"
    assert not list(plant.server.home.rglob(f"*{job}*/*/output-*"))
    assert [row["reason"] for row in plant.attempts(job)] == ["a test took them"]


async def test_a_cancel_is_heard_while_it_runs_and_acknowledged(plant: Plant, tmp_path: Path) -> None:
    async with an_engine(tmp_path / "engine") as engine, a_worker(plant, tmp_path / "home", engine.url):
        job = await asyncio.to_thread(plant.order, "draw", **LONG)
        await eventually(lambda: engine.engine.queue.snapshot()[0], "it runs")
        await asyncio.to_thread(plant.cancel, job)
        assert await asyncio.to_thread(plant.ends, job) == "cancelled"
        assert not engine.engine.queue.snapshot()[0]
    assert [row["reason"] for row in plant.attempts(job)] == ["cancelled"]


async def test_a_cancel_in_a_node_that_says_nothing_is_heard_at_once(
    plant: Plant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a heartbeat nor a report of progress brings it; and the worker is full, so no poll is open."""
    monkeypatch.setattr(Heartbeat, "_pass_on", lambda self, reply: None)
    with capture_logs() as said:

        def stops(job: str) -> bool:
            return any(each["event"] == "job.stops" and each["dispatch_id"] == job for each in said)

        async with an_engine(tmp_path / "engine") as engine, a_worker(plant, tmp_path / "home", engine.url):
            job = await asyncio.to_thread(plant.order, "draw", seconds=12, steps=2)
            await eventually(lambda: engine.engine.queue.snapshot()[0], "it runs")
            behind = await asyncio.to_thread(plant.order, "draw", seconds=12, steps=2, seed=2)
            await eventually(lambda: engine.engine.queue.snapshot()[1], "the next one stands behind it")
            await asyncio.sleep(1.0)  # what it had to say is said
            for each in (behind, job):
                await asyncio.to_thread(plant.cancel, each)
                await eventually(lambda each=each: stops(each), "it is heard", within_s=2.0)
                assert await asyncio.to_thread(plant.ends, each) == "cancelled"
            assert not engine.engine.queue.snapshot()[0]
    assert [row["reason"] for row in plant.attempts(job)] == ["cancelled"]


async def test_while_the_control_plane_is_away_the_job_goes_on_and_is_delivered_after(
    plant: Plant, tmp_path: Path
) -> None:
    async with Line(plant.server.port) as line, an_engine(tmp_path / "engine") as engine:
        given = {"control_plane_url": line.url}
        async with a_worker(plant, tmp_path / "home", engine.url, **given) as worker:
            job = await asyncio.to_thread(plant.order, "draw", seconds=0.3, steps=3)
            await eventually(lambda: engine.engine.queue.snapshot()[0], "it runs")
            await line.cut()
            await eventually(lambda: engine.engine.history.all(), "it has ended on the server")
            registry = worker.agent.telemetry.registry
            before = unanswered_beats(registry) or 0
            await eventually(lambda: (unanswered_beats(registry) or 0) > before, "nobody answers")
            assert plant.job(job)["status"] != "completed"
            line.mend()
            assert await asyncio.to_thread(plant.ends, job) == "completed"
    assert plant.spent(job) == 1
    assert plant.dispatch(job)["epoch"] == 1


async def test_w5_heartbeats_go_on_while_the_loop_stands_still(
    plant: Plant, engine_process: EngineProcess, tmp_path: Path
) -> None:
    async with a_worker(plant, tmp_path / "home", engine_process.url):
        job = await asyncio.to_thread(plant.order, "draw", seconds=1.0, steps=10)
        await eventually(lambda: running_on(engine_process), "it runs")
        time.sleep(LEASE_TTL_S + 2.0)  # noqa: ASYNC251 that is the point
        assert await asyncio.to_thread(plant.ends, job) == "completed"
    assert plant.dispatch(job)["epoch"] == 1


def test_w5_a_loop_that_is_dead_no_longer_renews() -> None:
    """Nobody listens there: had it tried, that would have been counted."""
    now = [0.0]
    book, telemetry = LeaseBook(now=lambda: now[0]), Telemetry()
    client = BeatClient(Session("http://127.0.0.1:9", "w"))
    beat = Heartbeat(
        client,
        book,
        telemetry,
        News(dict),
        every_s=30.0,
        on_superseded=lambda: None,
        on_refused=lambda: None,
        on_draining=lambda: None,
    )
    now[0] = 119.0
    beat.beat()
    assert unanswered_beats(telemetry.registry) == 1
    now[0] = 121.0
    beat.beat()
    assert unanswered_beats(telemetry.registry) == 1
    client.close()


def test_the_heartbeat_is_at_most_a_third_of_the_lease_apart() -> None:
    assert interval_s(90.0, 30.0) == 30.0
    assert interval_s(900.0, 300.0) == 30.0
    assert interval_s(6.0, 30.0) == 2.0


async def test_what_is_ahead_goes_to_a_worker_that_is_idle(
    plant: Plant, engine_process: EngineProcess, tmp_path: Path
) -> None:
    before = runs_of(engine_process)
    async with (
        an_engine(tmp_path / "engine") as engine,
        a_worker(plant, tmp_path / "busy", engine.url, name="busy"),
    ):
        first = await asyncio.to_thread(plant.order, "draw", **LONG)
        await eventually(lambda: engine.engine.queue.snapshot()[0], "the first runs")
        second = await asyncio.to_thread(plant.order, "draw")
        await eventually(lambda: engine.engine.queue.snapshot()[1], "the second stands behind it")
        async with a_worker(plant, tmp_path / "idle", engine_process.url, name="idle"):
            assert await asyncio.to_thread(plant.ends, second) == "completed"
        assert engine.engine.queue.snapshot()[0]
        await asyncio.to_thread(plant.cancel, first)
        await asyncio.to_thread(plant.ends, first)
    assert runs_of(engine_process) == before + 1
    assert plant.spent(second) == 1
    assert [row["reason"] for row in plant.attempts(second)] == ["requeued", "completed"]


async def test_what_stands_behind_another_is_queued_and_ran_for_as_long_as_it_ran(plant: Plant, tmp_path: Path) -> None:
    """The second is one of two that the worker takes at once, the third was leased ahead: both wait in ComfyUI."""
    async with (
        an_engine(tmp_path / "engine") as engine,
        a_worker(plant, tmp_path / "home", engine.url, name="one-by-one", concurrency=2),
    ):
        first = await asyncio.to_thread(plant.order, "draw", seconds=4.0, steps=40)
        await eventually(lambda: engine.engine.queue.snapshot()[0], "the first runs")
        second = await asyncio.to_thread(plant.order, "draw", seconds=0.4, steps=4)
        third = await asyncio.to_thread(plant.order, "draw", seconds=0.1, steps=1)
        await eventually(lambda: len(engine.engine.queue.snapshot()[1]) == 2, "the others stand behind it")
        await eventually(lambda: plant.job(first)["status"] == "processing", "the first is told to run")
        for each in (second, third):
            waits = plant.job(each)
            assert (waits["status"], waits["started_at"], waits["progress"]) == ("queued", None, None)
            assert waits["queue"]["waits_because"] == BEHIND
        for each in (first, second, third):
            assert await asyncio.to_thread(plant.ends, each) == "completed"
    [attempt] = plant.attempts(second)
    held_s = (
        datetime.fromisoformat(attempt["ended_at"]) - datetime.fromisoformat(attempt["granted_at"])
    ).total_seconds()
    told, job = plant.dispatch(second), plant.job(second)
    assert 0.3 < told["duration_seconds"] < held_s - 1
    made_s = (datetime.fromisoformat(job["completed_at"]) - datetime.fromisoformat(job["started_at"])).total_seconds()
    assert made_s == pytest.approx(told["duration_seconds"], abs=0.1)


async def test_a_lease_whose_reply_nobody_read_goes_back_when_the_server_has_gone_meanwhile(
    plant: Plant, tmp_path: Path
) -> None:
    """The poll is hung up, for nothing is wanted any more; the job must not wait until its lease has run out."""
    async with (
        Line(plant.server.port) as line,
        an_engine(tmp_path / "engine") as engine,
        Line(int(engine.url.rpartition(":")[2])) as to_engine,
        a_worker(plant, tmp_path / "home", to_engine.url, name="deaf", control_plane_url=line.url) as worker,
    ):
        first = await asyncio.to_thread(plant.order, "draw")
        assert await asyncio.to_thread(plant.ends, first) == "completed"
        await asyncio.sleep(0.5)  # it waits for more
        line.hold_replies()
        job = await asyncio.to_thread(plant.order, "draw")
        await eventually(lambda: plant.attempts(job), "it is granted")
        await to_engine.cut()
        await eventually(lambda: not worker.is_ready(to_engine.url.removeprefix("http://")), "the server is gone")
        line.let_replies_go()
        ended = await eventually(lambda: plant.attempts(job)[0]["reason"], "the lease has ended")
        assert ended == "requeued"
        to_engine.mend()
        assert await asyncio.to_thread(plant.ends, job) == "completed"
    assert [row["reason"] for row in plant.attempts(job)] == ["requeued", "completed"]


async def test_who_was_revoked_stops_what_runs_and_leaves(plant: Plant, tmp_path: Path) -> None:
    async with an_engine(tmp_path / "engine") as engine:
        worker = asyncio.create_task(_work_until_it_ends(plant, tmp_path / "home", engine.url, name="revoked"))
        job = await asyncio.to_thread(plant.order, "draw", **LONG)
        await eventually(lambda: engine.engine.queue.snapshot()[0], "it runs")
        await asyncio.to_thread(plant.operate, "/workers/revoked/revoke")
        await asyncio.to_thread(plant.cancel, job)
        with pytest.raises(CallRefused, match="revoked"):
            await worker
        assert not engine.engine.queue.snapshot()[0]


async def test_who_was_taken_over_leaves_everything_to_the_other(plant: Plant, tmp_path: Path) -> None:
    async with an_engine(tmp_path / "engine") as engine:
        old = asyncio.create_task(_work_until_it_ends(plant, tmp_path / "old", engine.url, name="twin"))
        job = await asyncio.to_thread(plant.order, "draw", seconds=1.0, steps=10)
        await eventually(lambda: engine.engine.queue.snapshot()[0], "it runs")
        # A copy of its disk: only its own token shows that the other may take the name.
        of_old, of_new = (tmp_path / each / "workers" / "twin" for each in ("old", "new"))
        await asyncio.to_thread(of_new.mkdir, parents=True)
        await asyncio.to_thread(shutil.copy, of_old / FILE, of_new / FILE)
        async with a_worker(plant, tmp_path / "new", engine.url, name="twin"):
            with pytest.raises(Superseded):
                await old
            assert await asyncio.to_thread(plant.ends, job) == "completed"
    assert plant.dispatch(job)["epoch"] == 2


async def _work_until_it_ends(plant: Plant, home: Path, server: str, *, name: str) -> None:
    async with a_worker(plant, home, server, name=name) as worker:
        await asyncio.wait({worker.running}, timeout=60)
