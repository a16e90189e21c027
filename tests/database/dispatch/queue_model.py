"""What the queue promises, in plain Python: the model that the state machine compares the databases with."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from comfyfleet.dispatch import FailureClass, Grant, Holder, QueueRules
from comfyfleet.dispatch.failures import POLICIES
from comfyfleet.dispatch.rebind import LIVES_BACK_MAX
from comfyfleet.kernel.backoff import backoff_s
from comfyfleet.kernel.ids import DispatchId
from comfyfleet.kernel.secret import Secret
from tests.conftest import ManualClock

# Nearer to a deadline than this, either side of it is right: the database reads its clock a little later than we do.
UNSURE_S = 0.8
OVER = ("completed", "failed", "cancelled")
WAITING = ("queued", "delayed")


@dataclass(frozen=True)
class Held:
    """A lease as somebody once got it, in one life of its worker. Whether it still counts is what this is about."""

    dispatch_id: DispatchId
    epoch: int
    token: Secret
    worker: int
    holder: Holder


@dataclass
class Row:
    """What the model knows of one dispatch."""

    priority: int
    overdue_at: float
    status: str = "queued"
    epoch: int = 0
    attempts: int = 0
    releases: int = 0
    worker: int | None = None
    holder: Holder | None = None
    token: Secret | None = None
    cancel_requested: bool = False
    expires_at: float = 0.0
    deadline_at: float = 0.0
    # A pause ends between these two: chance spreads it.
    due_from: float = 0.0
    due_until: float = 0.0


@dataclass
class Model:
    rules: QueueRules
    clock: ManualClock
    rows: dict[DispatchId, Row] = field(default_factory=dict)

    @property
    def now(self) -> float:
        return time.monotonic() + self.clock.offset_s

    def __getitem__(self, held: Held) -> Row:
        return self.rows[held.dispatch_id]

    def exhausted(self, row: Row) -> bool:
        return row.attempts >= self.rules.max_attempts + row.releases

    def waiting(self, *states: str) -> list[DispatchId]:
        return [dispatch_id for dispatch_id, row in self.rows.items() if row.status in (states or WAITING)]

    def held_by(self, worker: int) -> Iterator[DispatchId]:
        return (each for each, row in self.rows.items() if row.status == "leased" and row.worker == worker)

    def is_current(self, held: Held, holder: Holder) -> bool:
        row = self[held]
        return row.status == "leased" and (row.token, row.holder) == (held.token, holder)

    def is_proven(self, held: Held, worker: int) -> bool:
        """By any token of that attempt, of this life of its worker or of one not long ago."""
        row = self[held]
        if row.status != "leased" or row.worker != worker or row.holder is None:
            return False
        lives_ago = row.holder.incarnation - held.holder.incarnation
        return (held.worker, held.epoch) == (worker, row.epoch) and lives_ago < LIVES_BACK_MAX

    # ── moves ──

    def create(self, dispatch_id: DispatchId, priority: int) -> None:
        self.rows[dispatch_id] = Row(priority, self.now + self.rules.queue_deadline_s)

    def lease(self, grant: Grant, worker: int, holder: Holder) -> Held:
        row = self.rows[grant.dispatch_id]
        assert row.status == "queued", f"leased while {row.status}"
        row.status, row.epoch, row.attempts = "leased", row.epoch + 1, row.attempts + 1
        row.worker, row.holder, row.token = worker, holder, grant.token
        row.expires_at, row.deadline_at = self.now + self.rules.grace_s, self.now + self.rules.run_deadline_s
        assert (grant.epoch, grant.attempt, grant.lane.priority) == (row.epoch, row.attempts, row.priority)
        return Held(grant.dispatch_id, grant.epoch, grant.token, worker, holder)

    def beat(self, held: Held) -> None:
        row = self[held]
        row.expires_at = min(self.now + self.rules.lease_ttl_s, row.deadline_at)

    def rebind(self, held: Held, token: Secret, holder: Holder) -> Held:
        row = self[held]
        row.token, row.holder, row.expires_at = token, holder, self.now + self.rules.grace_s
        return replace(held, token=token, holder=holder)

    def fail(self, row: Row, failure: FailureClass) -> str:
        if POLICIES[failure].retried and not self.exhausted(row):
            return self.end(row, "cancelled") if row.cancel_requested else self.delay(row)
        return self.end(row, "cancelled" if failure is FailureClass.CANCELLED else "failed")

    def requeue(self, row: Row) -> str:
        if row.cancel_requested and (row.releases < self.rules.max_releases or not self.exhausted(row)):
            return self.end(row, "cancelled")
        if row.releases < self.rules.max_releases:
            row.releases += 1
        elif self.exhausted(row):
            return self.end(row, "failed")
        return self.end(row, "queued")

    def take_back(self, row: Row) -> str:
        if row.cancel_requested:
            return self.end(row, "cancelled")
        return self.end(row, "failed" if self.exhausted(row) else "queued")

    def cancel(self, row: Row) -> str:
        if row.status in WAITING:
            row.status = "cancelled"
        elif row.status == "leased":
            row.cancel_requested = True
        return row.status

    def delay(self, row: Row) -> str:
        pauses = [backoff_s(row.attempts, chance=chance) for chance in (0.0, 1.0)]
        row.due_from, row.due_until = self.now + pauses[0], self.now + pauses[1]
        return self.end(row, "delayed")

    def end(self, row: Row, status: str) -> str:
        row.status, row.worker, row.holder, row.token = status, None, None, None
        return status

    # ── what time does ──

    def after_sweep(self, row: Row) -> set[str]:
        if row.status != "leased":
            return {row.status}
        now, allowed = self.now, set[str]()
        if min(row.expires_at, row.deadline_at) > now - UNSURE_S:
            allowed.add("leased")
        if min(row.expires_at, row.deadline_at) < now + UNSURE_S:
            if row.cancel_requested:
                return allowed | {"cancelled"}
            late, early = row.deadline_at < now + UNSURE_S, row.deadline_at > now - UNSURE_S
            allowed |= {"failed"} if self.exhausted(row) or late else set()
            allowed |= {"delayed"} if not self.exhausted(row) and early else set()
        return allowed

    def after_promotion(self, row: Row) -> set[str]:
        if row.status != "delayed":
            return {row.status}
        allowed = {"queued"} if row.due_from < self.now + UNSURE_S else set()
        return allowed | ({"delayed"} if row.due_until > self.now - UNSURE_S else set())

    def after_queue_deadline(self, row: Row) -> set[str]:
        if row.status not in WAITING:
            return {row.status}
        allowed = {"failed"} if row.overdue_at < self.now + UNSURE_S else set()
        return allowed | ({row.status} if row.overdue_at > self.now - UNSURE_S else set())

    def follow(self, row: Row, found: str, allowed: set[str]) -> None:
        """Where chance or the last moment decides, the database's word counts, if it is one of those that may be."""
        assert found in allowed, f"{row} became {found}, allowed was {allowed}"
        if found == row.status:
            return
        if found == "delayed":
            self.delay(row)
        else:
            self.end(row, found)
