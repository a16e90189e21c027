"""Statements over the definitions of node classes that workers have reported."""

from typing import Any

import sqlalchemy as sa

from comfyfleet.db.dialect import insert_once, now
from comfyfleet.db.tables import node_definitions
from comfyfleet.fleet.definitions.model import Reported

d = node_definitions


def see(digest: str) -> sa.Update:
    return sa.update(d).where(d.c.digest == digest).values(seen_at=now()).returning(d.c.digest)


def insert(reported: Reported) -> sa.Insert:
    return insert_once(d).values(
        digest=reported.digest,
        worker_id=reported.worker_id,
        classes=reported.classes,
        size_bytes=reported.size_bytes,
        created_at=now(),
        seen_at=now(),
    )


def newest(*, rows: int) -> sa.Select[Any]:
    return sa.select(*d.c).order_by(d.c.seen_at.desc(), d.c.digest).limit(rows)


def beyond(*, kept: int, worker_id: str | None = None) -> sa.Select[Any]:
    """Those seen before the `kept` newest: of one worker, or of all."""
    found = sa.select(d.c.digest).order_by(d.c.seen_at.desc(), d.c.digest).offset(kept).limit(100)
    return found if worker_id is None else found.where(d.c.worker_id == worker_id)


def delete(digest: str) -> sa.Delete:
    return sa.delete(d).where(d.c.digest == digest)
