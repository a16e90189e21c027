"""The queue's nouns. A dispatch is a job's place in the queue; to the queue, workers and workflows are opaque ids.

Those that are made for every lease are `Struct`s: a frozen dataclass takes five times as long to make.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Self

from msgspec import Struct

from comfyfleet.dispatch.failures import FailureClass
from comfyfleet.dispatch.lifecycle import DispatchStatus
from comfyfleet.kernel.ids import DispatchId, LaneId, TenantId, WorkerId, WorkflowId
from comfyfleet.kernel.secret import Secret


class Provider(StrEnum):
    SELF_HOSTED = "self_hosted"
    CLOUD = "cloud"


@dataclass(frozen=True, slots=True)
class QueueRules:
    """The settings of the queue, as values."""

    lease_ttl_s: float = 90.0
    grace_s: float = 15.0  # how long a lease lives that no heartbeat has confirmed
    lease_ahead: int = 1  # leases a worker may hold beyond its concurrency: inputs are fetched while it runs
    max_attempts: int = 3
    max_releases: int = 20
    run_deadline_s: float = 3600.0
    queue_deadline_s: float = 86_400.0
    block_cooldown_s: float = 60.0
    max_failures_before_block: int = 1

    @property
    def heartbeat_interval_s(self) -> float:
        return min(30.0, self.lease_ttl_s / 3)


@dataclass(frozen=True, slots=True)
class NewDispatch:
    id: DispatchId
    tenant_id: TenantId
    pool: str
    workflow_id: WorkflowId
    structure_hash: str
    provider: Provider
    payload: bytes
    priority: int = 0
    cost_s: float = 1.0  # expected seconds on a GPU
    weight: int = 1  # the tenant's share
    run_deadline_s: float | None = None
    delivers: bool = False  # cannot be completed with nothing
    traceparent: str | None = None  # the span of its job's order


@dataclass(frozen=True, slots=True)
class Started:
    """A worker has it, or had it, since so long."""

    id: DispatchId
    tenant_id: TenantId
    pool: str
    ago_s: float


@dataclass(frozen=True, slots=True)
class Dispatch:
    id: DispatchId
    tenant_id: TenantId
    pool: str
    workflow_id: WorkflowId
    lane: LaneId
    provider: Provider
    status: DispatchStatus
    priority: int
    attempts: int
    max_attempts: int
    releases: int
    max_releases: int
    epoch: int
    worker_id: WorkerId | None
    cancel_requested_at: datetime | None
    error_class: FailureClass | None
    last_error: str | None
    created_at: datetime
    finished_at: datetime | None

    @property
    def exhausted(self) -> bool:
        return self.attempts >= self.max_attempts + self.releases

    @classmethod
    def from_row(cls, row: Any) -> Self:
        return cls(
            id=row.id,
            tenant_id=row.tenant_id,
            pool=row.pool,
            workflow_id=row.workflow_id,
            lane=row.lane,
            provider=Provider(row.provider),
            status=DispatchStatus(row.status),
            priority=row.priority,
            attempts=row.attempts,
            max_attempts=row.max_attempts,
            releases=row.releases,
            max_releases=row.max_releases,
            epoch=row.epoch,
            worker_id=row.worker_id,
            cancel_requested_at=row.cancel_requested_at,
            error_class=FailureClass(row.error_class) if row.error_class else None,
            last_error=row.last_error,
            created_at=row.created_at,
            finished_at=row.finished_at,
        )


@dataclass(frozen=True, slots=True)
class Holder:
    """Who asks: a worker in one of its lives. What an earlier life sends is refused."""

    worker_id: WorkerId
    incarnation: int


class Ask(Struct, frozen=True, eq=False):
    """One poll: what this worker may run, what it has warm, and how many leases it may hold in all.

    Two polls that say the same are still two.
    """

    holder: Holder
    lanes: frozenset[LaneId]
    leases_max: int
    warm: frozenset[str] = frozenset()  # structure hashes
    poll_id: str | None = None
    begins: bool = True  # what it gets; else that waits on the worker, until the worker says that it runs


@dataclass(frozen=True, slots=True)
class Lane:
    """What can wait in one line: rows of one lane differ in nothing that decides who may run them."""

    id: LaneId
    workflow_id: WorkflowId
    structure_hash: str
    provider: Provider
    priority: int


@dataclass(frozen=True, slots=True)
class Place:
    """Where a new dispatch stands: in which lane, and after whom."""

    lane: LaneId
    fair_tag: float
    seq: int


class Grant(Struct, frozen=True):
    """A lease, as its worker gets it. The nonce names this attempt's files: no other attempt can write them."""

    dispatch_id: DispatchId
    tenant_id: TenantId
    lane: Lane
    attempt: int
    epoch: int
    nonce: str
    token: Secret
    grace_s: float
    deadline_s: float
    payload: bytes
    traceparent: str | None = None  # of the job; the attempt has a span below it
    waited_s: float | None = None  # for this lease; None where it was granted before, and is only told again


@dataclass(frozen=True, slots=True)
class LeaseProof:
    """What every call about a lease carries."""

    dispatch_id: DispatchId
    token: Secret
    holder: Holder


class TracedAttempt(Struct, frozen=True):
    """An attempt that has just ended, as much as its span needs. `leased_s`: since its lease began."""

    dispatch_id: DispatchId
    tenant_id: TenantId
    workflow_id: WorkflowId
    traceparent: str
    epoch: int
    leased_s: float
    error_class: str | None


class Ended(Struct, frozen=True):
    """How a call that ends a lease ended. `replayed`: it had been done before, and this is the first answer."""

    dispatch_id: DispatchId
    status: DispatchStatus
    replayed: bool = False
    lane: LaneId | None = None  # where it waits again, if it does
    tenant_id: TenantId | None = None  # whose it is; told of those that failed or were given back
    attempt: TracedAttempt | None = None  # where its job has a trace
