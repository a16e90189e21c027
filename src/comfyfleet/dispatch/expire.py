"""What nobody reports on: leases that ran out, runs past their deadline, waits past theirs, pauses that are over."""

import json
import random
from typing import Any

from comfyfleet.audit import WorkerEventName
from comfyfleet.db import ControlTx
from comfyfleet.db.dialect import batch
from comfyfleet.dispatch import blocks, sql, waiting
from comfyfleet.dispatch.blocks import sql as events_sql
from comfyfleet.dispatch.failures import FailureClass
from comfyfleet.dispatch.finish import ended_as, unreported, write_settlements
from comfyfleet.dispatch.lifecycle import DispatchEvent
from comfyfleet.dispatch.model import Dispatch, Ended
from comfyfleet.kernel.backoff import backoff_s
from comfyfleet.kernel.ids import DispatchId, LaneId, TenantId, new_id

BATCH = 100


async def expire_leases(tx: ControlTx, *, rows: int = BATCH, chance: random.Random) -> list[Ended]:
    """Back to the queue after a pause; failed and refunded when attempts are used up or the run deadline passed;
    cancelled when somebody had asked for that.

    The condition stands in the UPDATE: a lease that its worker ended, or another sweeper took, is left alone.
    What became of the others.
    """
    found = await tx.all(sql.expired(rows=rows))
    ended = [await _expire(tx, row, chance=chance.random()) for row in found]
    return [each for each in ended if each is not None]


async def _expire(tx: ControlTx, row: Any, *, chance: float) -> Ended | None:
    dispatch = Dispatch.from_row(row)
    failure, error = _verdict(dispatch, past_deadline=bool(row.past_deadline))
    key = {
        "id": row.id,
        "epoch": row.epoch,
        "lease_hash": row.lease_hash,
        "worker_id": row.worker_id,
        "incarnation": row.incarnation,
        "error_class": failure.value,
        "last_error": error,
    }
    if failure is FailureClass.CANCELLED or dispatch.exhausted or row.past_deadline:
        event = DispatchEvent.CANCEL if failure is FailureClass.CANCELLED else DispatchEvent.FAIL
        moved = await tx.maybe(sql.finish(event), rows=batch([{**key, "provider_job_id": None}]))
    else:
        moved = await tx.maybe(sql.delay([{**key, "pause_s": backoff_s(dispatch.attempts, chance=chance)}]))
    if moved is None:
        return None
    reason = "deadline" if row.past_deadline else "expired"
    await tx.run(sql.end_attempts(), rows=batch([unreported(row, reason)]))
    await tx.run(events_sql.insert_events(WorkerEventName.EXPIRED.value, [_event(row, reason, moved.status)]))
    await write_settlements(tx, [moved], {})
    await blocks.forget_probe(tx, dispatch.id)
    return ended_as(moved)


def _event(row: Any, reason: str, became: str) -> dict[str, Any]:
    detail = {"epoch": row.epoch, "reason": reason, "status": became}
    return {
        "id": new_id(),
        "worker_id": row.worker_id,
        "dispatch_id": row.id,
        "tenant_id": row.tenant_id,
        "detail": json.dumps(detail),
    }


def _verdict(dispatch: Dispatch, *, past_deadline: bool) -> tuple[FailureClass, str]:
    if dispatch.cancel_requested_at is not None:
        return FailureClass.CANCELLED, "Cancelled. The worker stopped answering before it could say so."
    if past_deadline:
        return FailureClass.TIMEOUT, "The job ran longer than its deadline allows."
    if dispatch.exhausted:
        return FailureClass.INFRA, "Every worker that tried this job was lost."
    return FailureClass.INFRA, "The worker stopped answering."


async def promote_delayed(tx: ControlTx, *, rows: int = BATCH) -> list[LaneId]:
    """Pauses that are over. The lanes, so that somebody can be woken."""
    return [row.lane for row in await tx.all(sql.promote(rows=rows))]


async def fail_overdue(tx: ControlTx, *, rows: int = BATCH) -> int:
    """Waited past the queue deadline: failed, with the reason why nobody took them, if one is known."""
    found = await tx.all(sql.fail_overdue(rows=rows))
    reasons: dict[tuple[LaneId, TenantId], str | None] = {}
    details: dict[DispatchId, dict[str, Any]] = {}
    for row in found:
        where = (row.lane, row.tenant_id)
        if where not in reasons:
            reasons[where] = await waiting.reason_of(tx, Dispatch.from_row(row))
        if reason := reasons[where]:
            details[row.id] = {"error": f"{row.last_error} {reason}"}
    await write_settlements(tx, found, details)
    return len(found)
