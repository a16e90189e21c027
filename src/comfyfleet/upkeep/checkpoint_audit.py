"""Remember the heads of all audit chains outside the databases, every minute."""

from comfyfleet import checks
from comfyfleet.house import House

NAME = "checkpoint_audit"
EVERY_S = 60.0
BATCH = 1_000_000  # one checkpoint holds all heads: a tick is never "full"


async def tick(house: House) -> int:
    """How many chains have grown since the last checkpoint."""
    return await checks.take_checkpoint(house)
