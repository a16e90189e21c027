"""A unit: one `comfyfleet worker` and one `comfyfleet engine`, each a process, with lines that can be cut."""

import asyncio
import contextlib
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx2

from tests.server import environment, free_port
from tests.worker.line import Line

START_WITHIN_S = 120
LEAVE_WITHIN_S = 60
DRAIN_S = 25
# As in production, with times that fit a test.
QUICK = {
    "INACTIVITY_S": "5",
    "HEALTH_CHECK_INTERVAL_S": "5",
    "DRAIN_S": str(DRAIN_S),
    "DISK_FREE_BYTES_MIN": "0",
    "MEMORY_FREE_BYTES_MIN": "0",
    "STATUS_PORT": "0",
    "CLOUD_MACHINE": "none",
    "LOG_FORMAT": "json",
}


@dataclass
class Process:
    """A command of ours. What it says is kept over all its lives."""

    name: str
    folder: Path
    arguments: list[str]
    settings: dict[str, str]
    fell_over: int = 0
    lives: int = 0
    process: "subprocess.Popen[bytes] | None" = None
    _born_at: int = 0

    @property
    def log(self) -> Path:
        return self.folder / f"{self.name}.log"

    @property
    def is_up(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def start(self) -> None:
        self.lives += 1
        self._born_at = len(self.log.read_text(errors="replace")) if self.log.exists() else 0
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "comfyfleet", *self.arguments],
                env=environment(self.folder, **self.settings),
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def kill(self) -> None:
        """That it had fallen over by itself before is nothing that may happen."""
        if self.process is not None:
            self.fell_over += self.process.poll() is not None
            self.process.kill()
            self.process.wait()

    async def says(self, word: str, *, within_s: float = START_WITHIN_S) -> None:
        """In this life, unless it has said it already."""
        until = time.monotonic() + within_s
        while word not in self.log.read_text(errors="replace")[self._born_at :]:
            if time.monotonic() > until or not self.is_up:
                raise AssertionError(f"{self.folder.name} {self.name} does not say {word}")
            await asyncio.sleep(0.1)

    async def leave(self) -> int | None:
        """Politely. Its exit code; None: it did not go, and was killed."""
        assert self.process is not None
        self.fell_over += self.process.poll() is not None
        self.process.send_signal(signal.SIGTERM)
        until = time.monotonic() + LEAVE_WITHIN_S
        while time.monotonic() < until:
            if (code := self.process.poll()) is not None:
                return code
            await asyncio.sleep(0.05)
        self.process.kill()
        self.process.wait()
        return None

    def end(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()


@dataclass
class Unit:
    name: str
    folder: Path
    to_control: Line
    to_engine: Line
    engine_port: int
    engine: Process
    worker: Process
    same_machine: bool
    hit: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def engine_folder(self) -> Path:
        return self.folder / "engine"

    @property
    def journal(self) -> list[str]:
        return sorted(each.name for each in self.folder.glob("home/workers/*/journal/*"))

    async def engine_answers(self, *, within_s: float = START_WITHIN_S) -> None:
        until = time.monotonic() + within_s
        async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{self.engine_port}") as client:
            while time.monotonic() < until:
                with contextlib.suppress(httpx2.TransportError):
                    if (await client.get("/prompt")).status_code == 200:
                        return
                await asyncio.sleep(0.05)
        raise AssertionError(f"the engine of {self.name} did not start:\n{self.engine.log.read_text()[-2000:]}")

    async def until_it_runs_something(self, *, within_s: float) -> bool:
        until = time.monotonic() + within_s
        async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{self.engine_port}") as client:
            while time.monotonic() < until:
                with contextlib.suppress(httpx2.TransportError):
                    if (await client.get("/queue")).json()["queue_running"]:
                        return True
                await asyncio.sleep(0.03)
        return False

    def end(self) -> None:
        self.worker.end()
        self.engine.end()


@contextlib.asynccontextmanager
async def a_unit(
    name: str, folder: Path, ports: list[int], *, same_machine: bool, **settings: str
) -> AsyncIterator[Unit]:
    """Nothing is started yet. `same_machine`: its worker may see the engine's folder, and cleans up there."""
    home = folder / name
    (home / "engine").mkdir(parents=True)
    port = free_port()
    async with Line(*ports) as to_control, Line(port) as to_engine:
        engine = Process("engine", home, ["engine", "--port", str(port), "--dir", str(home / "engine")], {})
        own = {
            "CONTROL_PLANE_URL": to_control.url,
            "SERVERS": to_engine.url,
            "WORKER_ID": name,
            "HOME": str(home / "home"),
            **({"COMFYUI_DIR": str(home / "engine")} if same_machine else {}),
        }
        worker = Process("worker", home, ["worker"], {**QUICK, **settings, **own})
        unit = Unit(name, home, to_control, to_engine, port, engine, worker, same_machine)
        try:
            yield unit
        finally:
            unit.end()
