"""The statement that spares leases after an outage."""

import sqlalchemy as sa

from comfyfleet.db.dialect import seconds_from_now
from comfyfleet.db.tables import ai_job_dispatches
from comfyfleet.dispatch.lifecycle import DispatchStatus

d = ai_job_dispatches


def spare_leases(*, ttl_s: float) -> sa.Update:
    """Not those that somebody has in hand: they are being renewed or ended, and waiting for one another locks."""
    until = seconds_from_now(ttl_s)
    short = (
        d.c.status == DispatchStatus.LEASED,
        d.c.lease_expires_at < until,
        d.c.lease_expires_at < d.c.deadline_at,
    )
    free = sa.select(d.c.id).where(*short).with_for_update(skip_locked=True).cte("free")
    return (
        sa.update(d)
        .where(*short, d.c.id.in_(sa.select(free.c.id)))
        .values(lease_expires_at=sa.case((until < d.c.deadline_at, until), else_=d.c.deadline_at))
        .returning(d.c.id)
    )
