"""An engine in a process of its own, and what a command left."""

import contextlib
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from tests.server import START_WITHIN_S, environment


@dataclass
class EngineProcess:
    url: str
    process: "subprocess.Popen[bytes]"

    def order(self, **faults: Any) -> None:
        httpx2.post(f"{self.url}/comfyfleet/faults", json=faults, timeout=10).raise_for_status()

    def queue(self) -> dict[str, list[Any]]:
        queue: dict[str, list[Any]] = httpx2.get(f"{self.url}/queue", timeout=10).json()
        return queue

    def histories(self) -> dict[str, Any]:
        found: dict[str, Any] = httpx2.get(f"{self.url}/history", timeout=10).json()
        return found


@contextlib.contextmanager
def engine_process(folder: Path) -> Iterator[EngineProcess]:
    printed = folder / "out.txt"
    with printed.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-u", "-m", "comfyfleet", "engine", "--port", "0", "--dir", str(folder / "engine")],
            env=environment(folder),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        yield EngineProcess(_url(process, printed), process)
    finally:
        process.kill()
        process.wait()


def _url(process: "subprocess.Popen[bytes]", printed: Path) -> str:
    until = time.monotonic() + START_WITHIN_S
    while time.monotonic() < until and process.poll() is None:
        if found := re.search(r"http://127\.0\.0\.1:\d+", printed.read_text()):
            with contextlib.suppress(httpx2.TransportError):
                httpx2.get(f"{found[0]}/prompt", timeout=5)
                return found[0]
        time.sleep(0.05)
    raise AssertionError(f"the engine did not start: {printed.read_text()}")


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str


Comfy = Callable[..., Done]
