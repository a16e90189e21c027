"""After an outage nobody could send a heartbeat: leases that ran out meanwhile prove nothing about their workers."""

from comfyfleet.db import ControlTx
from comfyfleet.dispatch.model import QueueRules
from comfyfleet.dispatch.outages import sql


async def spare_leases(tx: ControlTx, *, rules: QueueRules) -> int:
    """Every open lease lives one more TTL from now, and none beyond its run deadline. How many were lengthened."""
    return len(await tx.all(sql.spare_leases(ttl_s=rules.lease_ttl_s)))
