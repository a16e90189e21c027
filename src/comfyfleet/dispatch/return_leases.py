"""A worker's leases are taken from it: it was revoked, or a newer process of the same name has come without them."""

from collections.abc import Collection, Sequence
from typing import Any

from comfyfleet.db import ControlTx
from comfyfleet.db.dialect import batch
from comfyfleet.dispatch import blocks, sql
from comfyfleet.dispatch.failures import FailureClass
from comfyfleet.dispatch.finish import ended_as, unreported, write_settlements
from comfyfleet.dispatch.lifecycle import DispatchEvent
from comfyfleet.dispatch.model import Dispatch, Ended
from comfyfleet.kernel.ids import DispatchId, WorkerId

Rows = Sequence[Any]


async def return_leases(
    tx: ControlTx, worker_id: WorkerId, reason: str, *, keep: Collection[DispatchId] = ()
) -> list[Ended]:
    """Back to their places at once, each attempt counted and every lease token dead. What became of each.

    One whose attempts are used up is failed; one that nobody wants any more is cancelled.
    """
    fates: dict[DispatchEvent, list[Any]] = {}
    for row in await tx.all(sql.leased_by(worker_id)):
        if row.id not in keep:
            fates.setdefault(fate(Dispatch.from_row(row)), []).append(row)
    moved = [ended for event, rows in fates.items() for ended in await _move(tx, event, rows, reason)]
    if moved:
        await _close(tx, moved, reason)
    return [ended_as(row) for row in moved]


def fate(dispatch: Dispatch) -> DispatchEvent:
    """What becomes of a lease that its worker can no longer end."""
    if dispatch.cancel_requested_at is not None:
        return DispatchEvent.CANCEL
    return DispatchEvent.FAIL if dispatch.exhausted else DispatchEvent.REQUEUE


async def _move(tx: ControlTx, event: DispatchEvent, rows: Rows, reason: str) -> Rows:
    said = f"The lease was taken back from its worker ({reason})."
    if event is DispatchEvent.REQUEUE:
        return await tx.all(sql.requeue([{**_key(row), "last_error": said, "gives_back": 0} for row in rows]))
    failure = FailureClass.CANCELLED if event is DispatchEvent.CANCEL else FailureClass.INFRA
    outcome = {"error_class": failure.value, "last_error": said, "provider_job_id": None}
    return await tx.all(sql.finish(event), rows=batch([{**_key(row), **outcome} for row in rows]))


async def _close(tx: ControlTx, rows: Rows, reason: str) -> None:
    await tx.run(sql.end_attempts(), rows=batch([unreported(row, reason) for row in rows]))
    await write_settlements(tx, rows, {})
    for row in rows:
        await blocks.forget_probe(tx, row.id)


def _key(row: Any) -> dict[str, Any]:
    return {name: getattr(row, name) for name in sql.LEASE_KEY}
