"""A ComfyUI of the worker's own: started, waited for, started again when it dies, stopped with the worker."""

import asyncio
import os
import random
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import structlog

from comfyfleet.comfy import Address, ComfyClient
from comfyfleet.comfy.limits import Limits
from comfyfleet.kernel.backoff import backoff_s
from comfyfleet.kernel.errors import FleetError
from comfyfleet.worker.running_process import Running, adopt, launch

ASK_S = 5.0
ASK_EVERY_S = 0.5
BACKOFF_BASE_S = 1.0
BACKOFF_CEILING_S = 60.0
# One that ran for so long was not broken from the start: the next wait is short again.
STEADY_S = 300.0

log = structlog.get_logger()


class OwnedServer:
    """`run()` until `stop()`. What happens to it is told through `tell(ready, problem)`, on the loop's thread.

    The process has a session of its own: a Ctrl-C or a SIGTERM for the worker does not end it before the jobs on it
    were finished or given back. It outlives a worker that was killed, and the next one takes it over by its pid file:
    the prompt that runs on it is not lost.
    """

    def __init__(
        self,
        command: Sequence[str],
        address: Address,
        *,
        pid_file: Path,
        tell: Callable[[bool, str | None], None] = lambda ready, problem: None,
        folder: Path | None = None,
        start_s: float = 600.0,
        stop_s: float = 10.0,
        backoff_base_s: float = BACKOFF_BASE_S,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.name = address.name
        self.restarts = 0
        self._command = list(command)
        self._address = address
        self._pid_file = pid_file
        self._tell = tell
        self._folder = folder
        self._start_s = start_s
        self._stop_s = stop_s
        self._backoff_base_s = backoff_base_s
        self._chance = chance
        self._ready = asyncio.Event()
        self._stopping = asyncio.Event()
        self._ill = asyncio.Event()
        self._problem: str | None = None
        self._process: Running | None = None

    @property
    def ready(self) -> bool:
        return self._ready.is_set()

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    async def wait_ready(self) -> None:
        await self._ready.wait()

    def declare_unhealthy(self, problem: str) -> None:
        """It answers, and is of no use: a CUDA fault stays until the process ends. It is started again."""
        if self.ready:
            self._problem = problem
            self._ill.set()

    async def stop(self) -> None:
        """Asks `run()` to end; the process is gone when that has returned."""
        self._stopping.set()
