"""Statements of the audit log."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa

from comfyfleet.audit.model import Action, Actor
from comfyfleet.db.dialect import insert_once, now
from comfyfleet.db.tables import audit_head, audit_log

h, g = audit_head, audit_log


def start_chain(*, mac: str) -> sa.Insert:
    return insert_once(h).values(id=1, seq=0, mac=mac)


def hold_head() -> sa.Select[Any]:
    """Whoever adds to the chain takes its turn; with the time, for the row's mac must hold it."""
    return sa.select(h.c.seq, h.c.mac, now().label("at")).where(h.c.id == 1).with_for_update(of=h)


def insert_entry(*, seq: int, at: datetime, actor: Actor, action: Action, mac: str) -> sa.Insert:
    return sa.insert(g).values(
        seq=seq,
        at=at,
        actor_kind=actor.kind,
        actor=actor.name,
        action=action.name,
        subject=action.subject,
        address=actor.address,
        detail=action.detail_text(),
        mac=mac,
    )


def move_head(*, seq: int, mac: str) -> sa.Update:
    return sa.update(h).where(h.c.id == 1, h.c.seq == seq - 1).values(seq=seq, mac=mac).returning(h.c.seq)
