"""A ComfyUI of the worker's own: started, waited for, started again when it dies, stopped with the worker."""

import asyncio
import random
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import structlog

from comfyfleet.comfy import Address, ComfyClient, Limits
from comfyfleet.kernel.backoff import backoff_s
from comfyfleet.kernel.durations import seconds_text
from comfyfleet.kernel.errors import Conflict, FleetError, Refused
from comfyfleet.worker.comfyui_log import ComfyuiLog
from comfyfleet.worker.running_process import Running, adopt, launch, remember

ASK_S = 5.0
ASK_EVERY_S = 0.25
BACKOFF_BASE_S = 1.0
BACKOFF_CEILING_S = 60.0
# One that ran for so long was not broken from the start: the next wait is short again.
STEADY_S = 300.0

log = structlog.get_logger()


class CommandUnusable(Refused):
    """The command that should start ComfyUI cannot be run at all."""

    code = "comfyui_command_unusable"
    text = "comfyui_command: {command!r} cannot be started ({problem})."


class ServerTaken(Conflict):
    """Somebody else's ComfyUI answers where ours should."""

    code = "comfyui_server_taken"
    text = (
        "Something answers at {server} already, and comfyui_command did not start it. "
        "Stop it, choose another port, or leave comfyui_command away to use it as it is."
    )


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
        workdir: Path,
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
        files = workdir / ("comfyui-" + "".join(each if each.isalnum() else "-" for each in self.name))
        self.pid_file = files.with_suffix(".pid")
        self._said = files.with_suffix(".log")
        self._tell = tell
        self._folder = folder
        self._start_s = start_s
        self._stop_s = stop_s
        self._backoff_base_s = backoff_base_s
        self._chance = chance
        self._ready = asyncio.Event()
        self._stopping = asyncio.Event()
        self._ill: asyncio.Future[str] | None = None
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
        if self.ready and self._ill is not None and not self._ill.done():
            self._ill.set_result(problem)

    def stop(self) -> None:
        """Asks `run()` to end; the process is gone when that has returned."""
        self._stopping.set()

    async def run(self) -> None:
        """Raises CommandUnusable or ServerTaken if it cannot even begin; later troubles are told and tried again."""
        self._said.parent.mkdir(parents=True, exist_ok=True)
        passing_on = asyncio.create_task(ComfyuiLog(self._said, server=self.name).follow())
        attempt = 0
        try:
            async with ComfyClient(self._address, limits=Limits(look_s=ASK_S)) as client:
                self._process = adopt(self.pid_file) or await self._launch_first(client)
                while not self._stopping.is_set():
                    began = time.monotonic()
                    problem = await self._live(client)
                    if self._stopping.is_set():
                        break
                    attempt = 1 if time.monotonic() - began > STEADY_S else attempt + 1
                    await self._start_again(problem, attempt)
        finally:
            self._ready.clear()
            await self._end_process()
            passing_on.cancel()
            with suppress(asyncio.CancelledError):
                await passing_on

    async def _launch_first(self, client: ComfyClient) -> Running:
        if await _answers(client):
            raise ServerTaken(server=self.name)
        try:
            return await self._launch()
        except OSError as problem:
            raise CommandUnusable(
                command=self._command[0], problem=problem.strerror or type(problem).__name__
            ) from None

    async def _launch(self) -> Running:
        process = await launch(self._command, said=self._said, folder=self._folder)
        remember(process, self.pid_file)
        log.info("comfyui.started", server=self.name, pid=process.pid)
        return process

    async def _live(self, client: ComfyClient) -> str:
        """From its start, or from its take-over, until something is wrong with it; what that was."""
        if self._process is None:
            return "it could not be started"
        self._ill = asyncio.get_running_loop().create_future()
        answered = asyncio.create_task(_until_it_answers(client, within_s=self._start_s))
        ends = [asyncio.create_task(self._process.wait()), asyncio.create_task(self._told_to_stop())]
        try:
            await asyncio.wait({answered, *ends}, return_when=asyncio.FIRST_COMPLETED)
            if not answered.done():
                return next(end.result() for end in ends if end.done())
            if not answered.result():
                return f"it did not answer within {seconds_text(self._start_s)}"
            self._ready.set()
            log.info("comfyui.ready", server=self.name, pid=self.pid)
            self._tell(True, None)
            await asyncio.wait({self._ill, *ends}, return_when=asyncio.FIRST_COMPLETED)
            return next(end.result() for end in (self._ill, *ends) if end.done())
        finally:
            self._ready.clear()
            self._ill.cancel()
            await _cancel([answered, *ends])

    async def _told_to_stop(self) -> str:
        await self._stopping.wait()
        return "the worker stops"

    async def _start_again(self, problem: str, attempt: int) -> None:
        wait_s = backoff_s(attempt, chance=self._chance(), base_s=self._backoff_base_s, ceiling_s=BACKOFF_CEILING_S)
        log.warning("comfyui.restarts", server=self.name, problem=problem, attempt=attempt, wait_s=round(wait_s, 1))
        self._tell(False, problem)
        await self._end_process()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), wait_s)
        if self._stopping.is_set():
            return
        self.restarts += 1
        try:
            self._process = await self._launch()
        except OSError as error:  # its file is being replaced, or there is no memory: the next round tries again
            log.warning("comfyui.not_started", server=self.name, problem=error.strerror)

    async def _end_process(self) -> None:
        if self._process is None:
            return
        process, self._process = self._process, None
        try:
            await process.end(within_s=self._stop_s)
        finally:
            process.close()
        self.pid_file.unlink(missing_ok=True)


async def _until_it_answers(client: ComfyClient, *, within_s: float) -> bool:
    ends = time.monotonic() + within_s
    while time.monotonic() < ends:
        if await _answers(client):
            return True
        await asyncio.sleep(ASK_EVERY_S)
    return False


async def _answers(client: ComfyClient) -> bool:
    try:
        await client.system_stats()
    except FleetError:
        return False
    return True


async def _cancel(tasks: Sequence[asyncio.Task[object]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
