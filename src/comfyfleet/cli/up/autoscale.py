"""`up --autoscale`: the demo's fleet scales with its queue. Its machines are processes here, and end with this one."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from comfyfleet import dispatch, fleet, machines
from comfyfleet.audit import Action, Actor, record_action
from comfyfleet.bootstrap import address_of
from comfyfleet.cli.acting import os_user
from comfyfleet.cli.up.first_start import Furnished
from comfyfleet.comfy import SelfHosted
from comfyfleet.db import ControlTx
from comfyfleet.demo.seed import FLEET, STAGE
from comfyfleet.fleet import Fleet, WorkerEvent
from comfyfleet.fleet.lifecycle import LIVE
from comfyfleet.house import House
from comfyfleet.kernel.errors import Conflict, NotFound
from comfyfleet.machines.adapters.local import LocalMachines, LocalSettings
from comfyfleet.scaling import MachineClass, ScalingSettings
from comfyfleet.settings import Settings
from comfyfleet.worker.preflight import Preflight

ADAPTER = "local"
MACHINES_FOLDER = "machines"
NAME = f"{FLEET}/{STAGE}"
# Short, so that there is something to see: machines that cost money want the defaults.
SHOWN = ScalingSettings(
    classes=(MachineClass("local"),),
    max_workers=3,
    target_wait_s=2.0,
    first_start_s=5.0,
    down_delay_s=10.0,
    load_window_s=30.0,
)
# The first SIGTERM is for what a worker runs now; at the second it gives everything back at once.
MACHINES_STOP_WITHIN_S = (1.0, 5.0)


class ScalesOtherwise(Conflict):
    """The demo's fleet has another provider of machines, which an operator chose."""

    code = "scales_otherwise"
    text = (
        "Fleet {fleet} scales already, with machines of the adapter {adapter!r}; --autoscale uses 'local'. Start "
        "without --autoscale, or turn that off first: comfyfleet fleets scale {fleet} --off"
    )


@dataclass(frozen=True, slots=True)
class DemoScaling:
    """How the demo's fleet scales in this home. `worker_id`: of the one worker that runs without --autoscale."""

    house: House
    settings: Settings
    worker_id: str

    async def turn_on(self, furnished: Furnished, engine_url: str) -> None:
        """From zero to three workers, and again with what an operator changed since. Raises ScalesOtherwise.

        `engine_url`: of an engine as the machines will have it. What it has is asked once, so that the demo's effects
        are sold before the first machine was started.
        """
        await self._end_left_over()
        capabilities = await _ask_capabilities(engine_url)
        async with self.house.control_tx() as tx:
            found = await fleet.find_fleet(tx, FLEET, STAGE)
            before = await machines.find_fleet_scaling(tx, found.id)
            if before is not None and before.adapter != ADAPTER:
                raise ScalesOtherwise(fleet=NAME, adapter=before.adapter)
            await self._write_off(tx, found)
            await fleet.foresee_machines(tx, found.id, capabilities)
            kept = before.settings if before is not None else SHOWN
            config = self._config(furnished)
            await machines.set_fleet_scaling(tx, found, kept, adapter=ADAPTER, adapter_settings=config)
            if before is None:
                await self._record(tx, adapter=ADAPTER, min_workers=kept.min_workers, max_workers=kept.max_workers)
        self.house.desk.assignments_changed()

    async def turn_off(self) -> None:
        """Where an earlier start turned it on: from now on the fleet has one worker, which is always there."""
        async with self.house.control_tx() as tx:
            try:
                found = await fleet.find_fleet(tx, FLEET, STAGE)
            except NotFound:
                return
            before = await machines.find_fleet_scaling(tx, found.id)
            if before is None or before.adapter != ADAPTER or before.adapter_settings.get("folder") != self._folder:
                return
        await self._end_left_over()
        async with self.house.control_tx() as tx:
            await self._write_off(tx, found)
            await machines.stop_fleet_scaling(tx, found)
            await fleet.set_scaling(tx, found.id, scales_from_zero=False)
            await self._record(tx, off=True)

    async def end_machines(self) -> None:
        """All that run, within some seconds."""
        settings = LocalSettings(address_of(self.settings), "", self._folder)
        await LocalMachines(NAME, settings).end_all(MACHINES_STOP_WITHIN_S)

    async def _end_left_over(self) -> None:
        """Machines of a start that was killed end with it; what still lives is ended now."""
        await self.end_machines()

    async def _write_off(self, tx: ControlTx, found: Fleet) -> None:
        await machines.write_off_machines(tx, found.id)
        try:
            worker = await fleet.get_worker(tx, self.worker_id)
        except NotFound:
            return
        if worker.fleet_id == found.id and worker.status in LIVE:
            # It was killed together with an earlier start: nothing waits for it.
            await fleet.move_worker(tx, self.worker_id, WorkerEvent.LEAVE)
            await dispatch.return_leases(tx, worker.id, "worker_restarted")

    @property
    def _folder(self) -> str:
        return str(self.settings.home.resolve() / MACHINES_FOLDER)

    def _config(self, furnished: Furnished) -> dict[str, Any]:
        return {
            "control_plane_url": address_of(self.settings),
            "fleet_secret_file": str(furnished.fleet_secret.resolve()),
            "folder": self._folder,
            "until": os.getpid(),
        }

    async def _record(self, tx: ControlTx, **facts: object) -> None:
        actor: Actor = os_user()
        await record_action(tx, actor, Action("fleet.scale", NAME, facts), signer=self.house.chain)


async def _ask_capabilities(engine_url: str) -> Mapping[str, Any]:
    """As a worker will report them."""
    async with SelfHosted(engine_url) as engine:
        preflight = Preflight([engine])
        await preflight.look()
        return preflight.capabilities()
