"""Who is calling, and may it work now?"""

from collections.abc import Sequence

from comfyfleet.db import ControlTx
from comfyfleet.fleet import sql
from comfyfleet.fleet.lifecycle import WorkerStatus
from comfyfleet.fleet.model import Worker
from comfyfleet.kernel.errors import FleetError, Superseded, Unauthenticated
from comfyfleet.kernel.ids import WorkerId
from comfyfleet.kernel.secret import Secret

UNKNOWN = "The worker token is not valid. Register again."


async def authenticate_worker(tx: ControlTx, presented: Secret, *, worker_id: str) -> Worker:
    """By its bearer token. A name that exists under another token was taken over by a newer process."""
    row = await tx.maybe(sql.by_token(presented.digest()))
    if row is None:
        raise await _stranger(tx, worker_id)
    worker = Worker.from_row(row)
    if worker.worker_id != worker_id:
        raise Unauthenticated(UNKNOWN)
    if worker.status in (WorkerStatus.REVOKED, WorkerStatus.GONE):
        raise Unauthenticated(f"This worker is {worker.status.value}. Register again.")
    return worker


async def _stranger(tx: ControlTx, worker_id: str) -> FleetError:
    """Whoever comes with a token that is nobody's: how it lost it decides what it should do next."""
    named = await tx.maybe(sql.by_name(worker_id))
    if named is None:
        return Unauthenticated(UNKNOWN)
    if named.status == WorkerStatus.REVOKED:
        return Unauthenticated("This worker was revoked. An operator must approve it again.")
    return Superseded(worker_id)


async def hold_workers(tx: ControlTx, workers: Sequence[Worker]) -> dict[WorkerId, Worker]:
    """Those that may take work at this instant, locked until the transaction ends: a revocation waits, or wins."""
    held = {}
    known = {worker.id: worker for worker in workers}
    for row in await tx.all(sql.hold_workers(sorted(known))):
        worker = Worker.from_row(row)
        same_life = worker.incarnation == known[worker.id].incarnation
        if same_life and worker.status is WorkerStatus.APPROVED:
            held[worker.id] = worker
    return held


async def touch_worker(tx: ControlTx, worker: Worker, *, current_load: int) -> None:
    await tx.run(sql.touch(worker.id, current_load=current_load))
