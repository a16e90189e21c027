"""An operator says how a fleet scales, and by whose machines."""

from collections.abc import Mapping
from typing import Any

import msgspec

from comfyfleet import fleet
from comfyfleet.db import ControlTx
from comfyfleet.fleet import Fleet
from comfyfleet.kernel.errors import InvalidInput, NotFound
from comfyfleet.kernel.ids import FleetId
from comfyfleet.machines import sql
from comfyfleet.machines.adapters import check_adapter, claims_of
from comfyfleet.machines.model import FleetScaling, MachinesRun
from comfyfleet.scaling import ScalingSettings, ScalingState, check_settings, from_json, resume_launches, to_json


async def set_fleet_scaling(
    tx: ControlTx, found: Fleet, settings: ScalingSettings, *, adapter: str, adapter_settings: Mapping[str, Any]
) -> FleetScaling:
    """Raises InvalidInput. From now on the fleet's effects are also sold while it has no worker."""
    check_settings(settings)
    check_adapter(adapter, adapter_settings, settings)
    await tx.one(
        sql.write_settings(
            found.id,
            settings=to_json(settings),
            max_workers=settings.max_workers,
            adapter=adapter,
            adapter_settings=msgspec.json.encode(adapter_settings).decode(),
            state=to_json(ScalingState()),
        )
    )
    # After the write: of two fleets that are set at once, the second sees the first.
    await _require_unclaimed(tx, found, claims_of(adapter, adapter_settings))
    if not found.scales_from_zero:
        await fleet.set_scaling(tx, found.id, scales_from_zero=True)
    return await get_fleet_scaling(tx, found)


async def stop_fleet_scaling(tx: ControlTx, found: Fleet) -> None:
    """Its workers stay as they are. Raises MachinesRun while machines of it are known to run."""
    await get_fleet_scaling(tx, found)
    if not await tx.run(sql.drop_settings(found.id)):
        raise MachinesRun(fleet=f"{found.slug}/{found.stage}")


async def resume_fleet_launches(tx: ControlTx, found: Fleet) -> FleetScaling:
    """After machines that never registered, or places without capacity: launch again at once."""
    row = await tx.maybe(sql.lock_scaling(found.id))
    if row is None:
        raise _does_not_scale(found)
    state = resume_launches(from_json(row.state, ScalingState))
    await tx.run(sql.change_state(found.id, generation=row.generation, state=to_json(state)))
    return await get_fleet_scaling(tx, found)


async def get_fleet_scaling(tx: ControlTx, found: Fleet) -> FleetScaling:
    scaling = await find_fleet_scaling(tx, found.id)
    if scaling is None:
        raise _does_not_scale(found)
    return scaling


async def find_fleet_scaling(tx: ControlTx, fleet_id: FleetId) -> FleetScaling | None:
    """None: it does not scale."""
    row = await tx.maybe(sql.scaling_of(fleet_id))
    return FleetScaling.from_row(row) if row is not None else None


async def _require_unclaimed(tx: ControlTx, found: Fleet, claimed: frozenset[str]) -> None:
    for row in await tx.all(sql.adapters_in_use()) if claimed else []:
        try:
            theirs = claims_of(row.adapter, msgspec.json.decode(row.adapter_settings))
        except InvalidInput:  # written by another version of the server
            continue
        if row.fleet_id != found.id and (both := sorted(claimed & theirs)):
            raise InvalidInput(
                "adapter_settings",
                f"{both[0]} belongs to fleet {row.slug}/{row.stage}: two fleets would end each other's machines; "
                "give each fleet groups of its own",
            )


def _does_not_scale(found: Fleet) -> NotFound:
    return NotFound("scaling of fleet", f"{found.slug}/{found.stage}")
