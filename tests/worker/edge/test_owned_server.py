"""A ComfyUI that the worker owns: a real process, which crashes, falls ill, is taken over, and is stopped."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from structlog.testing import capture_logs

from comfyfleet.comfy import parse_address
from comfyfleet.worker.comfyui_process import CommandUnusable, OwnedServer, ServerTaken
from comfyfleet.worker.running_process import adopt, began_at, launch, remember
from tests.server import free_port

PROGRAM = Path(__file__).parent / "small_comfyui.py"
WITHIN_S = 60.0


class Owned:
    def __init__(self, folder: Path, *words: str, port: int | None = None, **given: float) -> None:
        self.port = port or free_port()
        self.folder, self.starts = folder, folder / "starts"
        self.told: list[tuple[bool, str | None]] = []
        self.news = asyncio.Event()
        command = [sys.executable, str(PROGRAM), str(self.port), str(self.starts), *words]
        self.server = OwnedServer(
            command,
            parse_address(f"http://127.0.0.1:{self.port}"),
            workdir=folder,
            tell=self._tell,
            backoff_base_s=0.01,
            chance=lambda: 0.0,
            **{"start_s": WITHIN_S, "stop_s": 5.0, **given},
        )
        self.task = asyncio.create_task(self.server.run())

    def _tell(self, ready: bool, problem: str | None) -> None:
        self.told.append((ready, problem))
        self.news.set()

    async def ready(self) -> int:
        await asyncio.wait_for(self.server.wait_ready(), WITHIN_S)
        assert self.server.pid is not None
        return self.server.pid

    async def problem(self) -> str:
        async with asyncio.timeout(WITHIN_S):
            while True:
                if found := next((problem for _, problem in self.told if problem), None):
                    return found
                self.news.clear()
                await self.news.wait()

    async def stop(self) -> None:
        self.server.stop()
        await asyncio.wait_for(self.task, WITHIN_S)


@asynccontextmanager
async def owned(folder: Path, *words: str, **given: float) -> AsyncIterator[Owned]:
    found = Owned(folder, *words, **given)
    try:
        yield found
    finally:
        if not found.task.done():
            await found.stop()


async def test_it_is_started_answers_and_is_gone_when_the_worker_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMFYFLEET_FLEET_SECRET", "a-secret")
    with capture_logs() as logs:
        async with owned(tmp_path) as found:
            pid = await found.ready()
            assert found.told == [(True, None)]
        assert began_at(pid) is None
    assert found.starts.read_text() == f"{pid} []\n", "programs of others get no secret of ours"
    assert adopt(found.server.pid_file) is None
    said = [each["line"] for each in logs if each["event"] == "comfyui.said"]
    assert said[:3] == ["loading", "100%", "fleet token=abcdef"]


async def test_one_that_crashes_is_started_again(tmp_path: Path) -> None:
    async with owned(tmp_path) as found:
        first = await found.ready()
        async with httpx2.AsyncClient() as client:
            with pytest.raises(httpx2.HTTPError):
                await client.post(f"http://127.0.0.1:{found.port}/crash")
        assert await found.problem() == "it ended with 7"
        assert await found.ready() != first
        assert found.server.restarts == 1


async def test_one_that_is_declared_unhealthy_is_started_again(tmp_path: Path) -> None:
    async with owned(tmp_path) as found:
        first = await found.ready()
        found.server.declare_unhealthy("CUDA error: an illegal memory access was encountered")
        assert "CUDA" in await found.problem()
        assert await found.ready() != first
        assert began_at(first) is None


async def test_one_that_never_works_is_tried_again_and_again_until_it_is_stopped(tmp_path: Path) -> None:
    async with owned(tmp_path, "--broken") as found:
        assert await found.problem() == "it ended with 3"
        async with asyncio.timeout(WITHIN_S):
            while found.server.restarts < 2:
                found.news.clear()
                await found.news.wait()
        assert not found.server.ready


async def test_a_worker_that_was_killed_leaves_it_running_and_the_next_takes_it_over(tmp_path: Path) -> None:
    port = free_port()
    address = parse_address(f"http://127.0.0.1:{port}")
    left = await launch(
        [sys.executable, str(PROGRAM), str(port), str(tmp_path / "starts")], said=tmp_path / "said", folder=None
    )
    try:
        remember(left, OwnedServer(["x"], address, workdir=tmp_path).pid_file)
        async with owned(tmp_path, port=port) as found:
            assert await found.ready() == left.pid, "the same process"
            os.kill(left.pid, signal.SIGKILL)
            assert await found.problem() == "it ended"
            assert await found.ready() != left.pid
    finally:
        await left.end(within_s=0)
        left.close()


async def test_a_strangers_server_is_not_taken_for_ours_and_a_missing_command_is_told(tmp_path: Path) -> None:
    async with owned(tmp_path) as found:
        await found.ready()
        other = Owned(tmp_path / "other", port=found.port)
        with pytest.raises(ServerTaken, match="leave comfyui_command away"):
            await asyncio.wait_for(other.task, WITHIN_S)
    address = parse_address(f"http://127.0.0.1:{free_port()}")
    with pytest.raises(CommandUnusable, match="No such file"):
        await OwnedServer(["/nowhere/python"], address, workdir=tmp_path).run()
