"""The queue in figures: how much waits, for whom and how long; how much ends, and how; how busy workers are."""

from datetime import datetime, timedelta

from comfyfleet.db import ControlTx
from comfyfleet.dispatch.figures import sql
from comfyfleet.dispatch.figures.model import Ends, QueueFigures, Span, Spans, Waiting, busy_shares
from comfyfleet.kernel.ids import LaneId, TenantId, WorkflowId

__all__ = ["Ends", "QueueFigures", "Spans", "Waiting", "busy_shares", "count_ends", "count_queue", "read_spans"]

COUNTED_MAX = 10_000
SEEN_MAX = 1_000
LANES_MAX = 64
SPANS_MAX = 20_000


async def count_queue(tx: ControlTx) -> QueueFigures:
    depths = {row.lane: row for row in await tx.all(sql.depths(counted_max=COUNTED_MAX)) if row.queued}
    deepest = sorted(depths, key=lambda lane: -depths[lane].queued)[:LANES_MAX]
    waiting: dict[WorkflowId, Waiting] = {}
    tenants: dict[TenantId, Waiting] = {}
    for row in depths.values():
        counted = Waiting(min(row.queued, COUNTED_MAX), row.queued > COUNTED_MAX)
        waiting[row.workflow_id] = waiting.get(row.workflow_id, Waiting()).plus(counted)
    for row in await tx.all(sql.who_waits([LaneId(each) for each in deepest], seen_max=SEEN_MAX)) if deepest else []:
        lane, age = depths[row.lane], Waiting(oldest_s=max(0.0, row.oldest_s))
        waiting[lane.workflow_id] = waiting[lane.workflow_id].plus(age)
        found = Waiting(row.queued, lane.queued > SEEN_MAX, age.oldest_s)
        tenants[row.tenant_id] = tenants.get(row.tenant_id, Waiting()).plus(found)
    delayed = (await tx.one(sql.delayed(counted_max=COUNTED_MAX))).delayed
    return QueueFigures(
        waiting=waiting,
        tenants=tenants,
        running={row.workflow_id: row.running for row in await tx.all(sql.running())},
        reasons={row.workflow_id: row.reason for row in await tx.all(sql.reasons()) if row.workflow_id in waiting},
        delayed=min(delayed, COUNTED_MAX),
        delayed_is_at_least=delayed > COUNTED_MAX,
    )


async def count_parked(tx: ControlTx) -> int:
    """Settlements that somebody must look at."""
    return int((await tx.one(sql.parked(counted_max=COUNTED_MAX))).parked)


async def count_ends(tx: ControlTx, *, stretch_s: float, stretches: int) -> Ends:
    """Of the time before now, cut into stretches."""
    begins_at = await _ago(tx, stretch_s * stretches)
    rows = await tx.all(sql.ends(begins_at, stretch_s=stretch_s))
    return Ends.counted(((row.stretch, row.reason, row.attempts) for row in rows), begins_at, stretch_s, stretches)


async def read_spans(tx: ControlTx, *, window_s: float, rows: int = SPANS_MAX) -> Spans:
    begins_at = await _ago(tx, window_s)
    ended = await tx.all(sql.ended_spans(begins_at, rows=rows))
    spans = [Span(row.worker_id, row.begins_s, row.ends_s) for row in ended]
    spans += [Span(row.worker_id, row.begins_s, window_s) for row in await tx.all(sql.open_spans(begins_at))]
    # Too many: of the time before the earliest of them nothing is known.
    begins_s = ended[-1].ends_s if len(ended) == rows else 0.0
    return Spans(spans, begins_s, window_s)


async def _ago(tx: ControlTx, seconds: float) -> datetime:
    at: datetime = (await tx.one(sql.time_now())).at
    return at - timedelta(seconds=seconds)
