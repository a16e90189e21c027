"""A worker leaves: what is ahead goes back at once, what runs is finished or goes back, and no attempt is spent."""

import asyncio
import signal
from pathlib import Path

from comfyfleet.worker.interruption.model import Notice
from tests.engines import EngineProcess, RunningEngine, an_engine
from tests.worker.plant import Plant
from tests.worker.test_killed import running_on
from tests.worker.workers import a_worker, a_worker_process, eventually


def waiting_on(engine: RunningEngine) -> int:
    return len(engine.engine.queue.snapshot()[1])


async def test_what_is_ahead_goes_back_and_what_runs_is_finished(plant: Plant, tmp_path: Path) -> None:
    async with (
        an_engine(tmp_path / "engine") as engine,
        a_worker(plant, tmp_path / "home", engine.url, name="leaver") as worker,
    ):
        first = await asyncio.to_thread(plant.order, "draw", seconds=2.0, steps=20)
        await eventually(lambda: engine.engine.queue.snapshot()[0], "the first runs")
        second = await asyncio.to_thread(plant.order, "draw")
        await eventually(lambda: waiting_on(engine), "the second stands behind it")
        worker.agent.drain(Notice("SIGTERM"))
        await eventually(lambda: plant.dispatch(second)["status"] == "queued", "the second is back")
        assert plant.job(first)["status"] != "completed"
        await asyncio.wait_for(worker.running, 60)
        assert await asyncio.to_thread(plant.ends, first) == "completed"
    assert plant.spent(first) == 1
    assert plant.spent(second) == 0
    assert plant.worker("leaver")["status"] == "gone"


async def test_what_cannot_be_finished_in_time_goes_back_at_once(plant: Plant, tmp_path: Path) -> None:
    async with (
        an_engine(tmp_path / "engine") as engine,
        a_worker(plant, tmp_path / "home", engine.url, name="spot") as worker,
    ):
        job = await asyncio.to_thread(plant.order, "draw", seconds=40.0, steps=400)
        await eventually(lambda: _fraction(worker.agent) > 0.06, "it is seen to be slow")
        worker.agent.drain(Notice("a Spot notice", seconds_left=40.0))
        await eventually(lambda: plant.dispatch(job)["status"] == "queued", "it is back", within_s=20.0)
        await asyncio.wait_for(worker.running, 60)
        assert not engine.engine.queue.snapshot()[0]
    assert plant.spent(job) == 0


def _fraction(agent: object) -> float:
    return max((run.course.fraction for run in agent._under_way), default=0.0)  # type: ignore[attr-defined]


async def test_an_operators_drain_is_heard(plant: Plant, tmp_path: Path) -> None:
    async with (
        an_engine(tmp_path / "engine") as engine,
        a_worker(plant, tmp_path / "home", engine.url, name="drained") as worker,
    ):
        job = await asyncio.to_thread(plant.order, "draw")
        assert await asyncio.to_thread(plant.ends, job) == "completed"
        await asyncio.to_thread(plant.operate, "/workers/drained/drain")
        await asyncio.wait_for(worker.running, 60)
    assert plant.worker("drained")["status"] == "gone"


async def test_a_drained_worker_that_is_started_again_waits_until_it_is_wanted(plant: Plant, tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with an_engine(tmp_path / "engine") as engine:
        async with a_worker(plant, home, engine.url, name="kept") as worker:
            await eventually(lambda: worker.agent.is_registered, "it is known")
            await asyncio.to_thread(plant.operate, "/workers/kept/drain")
            await asyncio.wait_for(worker.running, 60)
        async with a_worker(plant, home, engine.url, name="kept") as worker:
            job = await asyncio.to_thread(plant.order, "draw")
            await eventually(lambda: plant.worker("kept")["incarnation"] == 2, "it is back")
            await asyncio.sleep(3.0)
            assert not worker.running.done()
            assert plant.worker("kept")["status"] == "draining"
            assert not worker.agent.is_busy
            await asyncio.to_thread(plant.operate, "/workers/kept/approve")
            assert await asyncio.to_thread(plant.ends, job) == "completed"


async def test_a_process_that_is_told_to_leave_finishes_and_signs_off(
    plant: Plant, engine_process: EngineProcess, tmp_path: Path
) -> None:
    job = plant.order("draw", seconds=1.0, steps=10)
    with a_worker_process(plant, tmp_path / "home", engine_process.url, name="polite") as worker:
        await eventually(lambda: running_on(engine_process), "it runs")
        worker.process.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(worker.process.wait, 60) == 0
    assert plant.ends(job) == "completed"
    assert plant.spent(job) == 1
    assert plant.worker("polite")["status"] == "gone"
