"""Remember the heads of all audit chains outside the databases, every minute."""

from comfyfleet import checks
from comfyfleet.house import House


async def tick(house: House) -> int:
    """How many chains have grown since the last checkpoint."""
    return await checks.take_checkpoint(house)
