"""Statements over what is to be scored."""

from typing import Any

import sqlalchemy as sa

from comfyfleet.db.dialect import batch_rows, now, seconds_from_now
from comfyfleet.db.scope import BOUND_TENANT
from comfyfleet.db.tables import candidates, files, pipeline_runs
from comfyfleet.kernel.ids import RunId
from comfyfleet.pipelines.lifecycle import CandidateStatus

c, r, f = candidates, pipeline_runs, files


def due(*, rows: int) -> sa.Select[Any]:
    """Over a whole pool: who has waited longest first."""
    return (
        sa.select(r.c.id, r.c.tenant_id)
        .where(r.c.score_due_at.is_not(None), r.c.score_due_at <= now())
        .order_by(r.c.score_due_at)
        .limit(rows)
    )


def put_off(run_ids: list[RunId], *, seconds: float) -> sa.Update:
    """Whose time it still is: of two replicas that found them, one takes them."""
    b = batch_rows("b", {"id": sa.Uuid()}, [{"id": each} for each in run_ids])
    return (
        sa.update(r)
        .where(r.c.id == b.c.id, r.c.score_due_at <= now())
        .values(score_due_at=seconds_from_now(seconds))
        .returning(r.c.id)
    )


def set_due(run_id: RunId, *, is_due: bool) -> sa.Update:
    return (
        sa.update(r)
        .where(r.c.tenant_id == BOUND_TENANT, r.c.id == run_id)
        .values(score_due_at=now() if is_due else None)
    )


def unscored(run_id: RunId, *, rows: int, position: int | None = None) -> sa.Select[Any]:
    """With where their pictures are; as they were made."""
    found = (
        sa.select(c.c.id, f.c.path, f.c.disk, f.c.mime_type, f.c.size, f.c.status.label("file_status"))
        .join(f, f.c.id == c.c.file_id)
        .where(
            c.c.tenant_id == BOUND_TENANT,
            f.c.tenant_id == BOUND_TENANT,
            c.c.run_id == run_id,
            c.c.status == CandidateStatus.ACTIVE,
            c.c.scores.is_(sa.null()),
        )
    )
    if position is not None:
        found = found.where(c.c.position == position)
    return found.order_by(c.c.id).limit(rows)
