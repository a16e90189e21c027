"""Who calls, and what each may run, kept in memory for a moment.

Being out of date here is harmless: what a worker takes or ends is decided by statements that look at the rows.
"""

import time
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from comfyfleet import fleet
from comfyfleet.db import ControlTx, Database
from comfyfleet.desk.coalesce import Coalescer
from comfyfleet.fleet import Standing, Worker
from comfyfleet.kernel.errors import FleetError
from comfyfleet.kernel.ids import FleetId, WorkerId, WorkflowId
from comfyfleet.kernel.secret import Secret

IDENTITY_S = 60.0
ASSIGNMENT_S = 1.0


@dataclass(frozen=True, slots=True)
class _Known:
    worker: Worker
    until: float


class Roster:
    def __init__(self, central: Database) -> None:
        self._central = central
        self._known: dict[str, _Known] = {}
        self._identify: Coalescer[tuple[Secret, str], Worker] = Coalescer(self._look_up)
        self._of_fleets: dict[FleetId, frozenset[WorkflowId]] = {}
        self._of_workers: dict[WorkerId, frozenset[WorkflowId]] = {}
        self._assigned_until = 0.0

    async def identify(self, presented: Secret, worker_id: str) -> Worker:
        """By bearer token. Raises Unauthenticated, or Superseded where a newer process has the name."""
        digest = presented.digest()
        known = self._known.get(digest)
        if known is None or known.until < time.monotonic() or known.worker.worker_id != worker_id:
            worker = await self._identify.ask((presented, worker_id))
            self._known[digest] = _Known(worker, time.monotonic() + IDENTITY_S)
            return worker
        return known.worker

    async def require_known(self, presented: Secret) -> None:
        """Raises Unauthenticated for a token that is no worker's."""
        async with self._central.control_tx(read_only=True) as tx:
            await fleet.require_token(tx, presented)

    def forget(self, worker_id: str) -> None:
        """Something about it changed: look again."""
        self._known = {digest: known for digest, known in self._known.items() if known.worker.worker_id != worker_id}

    def forget_assignments(self) -> None:
        self._assigned_until = 0.0

    async def assignments(self, tx: ControlTx, workers: Collection[Standing]) -> dict[WorkerId, frozenset[WorkflowId]]:
        """What each may run: its fleet's active workflows and its own. A change is seen within a second."""
        if self._assigned_until < time.monotonic():
            self._of_fleets.clear()
            self._of_workers.clear()
            self._assigned_until = time.monotonic() + ASSIGNMENT_S
        await self._learn_assignments(tx, workers)
        return {
            worker.id: self._of_workers[worker.id]
            | (self._of_fleets[worker.fleet_id] if worker.fleet_id else frozenset())
            for worker in workers
        }

    async def _learn_assignments(self, tx: ControlTx, workers: Collection[Standing]) -> None:
        new_workers = [worker.id for worker in workers if worker.id not in self._of_workers]
        new_fleets = {worker.fleet_id for worker in workers if worker.fleet_id} - self._of_fleets.keys()
        if new_workers:
            found: dict[WorkerId, set[WorkflowId]] = defaultdict(set)
            for pair in await fleet.own_workflows(tx, new_workers):
                found[pair[0]].add(pair[1])
            self._of_workers |= {each: frozenset(found.get(each, ())) for each in new_workers}
        for fleet_id in new_fleets:
            self._of_fleets[fleet_id] = await fleet.fleet_workflows(tx, fleet_id)

    async def _look_up(self, asked: list[tuple[Secret, str]]) -> Sequence[Worker | FleetError]:
        async with self._central.control_tx(read_only=True) as tx:
            return await fleet.authenticate_workers(tx, asked)
