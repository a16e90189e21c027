"""What ComfyUI's troubles become: memory freed, servers put aside, jobs given back or failed by their class."""

import asyncio
import signal
import threading
import time
from pathlib import Path
from typing import Any

import httpx2

from comfyfleet.comfy import SelfHosted
from comfyfleet.comfy.model import FetchedFile, OutputFile
from comfyfleet.worker.status_port import judge
from tests.engines import EngineProcess, an_engine, an_engine_process
from tests.worker.plant import Plant
from tests.worker.workers import a_worker, eventually


class Counting(SelfHosted):
    freed = 0

    async def free(self) -> None:
        self.freed += 1
        await super().free()


def class_of(plant: Plant, job: str) -> Any:
    """Of its first attempt, once that is over."""
    return next((row["reason"] for row in plant.attempts(job) if row["ended_at"]), None)


async def test_h11_out_of_memory_frees_the_servers_models(plant: Plant, tmp_path: Path) -> None:
    async with an_engine(tmp_path / "engine") as engine:
        await engine.order_faults(prompts={"out_of_memory_at_node": "*"}, prompts_times=1)
        server = Counting(engine.url)
        async with a_worker(plant, tmp_path / "home", server, name="small") as worker:
            job = await asyncio.to_thread(plant.order, "draw")
            assert await eventually(lambda: class_of(plant, job), "the attempt is over") == "out_of_memory"
            assert worker.is_ready(server.name)
        assert server.freed == 1


async def test_h11_a_cuda_fault_puts_the_server_aside_until_it_was_restarted(plant: Plant, tmp_path: Path) -> None:
    async with an_engine(tmp_path / "engine") as engine:
        await engine.order_faults(prompts={"cuda_error_at_node": "*"})
        port = int(engine.url.rpartition(":")[2])
        server = SelfHosted(engine.url)
        home = tmp_path / "home"
        worker_block = a_worker(plant, home, server, name="burnt")
        worker = await worker_block.__aenter__()
        job = await asyncio.to_thread(plant.order, "draw")
        assert await eventually(lambda: class_of(plant, job), "the attempt is over") == "server_fault"
        await asyncio.to_thread(plant.cancel, job)
        await eventually(lambda: not worker.is_ready(server.name), "it is put aside")
        assert "CUDA" in (worker.agent.telemetry.seen().servers[server.name].problem or "")
    try:
        async with an_engine(tmp_path / "engine", port=port):
            await eventually(lambda: worker.is_ready(server.name), "it is back")
    finally:
        await worker_block.__aexit__(None, None, None)


async def test_two_servers_share_the_work_and_one_that_is_gone_gets_none(plant: Plant, tmp_path: Path) -> None:
    async with an_engine(tmp_path / "a") as a:
        async with an_engine(tmp_path / "b") as b:
            block = a_worker(plant, tmp_path / "home", a.url, b.url, name="two-cards", concurrency=2)
            worker = await block.__aenter__()
            try:
                jobs = [await asyncio.to_thread(plant.order, "draw", seconds=0.5, steps=5) for _ in range(4)]
                for job in jobs:
                    assert await asyncio.to_thread(plant.ends, job) == "completed"
            except BaseException:
                await block.__aexit__(None, None, None)
                raise
            made = [len(list((tmp_path / each / "output").rglob("*.png"))) for each in ("a", "b")]
            assert sorted(made) == [2, 2]
        try:
            await eventually(lambda: not worker.is_ready(b.url.removeprefix("http://")), "b is gone")
            job = await asyncio.to_thread(plant.order, "draw")
            assert await asyncio.to_thread(plant.ends, job) == "completed"
        finally:
            await block.__aexit__(None, None, None)


async def test_a_server_that_dies_with_a_prompt_costs_an_attempt_and_the_next_finishes(
    plant: Plant, tmp_path: Path
) -> None:
    """The prompt is lost with the server's memory: `infra`, tried again."""
    async with an_engine(tmp_path / "engine") as engine:
        port = int(engine.url.rpartition(":")[2])
        block = a_worker(plant, tmp_path / "home", engine.url, name="unlucky")
        await block.__aenter__()
        job = await asyncio.to_thread(plant.order, "draw", seconds=2.0, steps=20)
        await eventually(lambda: engine.engine.queue.snapshot()[0], "it runs")
    try:
        async with an_engine(tmp_path / "engine", port=port):
            assert await asyncio.to_thread(plant.ends, job) == "completed"
    finally:
        await block.__aexit__(None, None, None)
    assert [row["reason"] for row in plant.attempts(job)] == ["infra", "completed"]


