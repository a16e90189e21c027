"""The processes that are hit: replicas of the control plane, and processes of five workers each."""

import asyncio
import contextlib
import json
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import httpx2

from tests.server import environment

ROOT = Path(__file__).parents[2]
START_WITHIN_S = 60
AUDIT_WITHIN_S = 300
WORKERS_EACH = 5


@dataclass
class Replica:
    """`comfyfleet serve`. What it says is kept over all its lives."""

    name: str
    folder: Path
    port: int
    settings: dict[str, str]
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def log(self) -> Path:
        return self.folder / f"{self.name}.log"

    async def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(  # noqa: ASYNC220 it is quick, and killed without a loop
                [sys.executable, "-m", "comfyfleet", "serve", "--port", str(self.port)],
                env=environment(self.folder, **self.settings),
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        await self._until_it_answers(self.process)

    async def _until_it_answers(self, process: "subprocess.Popen[bytes]") -> None:
        until = time.monotonic() + START_WITHIN_S
        async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{self.port}") as client:
            while time.monotonic() < until and process.poll() is None:
                with contextlib.suppress(httpx2.TransportError):
                    if (await client.get("/healthz")).status_code == 200:
                        return
                await asyncio.sleep(0.05)
        raise AssertionError(f"{self.name} did not start:\n{self.log.read_text()[-2000:]}")

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    end = kill


@dataclass
class WorkerProcess:
    """Some workers in one process, under the same names in each of its lives."""

    names: list[str]
    order: dict[str, object]
    lives: int = 0
    fell_over: bool = False  # by itself, before anybody killed it
    process: "subprocess.Popen[bytes] | None" = None
    older: "list[subprocess.Popen[bytes]]" = field(default_factory=list)

    def start(self) -> None:
        """The next life, whatever became of the one before."""
        if self.process is not None:
            self.older.append(self.process)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.chaos.simulated_worker"], cwd=ROOT, stdin=subprocess.PIPE
        )
        order = {**self.order, "names": self.names, "life": self.lives}
        self.lives += 1
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(order).encode() + b"\n")
        self.process.stdin.flush()

    def kill(self) -> None:
        if self.process is not None:
            self.fell_over |= self.process.poll() not in (None, 0)
            _kill(self.process)

    def end(self) -> None:
        self.kill()
        for process in self.older:
            _kill(process)


def _kill(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.wait()
    if process.stdin is not None:
        process.stdin.close()


def hire(workers: int, order: dict[str, object]) -> list[WorkerProcess]:
    names = [f"worker-{number}" for number in range(workers)]
    return [WorkerProcess(names[first : first + WORKERS_EACH], order) for first in range(0, workers, WORKERS_EACH)]


async def run_audit(folder: Path, settings: dict[str, str]) -> tuple[int, str]:
    """`comfyfleet audit --json`: its exit code, and what it said."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "comfyfleet", "audit", "--json"),
        env=environment(folder, **settings),
        cwd=folder,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(AUDIT_WITHIN_S):
        said, _ = await process.communicate()
    return process.returncode or 0, said.decode()
