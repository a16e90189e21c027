"""Statements that delete."""

from typing import Any

import sqlalchemy as sa

from comfyfleet.db.dialect import batch_rows, seconds_from_now
from comfyfleet.db.tables import ai_job_dispatches, attempt_results, dispatch_attempts, dispatch_payloads, settlements
from comfyfleet.kernel.ids import DispatchId

d, s = ai_job_dispatches, settlements


def long_settled(*, age_s: float, rows: int) -> sa.Select[Any]:
    """Both marks must stand, the dispatch's and the settlement's."""
    return (
        sa.select(d.c.id)
        .join(s, s.c.dispatch_id == d.c.id)
        .where(d.c.finished_at < seconds_from_now(-age_s), d.c.settled_at.is_not(None), s.c.applied_at.is_not(None))
        .limit(rows)
        .with_for_update(skip_locked=True, of=d)
    )


def forget_attempts(ids: list[DispatchId]) -> sa.Delete:
    return sa.delete(dispatch_attempts).where(dispatch_attempts.c.dispatch_id.in_(_listed(ids)))


def forget_results(ids: list[DispatchId]) -> sa.Delete:
    return sa.delete(attempt_results).where(attempt_results.c.dispatch_id.in_(_listed(ids)))


def forget_payloads(ids: list[DispatchId]) -> sa.Delete:
    return sa.delete(dispatch_payloads).where(dispatch_payloads.c.dispatch_id.in_(_listed(ids)))


def forget_settlements(ids: list[DispatchId]) -> sa.Delete:
    return sa.delete(s).where(s.c.dispatch_id.in_(_listed(ids)))


def forget_dispatches(ids: list[DispatchId]) -> sa.Delete:
    return sa.delete(d).where(d.c.id.in_(_listed(ids)))


def _listed(ids: list[DispatchId]) -> sa.Select[Any]:
    return sa.select(batch_rows("b", {"id": sa.Uuid()}, [{"id": each} for each in ids]).c.id)