async def test_the_innocent_behind_a_dead_server_goes_back_without_an_attempt_spent(
    plant: Plant, tmp_path: Path
) -> None:
    async with an_engine(tmp_path / "engine") as engine:
        port = int(engine.url.rpartition(":")[2])
        block = a_worker(plant, tmp_path / "home", engine.url, name="innocent")
        await block.__aenter__()
        first = await asyncio.to_thread(plant.order, "draw", seconds=2.0, steps=20)
        await eventually(lambda: engine.engine.queue.snapshot()[0], "the first runs")
        second = await asyncio.to_thread(plant.order, "draw")
        await eventually(lambda: engine.engine.queue.snapshot()[1], "the second stands behind it")
    try:
        async with an_engine(tmp_path / "engine", port=port):
            assert await asyncio.to_thread(plant.ends, first) == "completed"
            assert await asyncio.to_thread(plant.ends, second) == "completed"
    finally:
        await block.__aexit__(None, None, None)
    assert [row["reason"] for row in plant.attempts(first)] == ["infra", "completed"]
    assert [row["reason"] for row in plant.attempts(second)] == ["requeued", "completed"]
    assert plant.spent(second) == 1


async def test_h11_after_two_server_faults_in_a_row_a_server_gets_nothing_until_it_was_restarted(
    plant: Plant, tmp_path: Path
) -> None:
    """One that is not the worker's own: it can only be told, and left alone. Its disk is full when pictures are saved,
    so the second prompt stands behind the first and meets the same."""
    name = "full-disk"
    async with an_engine(tmp_path / "engine") as engine:
        await engine.order_faults(prompts={"disk_full_at_node": "9"})
        port = int(engine.url.rpartition(":")[2])
        server = SelfHosted(engine.url)
        block = a_worker(plant, tmp_path / "home", server, name=name)
        worker = await block.__aenter__()
        jobs = [await asyncio.to_thread(plant.order, "draw", seconds=1.0, seed=seed) for seed in (1, 2)]
        for job in jobs:
            assert await eventually(lambda job=job: class_of(plant, job), "its attempt is over") == "server_fault"
        await eventually(lambda: not worker.is_ready(server.name), "it is put aside")
        assert "No space left" in (worker.agent.telemetry.seen().servers[server.name].problem or "")
        await eventually(lambda: "No space left" in str(plant.worker(name)["capabilities"]), "operators are told")
        await asyncio.to_thread(pardon, plant, name)
        third = await asyncio.to_thread(plant.order, "draw", seed=3)
        await asyncio.sleep(1.0)
        assert plant.attempts(third) == []
    try:
        async with an_engine(tmp_path / "engine", port=port):
            for job in (third, *jobs):
                assert await asyncio.to_thread(plant.ends, job) == "completed"
    finally:
        await block.__aexit__(None, None, None)


async def test_a_result_with_nothing_in_it_is_refused_and_fails_for_good_with_the_workflows_class(
    plant: Plant, tmp_path: Path
) -> None:
    """`nothing_delivered`: to say it again, or to run it again, would bring no more."""
    async with an_engine(tmp_path / "engine") as engine, a_worker(plant, tmp_path / "home", engine.url, name="mute"):
        job = await asyncio.to_thread(plant.order, "mute")
        assert await asyncio.to_thread(plant.ends, job) == "failed"
        await eventually(lambda: not list(tmp_path.rglob("journal/*")), "the journal is empty")
    assert [row["reason"] for row in plant.attempts(job)] == ["workflow_invalid"]


def pardon(plant: Plant, worker: str) -> None:
    """The control plane keeps it from what failed there for a minute; here only the worker's own judgement counts."""
    path = f"{plant.url}/api/admin/blocks"
    shown = httpx2.get(path, params={"worker": worker}, headers=plant.server.operator).json()
    for each in shown["blocks"]:
        gone = httpx2.delete(f"{path}/{worker}/{each['structure_hash']}", headers=plant.server.operator)
        assert gone.status_code == 204, gone.text


def kill(engine: EngineProcess) -> float:
    engine.end(signal.SIGKILL)
    return time.monotonic()


async def until_it_runs(engine: EngineProcess) -> None:
    def running() -> bool:
        return bool(httpx2.get(f"{engine.url}/queue").json()["queue_running"])

    await eventually(running, "it runs")


def moved(plant: Plant, jobs: list[str]) -> str | None:
    return next((job for job in jobs if len(plant.attempts(job)) == 2), None)


