"""The machines of a fleet, for operators: those that run, and those that ended lately."""

from typing import Any

from comfyfleet.db import ControlTx
from comfyfleet.kernel.ids import FleetId
from comfyfleet.machines import sql
from comfyfleet.machines.look import state_of
from comfyfleet.machines.model import ListedMachine, ListedState
from comfyfleet.scaling import Market

ROWS_MAX = 200
ENDED_WITHIN_S = 3600.0


async def list_fleet_machines(tx: ControlTx, fleet_id: FleetId) -> list[ListedMachine]:
    """Those that run come first, the newest of each at the top."""
    return [_listed(row) for row in await tx.all(sql.listed(fleet_id, ended_s=ENDED_WITHIN_S, rows=ROWS_MAX))]


def _listed(row: Any) -> ListedMachine:
    return ListedMachine(
        machine_id=row.machine_id,
        machine_class=row.machine_class,
        market=Market(row.market),
        zone=row.zone,
        state=_state(row),
        leases=row.leases,
        has_worker=row.status is not None,
        launched_at=row.launched_at,
        start_s=row.start_s,
        ended_at=row.ended_at,
        end_reason=row.end_reason,
    )


def _state(row: Any) -> ListedState:
    if row.ended_at is not None:
        return ListedState.ENDED
    if row.end_asked_at is not None:
        return ListedState.ENDING
    return ListedState.STARTING if row.status is None else ListedState(state_of(row).value)
