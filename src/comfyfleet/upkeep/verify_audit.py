"""Every audit chain is read from its first row, every hour: one that does not hold raises an alarm."""

from comfyfleet import checks
from comfyfleet.house import House

NAME = "verify_audit"
EVERY_S = 3600.0
BATCH = 1_000_000  # one tick reads them all: it is never "full"


async def tick(house: House) -> int:
    """How many alarms are new."""
    return await checks.watch_chains(house)
