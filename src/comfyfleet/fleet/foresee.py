"""What the machines of a fleet will have is known before one was started: its effects can be sold at once."""

from collections.abc import Mapping, Sequence
from typing import Any

from comfyfleet.db import ControlTx
from comfyfleet.fleet.inventory import note_kind
from comfyfleet.fleet.needs import keep_capabilities
from comfyfleet.kernel.ids import FleetId


async def foresee_machines(
    tx: ControlTx, fleet_id: FleetId, capabilities: Mapping[str, Any], *, providers: Sequence[str] = ("self_hosted",)
) -> None:
    """`capabilities`: as a worker on such a machine will report them. Idempotent."""
    said = await keep_capabilities(tx, capabilities)
    await note_kind(tx, fleet_id, capability_digest=said.digest, providers=list(providers))
