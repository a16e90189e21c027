"""Machines that ended together with what provided them: their provider has nothing left to list or to end."""

from comfyfleet import dispatch, fleet
from comfyfleet.db import ControlTx
from comfyfleet.fleet import WorkerEvent
from comfyfleet.fleet.lifecycle import LIVE
from comfyfleet.kernel.ids import FleetId, WorkerId
from comfyfleet.machines import sql


async def write_off_machines(tx: ControlTx, fleet_id: FleetId) -> list[str]:
    """Marks all machines of the fleet as ended without asking the provider, and returns their ids.

    Their workers are gone, their leases return to the queue at once, and launches without an answer are closed.
    The caller guarantees that none of the machines runs.
    """
    await tx.run(sql.close_launches(fleet_id, problem="written off"))
    ended = [str(row.machine_id) for row in await tx.all(sql.mark_all_ended(fleet_id))]
    for machine_id in ended:
        worker = await tx.maybe(sql.standing_of(machine_id))
        if worker is not None and worker.status in LIVE:
            await fleet.move_worker(tx, machine_id, WorkerEvent.LEAVE)
            await dispatch.return_leases(tx, WorkerId(worker.id), "worker_restarted")
    return ended
