"""A worker is killed at every step and started again: nothing is lost, and nothing runs twice that had finished."""

import asyncio
import re
import signal
from pathlib import Path

import httpx2
import pytest

from tests.engines import EngineProcess
from tests.made_media import a_picture
from tests.worker.plant import Plant
from tests.worker.workers import a_worker, a_worker_process, eventually

# Where it dies, and how many attempts the job has cost when it is done: only a lease that nobody wrote down counts.
STEPS = {
    "polled": 2,
    "leased": 1,
    "fetched": 1,
    "journalled": 1,
    "posted": 1,  # H1: the server has it, and nobody heard that
    "running": 1,
    "finished": 1,  # H4: it ended while nobody looked
    "uploaded": 1,
    "ending": 1,
    "completed": 1,
}


def runs_of(engine: EngineProcess) -> int:
    """Every run of our graphs saves one picture."""
    return len(list((engine.folder / "output").rglob("*.png")))


@pytest.fixture(scope="module")
def video(plant: Plant) -> str:
    return plant.upload(a_picture())


@pytest.mark.parametrize(("step", "attempts"), STEPS.items(), ids=STEPS)
async def test_killed_at(
    plant: Plant, engine_process: EngineProcess, tmp_path: Path, video: str, step: str, attempts: int
) -> None:
    name, home, before = f"killed-at-{step}", tmp_path / "home", runs_of(engine_process)
    job = plant.order("invert", video_id=video, seconds=0.2, steps=4)
    with a_worker_process(plant, home, engine_process.url, name=name, die_at=step) as worker:
        assert await asyncio.to_thread(worker.process.wait, 60) == -signal.SIGKILL, worker.said
    async with a_worker(plant, home, engine_process.url, name=name):
        status = await asyncio.to_thread(plant.ends, job)
        await eventually(lambda: not list(home.rglob("journal/*")), "the journal is empty")
    assert status == "completed"
    assert plant.spent(job) == attempts
    assert runs_of(engine_process) == before + 1
    assert plant.output(job)


async def test_h13_an_orphan_whose_lease_is_gone_is_taken_off_the_server(
    plant: Plant, engine_process: EngineProcess, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    job = plant.order("draw", seconds=300, steps=3000)
    with a_worker_process(plant, home, engine_process.url, name="h13", die_at="running") as worker:
        assert await asyncio.to_thread(worker.process.wait, 60) == -signal.SIGKILL, worker.said
    await asyncio.to_thread(plant.cancel, job)
    await plant.take_leases_from("h13")
    assert running_on(engine_process) == 1
    async with a_worker(plant, home, engine_process.url, name="h13"):
        await eventually(lambda: running_on(engine_process) == 0, "the orphan is gone")
        await eventually(lambda: not list(home.rglob("journal/*")), "the journal is empty")
        after = await asyncio.to_thread(plant.order, "draw")
        assert await asyncio.to_thread(plant.ends, after) == "completed"


def running_on(engine: EngineProcess) -> int:
    return len(httpx2.get(f"{engine.url}/queue").json()["queue_running"])


async def test_urls_that_no_longer_work_after_the_restart_come_anew_with_a_heartbeat(
    plant: Plant, engine_process: EngineProcess, tmp_path: Path, video: str
) -> None:
    home = tmp_path / "home"
    job = plant.order("invert", video_id=video)
    with a_worker_process(plant, home, engine_process.url, name="late", die_at="leased") as worker:
        assert await asyncio.to_thread(worker.process.wait, 60) == -signal.SIGKILL, worker.said
    [entry] = home.rglob("journal/*.json")
    spoilt, count = re.subn(rb"(/objects/)[^\"/]{4}", rb"\1gone", entry.read_bytes())
    assert count
    entry.write_bytes(spoilt)
    async with a_worker(plant, home, engine_process.url, name="late"):
        assert await asyncio.to_thread(plant.ends, job) == "completed"
    assert plant.spent(job) == 1
