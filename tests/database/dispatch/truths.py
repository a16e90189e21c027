"""The product's own invariants of the queue, asked of a database in a test."""

from comfyfleet.checks import QUEUE, Finding, check_invariants
from comfyfleet.db import Database
from comfyfleet.dispatch import QueueRules


async def broken_truths(central: Database, rules: QueueRules | None = None) -> list[Finding]:
    """Those that do not hold, with the rows that break them."""
    async with central.control_tx(read_only=True) as tx:
        found = await check_invariants(tx, QUEUE, database=central.name, rules=rules or QueueRules())
    return [each for each in found if each.state != "ok"]
