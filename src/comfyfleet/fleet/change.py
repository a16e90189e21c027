"""Moves of a worker along its lifecycle, and a new token."""

from comfyfleet.db import ControlTx
from comfyfleet.fleet import sql
from comfyfleet.fleet.inventory import keep_inventory, order_of
from comfyfleet.fleet.lifecycle import LIVE, WORKER, WorkerEvent, WorkerStatus
from comfyfleet.fleet.model import FleetRules, Worker
from comfyfleet.fleet.presence import take_turns
from comfyfleet.fleet.register import TOKEN_BYTES
from comfyfleet.kernel.errors import Forbidden, NotFound, Superseded, WorkerLives
from comfyfleet.kernel.ids import WorkerId
from comfyfleet.kernel.secret import Secret, new_secret

BATCH = 100


async def find_worker(tx: ControlTx, worker_id: str) -> Worker | None:
    row = await tx.maybe(sql.by_name(worker_id))
    return Worker.from_row(row) if row is not None else None


async def get_worker(tx: ControlTx, worker_id: str) -> Worker:
    if (found := await find_worker(tx, worker_id)) is None:
        raise NotFound("worker", worker_id)
    return found


async def move_worker(tx: ControlTx, worker_id: str, event: WorkerEvent) -> Worker:
    """Approve, drain or revoke. One that is there already stays: asking twice is asking once.

    A revocation ends the worker's token and its life; its leases are the queue's to take back (`return_leases`).
    """
    worker = await get_worker(tx, worker_id)
    await take_turns(tx, [worker.id])
    fences = event is WorkerEvent.REVOKE
    row = await tx.maybe(sql.revoke_worker(worker.id) if fences else sql.move_worker(worker.id, event))
    if row is not None:
        await keep_inventory(tx, row)
        return Worker.from_row(row)
    worker = await get_worker(tx, worker_id)
    if worker.status != WORKER.target(event):
        WORKER.next(worker.status, event)
    return worker


async def deregister_worker(tx: ControlTx, worker: Worker) -> Worker:
    """By its own word. An older process cannot sign the newer one off."""
    await take_turns(tx, [worker.id])
    row = await tx.maybe(sql.lock_worker(worker.worker_id, window_s=0.0))
    if row is None or row.incarnation != worker.incarnation:
        raise Superseded(worker.worker_id)
    await keep_inventory(tx, row)
    # Workflows of its own are kept: what it could run is sold while it restarts.
    moved = await tx.maybe(sql.move_worker(worker.id, WorkerEvent.LEAVE))
    return Worker.from_row(moved if moved is not None else row)


async def forget_worker(tx: ControlTx, worker_id: str, *, rules: FleetRules) -> Worker:
    """Frees the name, for any fleet. One that still calls, or was revoked, stays.

    Its attempts stay in the history of their jobs. Leases it still holds are the queue's to take back first.
    """
    worker = await get_worker(tx, worker_id)
    await take_turns(tx, [worker.id])
    row = await tx.one(sql.lock_worker(worker_id, window_s=0.0))
    if row.status == WorkerStatus.REVOKED:
        raise Forbidden("A revoked worker stays revoked: forgotten, it could register again. Approve it first.")
    if row.status in LIVE and row.silent_s <= rules.name_held_s:
        raise WorkerLives(worker_id, silent_s=int(row.silent_s))
    await tx.run(sql.forget_workflows(worker.id))
    await tx.run(sql.forget_worker(worker.id))
    return Worker.from_row(row)


async def rotate_token(tx: ControlTx, worker_id: str) -> Secret:
    worker, token = await get_worker(tx, worker_id), new_secret(size=TOKEN_BYTES)
    await tx.one(sql.replace_token(worker.id, token.digest()))
    return token


async def retire_stale(tx: ControlTx, *, stale_s: float, rows: int = BATCH) -> list[WorkerId]:
    """Silent for too long: gone, until it registers again."""
    gone = []
    for row in sorted(await tx.all(sql.stale_workers(stale_s=stale_s, rows=rows)), key=order_of):
        await keep_inventory(tx, row)
        if await tx.maybe(sql.move_worker(row.id, WorkerEvent.LEAVE)) is not None:
            gone.append(row.id)
    return gone


async def forget_gone(tx: ControlTx, *, age_s: float, rows: int = BATCH) -> int:
    """Gone for so long: only the history of its jobs knows it, and what its fleet's machines have stays. A revoked one
    stays: forgotten, it could register again."""
    ids = [WorkerId(row.id) for row in await tx.all(sql.long_gone(age_s=age_s, rows=rows))]
    if ids:
        await tx.run(sql.forget_workflows_of(ids))
        await tx.run(sql.forget_workers(ids))
    return len(ids)
