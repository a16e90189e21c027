"""Attempts as blocks of time: what every worker did, and does."""

from datetime import datetime, timedelta
from typing import Any

from comfyfleet.db import ControlTx
from comfyfleet.dispatch.timeline import sql
from comfyfleet.dispatch.timeline.model import Block, Timeline
from comfyfleet.kernel.ids import DispatchId, WorkerId

__all__ = ["BLOCKS_MAX", "Block", "Timeline", "read_timeline", "read_timeline_since", "time_now"]

BLOCKS_MAX = 50_000
READ_ROWS = 4_000


async def time_now(tx: ControlTx) -> datetime:
    """By the clock that wrote the blocks."""
    at: datetime = (await tx.one(sql.time_now())).at
    return at


async def read_timeline(
    tx: ControlTx, begins_at: datetime, ends_at: datetime, *, worker_id: WorkerId | None = None, rows: int = BLOCKS_MAX
) -> Timeline:
    """Every attempt that touches this time, the running ones first."""
    at = await time_now(tx)
    running = await tx.all(sql.still_open(begins_at, ends_at, rows=rows, worker_id=worker_id))
    blocks = [_block(row) for row in running]
    found: dict[tuple[DispatchId, int], Block] = {}
    last = ends_at + sql.ENDED_LATER
    while len(blocks) + len(found) <= rows:
        # A little at a time: others wait for their answers meanwhile.
        page = await tx.all(sql.ended(begins_at, ends_at, last, rows=READ_ROWS, worker_id=worker_id))
        before = len(found)
        found.update((block.key, block) for block in map(_block, page))
        if len(page) < READ_ROWS or len(found) == before:
            break
        # Seconds were rounded: the next page begins with some of this one again.
        last = begins_at + timedelta(seconds=page[-1].ends_s, milliseconds=1)
    room = rows - len(blocks)
    return Timeline(begins_at, ends_at, at, [*blocks, *list(found.values())[:room]], left_out=len(found) > room)


async def read_timeline_since(tx: ControlTx, since: datetime) -> Timeline:
    """What runs, and what ended since."""
    return await read_timeline(tx, since, await time_now(tx) + timedelta(seconds=1))


def _block(row: Any) -> Block:
    return Block(row.dispatch_id, row.epoch, row.worker_id, row.workflow_id, row.begins_s, row.ends_s, row.reason)
