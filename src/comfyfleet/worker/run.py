"""A worker as a process: what stands around the agent, in what order it starts, and how it ends.

status port          from the first moment, until the last
machine              on EC2 its id is the worker's name, and its notices are listened to
owned servers        started first; the agent waits until they answer
preflight            what the servers have, before the worker registers
agent                the work itself; when it has left, all the rest ends
"""

import asyncio
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import structlog

from comfyfleet.comfy import Connector, SelfHosted
from comfyfleet.comfy.cloud import CloudConnector, CloudSettings
from comfyfleet.comfy.health import Patience
from comfyfleet.kernel.exchanges import follow_exchanges
from comfyfleet.kernel.secret import Secret
from comfyfleet.traces.sink import TRACES_OFF, TraceSink
from comfyfleet.worker.agent import Agent
from comfyfleet.worker.comfyui_process import OwnedServer
from comfyfleet.worker.interruption import (
    Ec2Machine,
    Metadata,
    Notice,
    Signals,
    SpotWatch,
    find_machine,
    find_protection,
)
from comfyfleet.worker.options import WorkerSettings, name_of_host
from comfyfleet.worker.preflight import Preflight
from comfyfleet.worker.status_port import StatusPort
from comfyfleet.worker.telemetry import Telemetry

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")

log = structlog.get_logger()


async def run_worker(settings: WorkerSettings, traces: TraceSink = TRACES_OFF) -> None:
    """Until it has left. Raises what kept it from working. `traces` is its caller's to close."""
    telemetry = Telemetry(folders=_folders(settings))
    port = StatusPort(telemetry, host=settings.status_host, port=settings.status_port)
    with port, follow_exchanges(telemetry.exchanged):
        async with Metadata(settings.metadata_url) as metadata:
            machine = await find_machine(metadata) if settings.cloud_machine != "none" else None
            if machine is None and settings.cloud_machine == "ec2":
                log.warning("worker.no_metadata", hint="cloud_machine is 'ec2', and nothing answers as EC2 does")
            process = WorkerProcess(settings, telemetry, machine, traces)
            with Signals(process.heed, drain_s=settings.drain_s):
                await process.run(SpotWatch(metadata, process.heed) if machine else None)


class WorkerProcess:
    def __init__(
        self,
        settings: WorkerSettings,
        telemetry: Telemetry,
        machine: Ec2Machine | None,
        traces: TraceSink = TRACES_OFF,
    ) -> None:
        self.worker_id = settings.worker_id or (machine.instance_id if machine else name_of_host())
        self._settings = settings
        self._telemetry = telemetry
        self._machine = machine
        self._owned = self._owned_servers()
        self._connectors = open_connectors(settings)
        self._preflight = Preflight(self._connectors)
        self._agent = Agent(
            settings,
            worker_id=self.worker_id,
            connectors=self._connectors,
            telemetry=telemetry,
            capabilities=self._preflight.capabilities,
            definitions=self._preflight.definitions,
            declare_unhealthy={each.name: each.declare_unhealthy for each in self._owned},
            boot_id=_boot_id(),
            traces=traces,
        )
        self._main: asyncio.Task[None] | None = None
        self._chores: list[asyncio.Task[None]] = []

    def heed(self, notice: Notice) -> None:
        """Before it has registered there is nothing to hand over: then it just ends."""
        if self._main is not None and not self._agent.is_registered:
            self._main.cancel()
        else:
            self._agent.drain(notice)

    async def run(self, spot: SpotWatch | None) -> None:
        log.info("worker.starts", worker_id=self.worker_id, control_plane=self._settings.control_plane_url)
        self._main = asyncio.create_task(self._work())
        servers = [self._start(each.run()) for each in self._owned]
        try:
            if spot is not None:
                self._start(spot.run())
            await self._protect()
            with suppress(asyncio.CancelledError):
                await self._until_it_has_left()
        finally:
            await _cancel([self._main])
            for each in self._owned:
                each.stop()
            await asyncio.gather(*servers, return_exceptions=True)
            await _cancel(self._chores)
        log.info("worker.stopped", worker_id=self.worker_id)

    async def _protect(self) -> None:
        protection = await find_protection(self._machine, self._settings.scale_in_protection)
        if protection is not None:
            self._telemetry.follow_busy(protection.busy_is)
            self._start(protection.run())

    async def _work(self) -> None:
        for each in self._owned:
            await each.wait_ready()
        await self._preflight.look()
        self._start(self._preflight.run())
        await self._agent.run()

    async def _until_it_has_left(self) -> None:
        """Or until something that it cannot do without has failed: then it gives back what it holds, and leaves."""
        main = self._main
        while main is not None and not main.done():
            watched = [task for task in self._chores if not task.done()]
            await asyncio.wait({main, *watched}, return_when=asyncio.FIRST_COMPLETED)
            failed = next((task for task in self._chores if _failure(task) is not None), None)
            if failed is not None:
                self.heed(Notice("a part of the worker failed", seconds_left=0.0))
                await asyncio.wait({main})
                failed.result()
        if main is not None:
            await main

    def _start(self, chore: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(chore)
        self._chores.append(task)
        return task

    def _owned_servers(self) -> list[OwnedServer]:
        settings = self._settings
        return [
            OwnedServer(
                command,
                address,
                workdir=settings.workdir(self.worker_id),
                tell=partial(self._server_told, address.name),
                folder=settings.comfyui_dir,
                start_s=settings.comfyui_start_s,
                stop_s=settings.comfyui_stop_s,
            )
            for command, address in zip(settings.commands(), settings.addresses(), strict=False)
        ]

    def _server_told(self, name: str, ready: bool, problem: str | None) -> None:
        """That it is ready the agent finds out itself, by its socket."""
        if not ready:
            self._telemetry.server_is(name, ready=False, problem=problem)
            self._telemetry.server_restarted(name)


def _folders(settings: WorkerSettings) -> dict[str, Path]:
    comfyui = {} if settings.comfyui_dir is None else {"comfyui": settings.comfyui_dir}
    return {"worker": settings.home, **comfyui}


def open_connectors(settings: WorkerSettings) -> list[Connector]:
    patience = Patience(
        inactivity_s=settings.inactivity_s,
        health_check_interval_s=settings.health_check_interval_s,
        request_s=settings.health_check_timeout_s,
    )
    local: list[Connector] = [SelfHosted(each, patience=patience) for each in settings.addresses()]
    if "cloud" not in settings.providers or settings.comfy_cloud_api_key is None:
        return local
    key = Secret(settings.comfy_cloud_api_key.get_secret_value())
    return [*local, CloudConnector(key, settings=CloudSettings(url=settings.comfy_cloud_url))]


def _failure(task: asyncio.Task[None]) -> BaseException | None:
    return task.exception() if task.done() and not task.cancelled() else None


async def _cancel(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _boot_id() -> str | None:
    try:
        return BOOT_ID.read_text().strip()
    except OSError:
        return None
