"""Statements that give a waiting dispatch another place."""

from typing import Any

import sqlalchemy as sa

from comfyfleet.db.tables import ai_job_dispatches, lanes
from comfyfleet.dispatch.lifecycle import DispatchStatus
from comfyfleet.kernel.ids import DispatchId, LaneId

d = ai_job_dispatches

WAITING = [DispatchStatus.QUEUED, DispatchStatus.DELAYED]


def hold_place(dispatch_id: DispatchId) -> sa.Select[Any]:
    """Locked: a worker that wants it now waits, and then finds it in its new lane."""
    return (
        sa.select(*d.c, lanes.c.structure_hash)
        .join(lanes, lanes.c.id == d.c.lane)
        .where(d.c.id == dispatch_id)
        .with_for_update(of=d)
    )


def change_place(dispatch_id: DispatchId, *, lane: LaneId, priority: int, fair_tag: float) -> sa.Update:
    return (
        sa.update(d)
        .where(d.c.id == dispatch_id, d.c.status.in_(WAITING))
        .values(lane=lane, priority=priority, fair_tag=fair_tag)
        .returning(*d.c)
    )
