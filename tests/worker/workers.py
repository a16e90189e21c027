"""Workers for tests: in this process, or as one of their own."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from comfyfleet.comfy import Connector, SelfHosted
from comfyfleet.worker.agent import Agent
from comfyfleet.worker.failpoints import VARIABLE
from comfyfleet.worker.interruption.model import Notice
from comfyfleet.worker.options import WorkerSettings
from tests.server import as_variables
from tests.worker.plant import FLEET, STAGE, WITHIN_S, Plant

NOW = Notice("the test is over", seconds_left=0.0)


async def eventually(look: Callable[[], Any], what: str, *, within_s: float = WITHIN_S) -> Any:
    ends = time.monotonic() + within_s
    while time.monotonic() < ends:
        if found := await asyncio.to_thread(look):
            return found
        await asyncio.sleep(0.02)
    raise AssertionError(f"not within {within_s:g} s: {what}")


def settings_for(plant: Plant, home: Path, **given: Any) -> WorkerSettings:
    own = {
        "control_plane_url": plant.url,
        "fleet_secret": plant.fleet_secret,
        "fleet": FLEET,
        "stage": STAGE,
        "home": home,
        "disk_free_bytes_min": 0,
        "memory_free_bytes_min": 0,
    }
    return WorkerSettings(**{**own, **given})


@asynccontextmanager
async def a_worker(
    plant: Plant, home: Path, *servers: str | Connector, name: str = "worker-1", **given: Any
) -> AsyncIterator["WorkerHere"]:
    """At work in the test's own loop while the block lasts; then it gives everything back."""
    connectors = [SelfHosted(each) if isinstance(each, str) else each for each in servers]
    settings = settings_for(plant, home, **given)
    agent = Agent(settings, worker_id=name, connectors=connectors)
    worker = WorkerHere(agent, asyncio.create_task(agent.run()))
    try:
        yield worker
    finally:
        agent.drain(NOW)
        try:
            await asyncio.wait_for(worker.running, 60)
        finally:
            worker.running.cancel()


@dataclass(frozen=True)
class WorkerHere:
    agent: Agent
    running: "asyncio.Task[None]"

    def is_ready(self, server: str) -> bool:
        return self.agent.telemetry.seen().servers[server].ready


class WorkerProcess:
    def __init__(self, process: "subprocess.Popen[bytes]", log: Path) -> None:
        self.process, self.log = process, log

    @property
    def said(self) -> str:
        return self.log.read_text()


@contextmanager
def a_worker_process(
    plant: Plant, home: Path, *servers: str, name: str = "worker-1", die_at: str | None = None, **given: str
) -> Iterator[WorkerProcess]:
    """`comfyfleet worker`, all its settings in the environment; killed when the block ends, or at a step of its own."""
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH") if name in os.environ}
    settings = {
        "CONTROL_PLANE_URL": plant.url,
        "FLEET_SECRET": plant.fleet_secret,
        "FLEET": FLEET,
        "STAGE": STAGE,
        "SERVERS": ",".join(servers),
        "HOME": str(home),
        "WORKER_ID": name,
        "DISK_FREE_BYTES_MIN": "0",
        "MEMORY_FREE_BYTES_MIN": "0",
        "STATUS_PORT": "0",
        "CLOUD_MACHINE": "none",
        "LOG_FORMAT": "json",
        **given,
    }
    environment = {**kept, "HOME": str(home), **as_variables(settings)}
    if die_at is not None:
        environment[VARIABLE] = die_at
    home.mkdir(parents=True, exist_ok=True)
    log = home / f"worker-{die_at or 'alive'}.log"
    command = [sys.executable, "-m", "comfyfleet", "worker"]
    with (
        log.open("wb") as said,
        subprocess.Popen(command, env=environment, cwd=home, stderr=said) as process,
    ):
        try:
            yield WorkerProcess(process, log)
        finally:
            process.kill()
