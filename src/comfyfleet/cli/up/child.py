"""A command of ours in a process beside the server: started, listened to, started again when it dies, ended with us."""

import asyncio
import json
import logging
import os
import signal
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections.abc import Callable, Sequence

import structlog

from comfyfleet.settings import PREFIX

RESTART_S_MIN = 0.5
RESTART_S_MAX = 30.0
# Up for so long, its next death is a new trouble and not the same one again.
STEADY_S = 60.0
LINE_BYTES_MAX = 64 * 1024
LEVELS = {"debug": logging.DEBUG, "warning": logging.WARNING, "error": logging.ERROR, "critical": logging.CRITICAL}

log = structlog.get_logger()


class Child:
    """`arguments` is asked anew before each start: a second one may know more than the first."""

    def __init__(
        self, name: str, arguments: Callable[[], Sequence[str]], *, heard: Callable[[str], None] | None = None
    ) -> None:
        self.name = name
        self._arguments, self._heard = arguments, heard
        self._process: Process | None = None
        self._keeping: asyncio.Task[None] | None = None
        self._stopping = False

    def start(self) -> None:
        self._keeping = asyncio.create_task(self._keep(), name=f"keep-{self.name}")

    async def stop(self, within_s: Sequence[float]) -> None:
        """One SIGTERM for each of the patiences, then SIGKILL. It is heard to its last word."""
        keeping, self._keeping, self._stopping = self._keeping, None, True
        if keeping is None:
            return
        for patience_s in within_s:
            if not self._send(signal.SIGTERM):
                break
            await asyncio.wait({keeping}, timeout=patience_s)
        if not self._send(signal.SIGKILL):
            keeping.cancel()  # dead already, and waiting to be started again
        await asyncio.wait({keeping})

    def _send(self, sign: signal.Signals) -> bool:
        if self._process is None or self._process.returncode is not None:
            return False
        self._process.send_signal(sign)
        return True

    async def _keep(self) -> None:
        pause_s = RESTART_S_MIN
        while True:
            began = time.monotonic()
            code = await self._run()
            if self._stopping:
                return
            if time.monotonic() - began > STEADY_S:
                pause_s = RESTART_S_MIN
            if code == 0:
                log.info(f"{self.name}.left", again_in_s=pause_s)
            else:
                log.error(f"{self.name}.died", code=code, again_in_s=pause_s)
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, RESTART_S_MAX)

    async def _run(self) -> int | None:
        try:
            self._process = process = await _start(self._arguments())
        except OSError as problem:  # no room for one more process; later there will be
            log.error(f"{self.name}.not_started", problem=str(problem))
            return None
        log.info(f"{self.name}.started", process_id=process.pid)
        await self._listen(process)
        return await process.wait()

    async def _listen(self, process: Process) -> None:
        """To its last word, so that it never waits for a reader."""
        assert process.stdout is not None  # noqa: S101 it was started with a pipe
        while True:
            try:
                raw = await process.stdout.readline()
            except ValueError:  # longer than a line may be; what is left of it comes as the next one
                continue
            if not raw:
                return
            line = raw.decode(errors="replace").rstrip()
            if self._heard is not None:
                self._heard(line)
            _pass_on(self.name, line)


def _pass_on(name: str, line: str) -> None:
    """What is an event already stays one, in the words of whoever said it."""
    try:
        said = json.loads(line)
    except ValueError:
        said = None
    if not isinstance(said, dict) or not isinstance(said.get("event"), str):
        log.info(f"{name}.said", line=line)
        return
    event, level = said.pop("event"), LEVELS.get(said.pop("level", ""), logging.INFO)
    said.pop("timestamp", None)
    log.log(level, event, **{**said, "process": name})


async def _start(arguments: Sequence[str]) -> Process:
    """In a session of its own: Ctrl-C is for us, and we end it in our order. Our settings are not its settings."""
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "comfyfleet.cli.up.tied", str(os.getpid()), *arguments),
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=STDOUT,
        env={
            **{name: value for name, value in os.environ.items() if not name.upper().startswith(PREFIX)},
            "PYTHONUNBUFFERED": "1",
        },
        limit=LINE_BYTES_MAX,
        start_new_session=True,
    )
