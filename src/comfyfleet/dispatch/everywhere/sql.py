"""The statement over recent attempts."""

from typing import Any

import sqlalchemy as sa

from comfyfleet.db.dialect import seconds_from_now
from comfyfleet.db.tables import ai_job_dispatches, dispatch_attempts, lanes
from comfyfleet.kernel.ids import DispatchId, LaneId, TenantId

d, a = ai_job_dispatches, dispatch_attempts

# Enough to judge by, however much the tenant sends.
RECENT_DISPATCHES = 500


def recent_tries(dispatch_id: DispatchId, tenant_id: TenantId, lane: LaneId, *, window_s: float) -> sa.Select[Any]:
    """How the tenant's latest attempts at this structure ended, in whichever lane, and all of this dispatch's own.

    The latest by id, which an index of the tenant's holds in order: a short walk.
    """
    latest = (
        sa.select(d.c.id, d.c.lane)
        .where(d.c.tenant_id == tenant_id)
        .order_by(d.c.id.desc())
        .limit(RECENT_DISPATCHES)
        .subquery("latest")
    )
    here = lanes.alias("here")
    same = sa.and_(lanes.c.workflow_id == here.c.workflow_id, lanes.c.structure_hash == here.c.structure_hash)
    of_structure = (
        sa.select(latest.c.id).join(lanes, lanes.c.id == latest.c.lane).join(here, same).where(here.c.id == lane)
    )
    wanted = sa.union(sa.select(sa.literal(dispatch_id, sa.Uuid()).label("id")), of_structure).subquery("wanted")
    return (
        sa.select(a.c.worker_id, a.c.reason)
        .join(wanted, wanted.c.id == a.c.dispatch_id)
        .where(a.c.ended_at > seconds_from_now(-window_s))
    )