async def test_a_job_whose_server_is_killed_moves_to_the_free_one_at_once(plant: Plant, tmp_path: Path) -> None:
    with an_engine_process(tmp_path / "a") as first:
        async with (
            an_engine(tmp_path / "b") as second,
            a_worker(plant, tmp_path / "home", first.url, second.url, name="mover", concurrency=2),
        ):
            jobs = [await asyncio.to_thread(plant.order, "draw", seconds=5.0, steps=50, seed=each) for each in (1, 2)]
            await until_it_runs(first)
            await eventually(lambda: second.engine.queue.snapshot()[0], "each server has one")
            killed_at = kill(first)
            job = await eventually(lambda: moved(plant, jobs), "it is leased again", within_s=8)
            assert time.monotonic() - killed_at < 8
            for each in jobs:
                assert await asyncio.to_thread(plant.ends, each) == "completed"
    assert [row["reason"] for row in plant.attempts(job)] == ["requeued", "completed"]
    assert plant.spent(job) == 1


async def test_a_worker_whose_only_server_is_killed_gives_back_what_it_has_and_takes_nothing_until_it_is_there_again(
    plant: Plant, tmp_path: Path
) -> None:
    name = "bereft"
    with an_engine_process(tmp_path / "engine") as engine:
        port = int(engine.url.rpartition(":")[2])
        block = a_worker(plant, tmp_path / "home", engine.url, name=name)
        worker = await block.__aenter__()
        runs = await asyncio.to_thread(plant.order, "draw", seconds=5.0, steps=50)
        await until_it_runs(engine)
        behind = await asyncio.to_thread(plant.order, "draw")
        await eventually(lambda: plant.attempts(behind), "the second is leased ahead")
        killed_at = kill(engine)
    try:
        for job in (runs, behind):
            await eventually(lambda job=job: class_of(plant, job) == "requeued", "it is given back", within_s=10)
        assert time.monotonic() - killed_at < 10
        assert (plant.spent(runs), plant.spent(behind)) == (0, 0)
        await eventually(lambda: "refuses" in str(plant.worker(name)["capabilities"]), "operators are told", within_s=5)
        status, said = judge(worker.agent.telemetry.seen())
        assert status == 503
        assert "refuses" in str(said["servers"])
        await asyncio.sleep(1.5)
        idle_because = worker.agent.telemetry.seen().takes_no_work or ""
        assert "no server is ready" in idle_because
        assert "refuses" in idle_because
        assert len(plant.attempts(runs)) == len(plant.attempts(behind)) == 1
        async with an_engine(tmp_path / "engine", port=port):
            assert await asyncio.to_thread(plant.ends, behind) == "completed"
            assert await asyncio.to_thread(plant.ends, runs) == "completed"
            await eventually(lambda: "refuses" not in str(plant.worker(name)["capabilities"]), "and that it is well")
    finally:
        await block.__aexit__(None, None, None)
    assert plant.spent(runs) == 1


async def test_what_had_finished_when_its_server_was_killed_is_delivered_when_that_is_back_and_does_not_run_again(
    plant: Plant, tmp_path: Path
) -> None:
    """Its end was heard, and its picture lies on the server's disk."""
    folder = tmp_path / "engine"
    with an_engine_process(folder) as engine:
        port = int(engine.url.rpartition(":")[2])
        server = DiesBeforeItIsFetched(engine)
        block = a_worker(plant, tmp_path / "home", server, name="keeper")
        await block.__aenter__()
        job = await asyncio.to_thread(plant.order, "draw")
        await asyncio.to_thread(server.died.wait, 30)
    try:
        await asyncio.sleep(6.0)  # longer than what runs is waited for
        assert plant.attempts(job)[0]["ended_at"] is None
        with an_engine_process(folder, port=port):
            assert await asyncio.to_thread(plant.ends, job) == "completed"
    finally:
        await block.__aexit__(None, None, None)
    assert [row["reason"] for row in plant.attempts(job)] == ["completed"]
    assert len(list((folder / "output").rglob("*.png"))) == 1


class DiesBeforeItIsFetched(SelfHosted):
    def __init__(self, engine: EngineProcess) -> None:
        super().__init__(engine.url)
        self.engine, self.died = engine, threading.Event()

    async def fetch(self, output: OutputFile, to: Path, *, tell: Any = None) -> FetchedFile:
        if not self.died.is_set():
            self.engine.end(signal.SIGKILL)
            self.died.set()
        return await super().fetch(output, to, tell=tell)
