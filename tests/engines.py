"""The engine as the far end of tests: in this process on a real loopback socket, or as a process of its own."""

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from comfyfleet.engine.engine import Engine
from comfyfleet.engine.node import Node
from comfyfleet.engine.server import serve_here

START_WITHIN_S = 40
STOP_WITHIN_S = 15


@dataclass(frozen=True)
class RunningEngine:
    url: str
    engine: Engine

    @property
    def ws_url(self) -> str:
        return self.url.replace("http://", "ws://") + "/ws"

    async def order_faults(self, **order: Any) -> None:
        """As FaultOrder says: prompts={…}, prompts_times=…, routes=[…]."""
        async with httpx2.AsyncClient(base_url=self.url) as http:
            (await http.post("/comfyfleet/faults", json=order)).raise_for_status()


@contextlib.asynccontextmanager
async def an_engine(
    folder: Path, *, nodes: Iterable[Node] | None = None, port: int = 0
) -> AsyncIterator[RunningEngine]:
    """In the test's own event loop. Leaving the block stops it; another block on the same folder is a restart."""
    engine = Engine(folder, nodes=nodes)
    async with serve_here(engine, port=port) as url:
        yield RunningEngine(url, engine)


@dataclass
class EngineProcess:
    url: str
    folder: Path
    process: subprocess.Popen[str]

    def end(self, sign: int = signal.SIGTERM) -> int:
        self.process.send_signal(sign)
        return self.process.wait(STOP_WITHIN_S)


@contextlib.contextmanager
def an_engine_process(folder: Path, *, port: int = 0) -> Iterator[EngineProcess]:
    """`comfyfleet engine`, killed at the end if it still lives."""
    command = [sys.executable, "-m", "comfyfleet", "engine", "--port", str(port), "--dir", str(folder)]
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH") if name in os.environ}
    folder.mkdir(parents=True, exist_ok=True)
    with (
        (folder.parent / f"{folder.name}.log").open("ab") as log,
        subprocess.Popen(command, env=kept, stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        try:
            assert process.stdout is not None
            said = process.stdout.readline()
            found = re.search(r"http://\S+:\d+", said)
            assert found is not None, said
            _wait_until_ready(found[0])
            yield EngineProcess(found[0], folder, process)
        finally:
            process.kill()


def _wait_until_ready(url: str) -> None:
    """It listens before it says its port: the first request waits in the backlog until it is up."""
    httpx2.get(f"{url}/prompt", timeout=START_WITHIN_S).raise_for_status()


def a_picture_graph(*, prefix: str = "picture", color: int = 0x336699, side: int = 16) -> dict[str, Any]:
    return {
        "1": {"class_type": "EmptyImage", "inputs": {"width": side, "height": side, "batch_size": 1, "color": color}},
        "2": {"class_type": "SaveImage", "inputs": {"images": ["1", 0], "filename_prefix": prefix}},
    }


def a_sleep_graph(*, seconds: float = 0.1, steps: int = 1, seed: int = 0, previews: bool = False) -> dict[str, Any]:
    """Sleeps in steps, then shows a small picture. Give each prompt another seed, or the cache answers."""
    inputs = {"seconds": seconds, "steps": steps, "seed": seed, "previews": previews}
    return {
        "1": {"class_type": "FleetSleep", "inputs": inputs},
        "2": {"class_type": "PreviewImage", "inputs": {"images": ["1", 0]}},
    }
