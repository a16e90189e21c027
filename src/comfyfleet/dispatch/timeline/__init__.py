"""Attempts as blocks of time: what every worker did, and does."""

from datetime import datetime, timedelta
from typing import Any

from comfyfleet.db import ControlTx
from comfyfleet.dispatch.timeline import sql
from comfyfleet.dispatch.timeline.model import Block, Timeline
from comfyfleet.kernel.ids import WorkerId

__all__ = ["BLOCKS_MAX", "Block", "Timeline", "read_timeline", "read_timeline_since", "time_now"]

BLOCKS_MAX = 50_000


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
    room = rows - len(running)
    ended = await tx.all(sql.ended(begins_at, ends_at, rows=room + 1, worker_id=worker_id))
    blocks = [_block(row) for row in [*running, *ended[:room]]]
    return Timeline(begins_at, ends_at, at, blocks, left_out=len(ended) > room)


async def read_timeline_since(tx: ControlTx, since: datetime) -> Timeline:
    """What runs, and what ended since."""
    return await read_timeline(tx, since, await time_now(tx) + timedelta(seconds=1))


def _block(row: Any) -> Block:
    return Block(row.dispatch_id, row.epoch, row.worker_id, row.workflow_id, row.begins_s, row.ends_s, row.reason)
