"""One replica at a time, for what two must not do at once; and how long ago it was last done by anybody."""

import math

from comfyfleet.db import ControlTx
from comfyfleet.upkeep import sql


async def take_turn(tx: ControlTx, loop: str, *, due_s: float = 0.0) -> float | None:
    """Held until the transaction ends. Seconds since the last turn; None: another replica has it now, or the last one
    was less than `due_s` ago."""
    row = await tx.maybe(sql.hold_tick(loop))
    if row is not None:
        if row.since_s < due_s:
            return None
        await tx.run(sql.move_tick(loop))
        return float(row.since_s)
    # Held, or not there yet. An insert must not find out: it would wait for whoever holds it.
    if await tx.maybe(sql.find_tick(loop)) is not None:
        return None
    return math.inf if await tx.maybe(sql.insert_tick(loop)) is not None else None


async def take_due_turn(tx: ControlTx, loop: str, *, every_s: float) -> bool:
    """For what is too long for one transaction: true for one replica, and again when `every_s` have passed. One that
    dies after this leaves the work to the next turn."""
    if await tx.maybe(sql.move_due_tick(loop, every_s=every_s)) is not None:
        return True
    return await tx.maybe(sql.insert_tick(loop)) is not None
