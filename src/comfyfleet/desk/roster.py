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
from comfyfleet.fleet import CapabilityBook, Needs, Standing, Worker
from comfyfleet.kernel.errors import FleetError
from comfyfleet.kernel.ids import FleetId, WorkerId, WorkflowId
from comfyfleet.kernel.secret import Secret

IDENTITY_S = 60.0
ASSIGNMENT_S = 1.0
KNOWN_MAX = 50_000
NOTHING: frozenset[WorkflowId] = frozenset()


@dataclass(frozen=True, slots=True)
class _Known:
    worker: Worker
    until: float


class Roster:
    def __init__(self, central: Database) -> None:
        self._central = central
        self._known: dict[str, _Known] = {}  # by the digest of their tokens
        self._digests: dict[str, set[str]] = defaultdict(set)  # by name
        self._identify: Coalescer[tuple[Secret, str], Worker] = Coalescer(self._look_up)
        self._own: dict[tuple[WorkerId, int], frozenset[WorkflowId]] = {}
        self._of_fleets: dict[FleetId | None, frozenset[WorkflowId]] = {}
        self._active: frozenset[WorkflowId] = frozenset()
        self.book = CapabilityBook()
        self._digest_of: dict[tuple[WorkerId, int], str | None] = {}
        self._needs: dict[WorkflowId, tuple[int, Needs]] = {}  # with their version
        self._fitting: dict[tuple[str, frozenset[WorkflowId]], frozenset[WorkflowId]] = {}
        self._assigned_until = 0.0
        self._changes = 0

    async def identify(self, presented: Secret, worker_id: str) -> Worker:
        """By bearer token. Raises Unauthenticated, or Superseded where a newer process has the name."""
        digest = presented.digest()
        known = self._known.get(digest)
        if known is not None and known.until > time.monotonic() and known.worker.worker_id == worker_id:
            return known.worker
        worker = await self._identify.ask((presented, worker_id))
        self._remember(digest, worker)
        return worker

    def _remember(self, digest: str, worker: Worker) -> None:
        if len(self._known) >= KNOWN_MAX:
            self._known.clear()
            self._digests.clear()
        self._known[digest] = _Known(worker, time.monotonic() + IDENTITY_S)
        self._digests[worker.worker_id].add(digest)

    async def require_known(self, presented: Secret) -> None:
        """Raises Unauthenticated for a token that is no worker's."""
        async with self._central.control_tx(read_only=True) as tx:
            await fleet.require_token(tx, presented)

    def forget(self, worker_id: str) -> set[WorkerId]:
        """Something about it changed: look again. Whom that was remembered for comes back."""
        forgotten = [self._known.pop(digest, None) for digest in self._digests.pop(worker_id, ())]
        return {known.worker.id for known in forgotten if known is not None}

    def forget_assignments(self) -> None:
        """Workflows were given or taken away: whoever asks next is answered by the rows."""
        self._assigned_until = 0.0
        self._changes += 1

    def remembered(self, worker: Worker) -> frozenset[WorkflowId] | None:
        """What it may run, if that is known and not out of date."""
        key = (worker.id, worker.incarnation)
        if key not in self._own or self._assigned_until < time.monotonic():
            return None
        if worker.fleet_id is not None and worker.fleet_id not in self._of_fleets:
            return None
        return self._fits(self._may_run(key, worker.fleet_id), self._digest_of.get(key))

    async def assignments(self, tx: ControlTx, workers: Collection[Standing]) -> dict[WorkerId, frozenset[WorkflowId]]:
        """What each may run, and can: its fleet's active workflows and its own, but for those that need what it has
        not. A change is seen within a second."""
        if len(self._own) >= KNOWN_MAX:
            self._own.clear()
            self._digest_of.clear()
        if self._assigned_until < time.monotonic():
            await self._look_again(tx)
        for worker in workers:
            self._digest_of[worker.id, worker.incarnation] = worker.capability_digest
        await self.book.know(tx, {worker.capability_digest for worker in workers})
        await self._learn_own(tx, [each for each in workers if (each.id, each.incarnation) not in self._own])
        for fleet_id in {worker.fleet_id for worker in workers if worker.fleet_id} - self._of_fleets.keys():
            self._of_fleets[fleet_id] = await fleet.fleet_workflows(tx, fleet_id)
        return {
            worker.id: self._fits(
                self._may_run((worker.id, worker.incarnation), worker.fleet_id), worker.capability_digest
            )
            for worker in workers
        }

    async def _look_again(self, tx: ControlTx) -> None:
        before = self._changes
        self._of_fleets.clear()
        self._fitting.clear()
        versions = await fleet.active_workflows(tx)
        self._active = frozenset(versions)
        strange = [each for each, number in versions.items() if self._needs.get(each, (None,))[0] != number]
        for workflow_id, needs in (await fleet.needs_of(tx, strange)).items():
            self._needs[workflow_id] = (versions[workflow_id], needs)
        # What changed while the rows were read may not be among them.
        self._assigned_until = time.monotonic() + ASSIGNMENT_S if self._changes == before else 0.0

    def _fits(self, allowed: frozenset[WorkflowId], digest: str | None) -> frozenset[WorkflowId]:
        """Worked out once for all workers that are alike; the very same set where nothing is lacking."""
        has = self.book[digest]
        if digest is None or has is None:
            return allowed
        fitting = self._fitting.get((digest, allowed))
        if fitting is None:
            lacking = {each for each in allowed if each in self._needs and fleet.lacks(self._needs[each][1], has)}
            fitting = self._fitting[digest, allowed] = allowed - lacking if lacking else allowed
        return fitting

    def _may_run(self, key: tuple[WorkerId, int], fleet_id: FleetId | None) -> frozenset[WorkflowId]:
        """Where one part is all there is, that very set: a set that is new each time must be hashed each time."""
        own = self._own[key]
        of_fleet = self._of_fleets.get(fleet_id, NOTHING)
        if not own:
            return of_fleet
        return own if not of_fleet and own <= self._active else of_fleet | (own & self._active)

    async def _learn_own(self, tx: ControlTx, workers: Collection[Standing]) -> None:
        """What a worker registered with stays for its whole life; only whether it is active may change."""
        if not workers:
            return
        found: dict[WorkerId, set[WorkflowId]] = defaultdict(set)
        for worker_id, workflow_id in await fleet.own_workflows(tx, [worker.id for worker in workers]):
            found[worker_id].add(workflow_id)
        for worker in workers:
            self._own[worker.id, worker.incarnation] = frozenset(found.get(worker.id, ()))

    async def _look_up(self, asked: list[tuple[Secret, str]]) -> Sequence[Worker | FleetError]:
        async with self._central.control_tx(read_only=True) as tx:
            return await fleet.authenticate_workers(tx, asked)
