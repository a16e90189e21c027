"""Who lives beside the control plane of `up`: the engine or somebody's ComfyUI, a worker on it, and at first a
painter of previews. They leave in that order's reverse, while the control plane is still there for them.

With --autoscale the engine stays until the previews are drawn, and the fleet's machines take the worker's place.
"""

import asyncio
import contextlib
from pathlib import Path

import structlog

from comfyfleet.bootstrap import address_of
from comfyfleet.cli.acting import os_user
from comfyfleet.cli.up.autoscale import DemoScaling
from comfyfleet.cli.up.child import Child
from comfyfleet.cli.up.engine import EngineChild, engine_of
from comfyfleet.cli.up.first_start import Furnished
from comfyfleet.cli.up.greet import tell_choice
from comfyfleet.cli.up.stocking import Asked, stock_later
from comfyfleet.demo.previews import draw_previews
from comfyfleet.demo.seed import FLEET, STAGE
from comfyfleet.house import House
from comfyfleet.settings import Settings
from comfyfleet.upkeep import scale_fleets
from comfyfleet.upkeep.loop import Upkeep

WORKER_ID = "up"
# The first is for what it runs now; at the second it gives everything back at once.
WORKER_STOPS_WITHIN_S = (1.0, 5.0)

log = structlog.get_logger()


class Neighbours:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._engine: EngineChild | None = None
        self._worker: Child | None = None
        self._painting: asyncio.Task[None] | None = None
        self._late: asyncio.Task[None] | None = None
        self._scaling: DemoScaling | None = None
        self._upkeep: Upkeep | None = None

    @property
    def are_wanted(self) -> bool:
        return self._settings.engine or self._settings.comfyui is not None

    def start_engine(self) -> None:
        """First of all: it comes up while the databases are made."""
        self._engine = engine_of(self._settings)
        if self._engine is not None:
            self._engine.start()

    async def comfyui(self) -> str | None:
        """Where jobs can run; None: nowhere."""
        if self._settings.comfyui is not None:
            return self._settings.comfyui
        return await self._engine.url() if self._engine is not None else None

    def follow_scaling(self, scaling: DemoScaling, upkeep: Upkeep) -> None:
        """The fleet's machines end with the other neighbours; no others are launched from then on."""
        self._scaling, self._upkeep = scaling, upkeep

    def move_in(self, house: House, furnished: Furnished, comfyui: str | None, asked: Asked) -> None:
        """When the control plane listens. `asked`: what the server said of its nodes. An engine that is slow to start
        gets its worker when it is there."""
        if comfyui is not None:
            self._move_in(house, furnished, comfyui, asked)
        elif self._engine is not None:
            log.warning("worker.waits_for_engine", problem="the engine has not started yet; the worker starts after it")
            late = self._move_in_late(house, furnished, self._engine, asked)
            self._late = asyncio.create_task(late, name="engine-is-late")

    async def _move_in_late(self, house: House, furnished: Furnished, engine: EngineChild, asked: Asked) -> None:
        url = await engine.url_at_last()
        log.info("engine.started_late", url=url)
        if self._scaling is not None:
            await self._scaling.turn_on(furnished, url)
        self._move_in(house, furnished, url, asked)

    def _move_in(self, house: House, furnished: Furnished, comfyui: str, asked: Asked) -> None:
        if self._scaling is None:
            self._worker = Child("worker", lambda: self._worker_arguments(furnished, comfyui))
            self._worker.start()
        self._painting = asyncio.create_task(self._paint(house, furnished, comfyui, asked), name="stock-and-paint")

    async def _paint(self, house: House, furnished: Furnished, comfyui: str, asked: Asked) -> None:
        if furnished.demo_key is not None:
            await _stock_and_paint(house, self._settings.home, comfyui, asked)
        if self._scaling is not None and self._engine is not None:
            await self._engine.stop()  # each machine has one of its own

    async def leave(self) -> None:
        for task in (self._late, self._painting):
            if task is not None:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
        if self._scaling is not None and self._upkeep is not None:
            await self._upkeep.stop_loop(scale_fleets.NAME)
            await self._scaling.end_machines()
        if self._worker is not None:
            await self._worker.stop(WORKER_STOPS_WITHIN_S)
        if self._engine is not None:
            await self._engine.stop()

    def _worker_arguments(self, furnished: Furnished, comfyui: str) -> list[str]:
        home = self._settings.home.resolve()
        arguments = {
            "--control-plane": address_of(self._settings),
            "--fleet-secret-file": furnished.fleet_secret.resolve(),
            "--fleet": FLEET,
            "--stage": STAGE,
            "--worker-id": WORKER_ID,
            "--server": comfyui,
            "--home": home,
            "--port": 0,
            "--log-format": "json",
            "--log-level": self._settings.log_level,
        }
        if self._engine is not None:
            arguments["--comfyui-dir"] = self._engine.folder
        return ["worker", *(str(word) for pair in arguments.items() for word in pair)]


async def _stock_and_paint(house: House, home: Path, comfyui: str, asked: Asked) -> None:
    """Nice to have, and no more: whatever goes wrong is told, and the next start tries again."""
    try:
        choice = asked.choice or await stock_later(house, home, comfyui, tell=tell_choice)
        await draw_previews(house, os_user(), comfyui, choice.effects)
    except Exception:
        log.exception("demo.previews_failed")
