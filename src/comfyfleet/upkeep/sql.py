"""Statements over the loops' own table, and over what only they delete."""

from typing import Any

import sqlalchemy as sa

from comfyfleet.db.dialect import SecondsBetween, insert_once, now, seconds_from_now
from comfyfleet.db.direct import built_once
from comfyfleet.db.tables import upkeep_ticks, worker_audit_log

t, w = upkeep_ticks, worker_audit_log


def insert_tick(loop: str) -> sa.Insert:
    return insert_once(t).values(loop=loop, ticked_at=now()).returning(t.c.loop)


@built_once
def hold_tick(loop: str) -> sa.Select[Any]:
    """Nothing comes back while another replica holds it."""
    since = SecondsBetween(t.c.ticked_at, now()).label("since_s")
    return sa.select(since).where(t.c.loop == loop).with_for_update(skip_locked=True)


def move_due_tick(loop: str, *, every_s: float) -> sa.Update:
    due = (t.c.loop == loop, t.c.ticked_at <= seconds_from_now(-every_s))
    return sa.update(t).where(*due).values(ticked_at=now()).returning(t.c.loop)


def find_tick(loop: str) -> sa.Select[Any]:
    return sa.select(t.c.loop).where(t.c.loop == loop)


@built_once
def move_tick(loop: str) -> sa.Update:
    return sa.update(t).where(t.c.loop == loop).values(ticked_at=now())


def forget_worker_events(*, age_s: float, rows: int) -> sa.Delete:
    """Of the oldest by id, which is by age: those past their time. When none is, few rows were looked at."""
    oldest = sa.select(w.c.id, w.c.at).order_by(w.c.id).limit(rows).subquery("oldest")
    return sa.delete(w).where(w.c.id.in_(sa.select(oldest.c.id).where(oldest.c.at < seconds_from_now(-age_s))))
