"""The servers of this worker: their places, what of ours they have, and whether they are well."""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import structlog

from comfyfleet.comfy.connector import Connector, LogSource
from comfyfleet.comfy.model import Failed, FailureClass, Outcome, Returned
from comfyfleet.kernel.errors import FleetError
from comfyfleet.pool import Server, ServerState
from comfyfleet.pool.places import Place, Places
from comfyfleet.worker.clean import ServerFiles
from comfyfleet.worker.failures import ServerHealth
from comfyfleet.worker.inputs import ServerInputs
from comfyfleet.worker.server_folders import ServerFolders
from comfyfleet.worker.telemetry import Telemetry

log = structlog.get_logger()


class Servers:
    """`declare_unhealthy`: for servers whose process is ours, by name; it is started again."""

    def __init__(
        self,
        connectors: Sequence[Connector],
        telemetry: Telemetry,
        *,
        concurrency: int,
        lease_ahead: int,
        comfyui_dir: Path | None = None,
        cache_bytes_max: int,
        declare_unhealthy: Mapping[str, Callable[[str], None]] | None = None,
        changed: Callable[[], None] = lambda: None,
        on_line: Callable[[str, str], None] = lambda prompt_id, line: None,
    ) -> None:
        """`on_line` hears the prompt and each line that its server logs meanwhile."""
        self._on_line = on_line
        self._telemetry = telemetry
        self._health = ServerHealth()
        self._owned = declare_unhealthy or {}
        self._changed = changed
        local = sum(each.provider == "self_hosted" for each in connectors)
        self._slots = {
            each.name: math.ceil(max(concurrency, local) / local) if each.provider == "self_hosted" else concurrency
            for each in connectors
        }
        # One more than run: the next prompt stands behind them before they end.
        depths = {name: slots + min(1, lease_ahead) for name, slots in self._slots.items()}
        self._places = Places(
            [Server(each, name=each.name, depth=depths[each.name]) for each in connectors], changed=self._on_change
        )
        self._connectors = connectors
        self._comfyui_dir = comfyui_dir
        self._cache_bytes_max = cache_bytes_max
        self.inputs: dict[str, ServerInputs] = {}
        self.files: dict[str, ServerFiles] = {}
        self.take = self._places.take
        self.take_back = self._places.take_back
        self.connector = self._places.connector

    async def open(self) -> None:
        for connector in self._connectors:
            if isinstance(connector, LogSource):
                connector.follow_log(self._on_line)
            folders = await self._folders_of(connector)
            self.files[connector.name] = ServerFiles(folders)
            self.inputs[connector.name] = ServerInputs(
                connector, folders=folders, cache_bytes_max=self._cache_bytes_max
            )
        self._places.open()

    async def _folders_of(self, connector: Connector) -> ServerFolders | None:
        """A server that is not there yet has them where they are by default."""
        if self._comfyui_dir is None or connector.provider != "self_hosted":
            return None
        try:
            return ServerFolders.of(self._comfyui_dir, (await connector.describe()).argv)
        except FleetError:
            return ServerFolders.of(self._comfyui_dir)

    async def close(self) -> None:
        for inputs in self.inputs.values():
            await inputs.close()
        await self._places.close()

    @property
    def slots(self) -> dict[str, int]:
        """How many prompts may run at once, by provider, on the servers that are there and well."""
        found: dict[str, int] = {}
        for view in self._places.views:
            if view.state is ServerState.ONLINE:
                found[view.provider] = found.get(view.provider, 0) + self._slots[view.name]
        return found

    @property
    def unwell(self) -> dict[str, str]:
        """Those that get no jobs now, and why: put aside until they were restarted, or away."""
        away = {each.name: each.problem or "" for each in self._places.views if each.state is ServerState.OFFLINE}
        return away | dict(self._places.aside)

    def none_runs(self, provider: str) -> bool:
        """Not one of them: each of their ports refuses connections."""
        ours = [each for each in self._connectors if each.provider == provider]
        return bool(ours) and all(each.refused and not each.online for each in ours)

    @property
    def warm(self) -> tuple[str, ...]:
        return self._places.warm

    async def learn(self, place: Place, outcome: Outcome) -> None:
        """Frees its models after it ran out of memory; puts it aside when it can no longer be trusted."""
        name = place.server
        if isinstance(outcome, Failed) and outcome.failure is FailureClass.OUT_OF_MEMORY:
            log.info("server.freed", server=name)
            with suppress(FleetError):
                await place.connector.free()
        problem = self._health.learn(name, outcome)
        if problem is not None:
            self.declare_unhealthy(name, problem)
        elif isinstance(outcome, Returned):
            self._places.rest(name, outcome.reason)
        elif not isinstance(outcome, Failed):
            self._places.did_well(name)

    def rest(self, name: str, problem: str) -> None:
        self._places.rest(name, problem)

    def declare_unhealthy(self, name: str, problem: str) -> None:
        log.error("server.unhealthy", server=name, problem=problem, restarts=name in self._owned)
        self._places.put_aside(name, problem)
        if name in self._owned:
            self._owned[name](problem)

    def _on_change(self) -> None:
        for view in self._places.views:
            if view.state is ServerState.OFFLINE and view.name in self.inputs:
                self.inputs[view.name].forget()  # it may come back with an empty disk
            ready = view.state is ServerState.ONLINE
            self._telemetry.server_is(view.name, ready=ready, problem=None if ready else view.problem or view.state)
        self._changed()
