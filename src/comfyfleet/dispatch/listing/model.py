"""What operators see of the queue: with names where the queue itself has ids only."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from comfyfleet.dispatch.failures import FailureClass
from comfyfleet.dispatch.lifecycle import DispatchStatus
from comfyfleet.dispatch.model import Provider
from comfyfleet.kernel.ids import DispatchId, LaneId, TenantId, WorkerId, WorkflowId
from comfyfleet.kernel.traceparent import trace_id_of


@dataclass(frozen=True, slots=True)
class DispatchFilter:
    status: DispatchStatus | None = None
    workflow_id: WorkflowId | None = None
    tenant_id: TenantId | None = None
    worker_id: WorkerId | None = None


@dataclass(frozen=True, slots=True)
class ListedDispatch:
    id: DispatchId
    status: DispatchStatus
    tenant_id: TenantId
    tenant: str | None
    workflow: str | None
    lane: LaneId
    structure_hash: str
    provider: Provider
    priority: int
    attempts: int
    max_attempts: int
    releases: int
    epoch: int
    worker: str | None
    queued_at: datetime
    queue_deadline_at: datetime
    run_at: datetime | None
    lease_expires_at: datetime | None
    deadline_at: datetime | None
    cancel_requested_at: datetime | None
    provider_job_id: str | None
    service_status: str | None
    service_submitted_at: datetime | None
    last_service_check: datetime | None
    error_class: FailureClass | None
    last_error: str | None
    duration_seconds: float | None
    finished_at: datetime | None
    settled_at: datetime | None
    trace_id: str | None = None  # where spans of it are recorded

    @classmethod
    def from_row(cls, row: Any) -> Self:
        given = dict(row._mapping)
        words = {
            "trace_id": trace_id_of(given.pop("traceparent")),
            "status": DispatchStatus(row.status),
            "provider": Provider(row.provider),
            "error_class": FailureClass(row.error_class) if row.error_class else None,
            "duration_seconds": None if row.duration_seconds is None else round(row.duration_seconds, 3),
        }
        return cls(**{**given, **words})


@dataclass(frozen=True, slots=True)
class Attempt:
    """One lease that was granted. `confirmed_at`: its worker's first heartbeat. `has_result`: its server's own
    response is kept."""

    dispatch_id: DispatchId
    epoch: int
    worker: str | None
    incarnation: int
    granted_at: datetime
    confirmed_at: datetime | None
    ended_at: datetime | None
    reason: str | None
    provider_job_id: str | None
    service_reason: str | None
    has_result: bool

    @classmethod
    def from_row(cls, row: Any) -> Self:
        return cls(**{**row._mapping, "has_result": bool(row.has_result)})


@dataclass(frozen=True, slots=True)
class DispatchDetail:
    """`waits_because`: why nobody takes it; none while it only waits its turn."""

    dispatch: ListedDispatch
    waits_because: str | None
    attempts: list[Attempt]


@dataclass(frozen=True, slots=True)
class ListedBlock:
    """`workflow`: one that has the structure. `tenant_id`: only this tenant's jobs are kept away.

    `half_open`: the next one is a probe.
    """

    worker: str | None
    structure_hash: str
    workflow: str | None
    tenant_id: TenantId | None
    tenant: str | None
    failure_count: int
    cooldown_s: float
    blocked_until: datetime
    half_open: bool
    probe_dispatch_id: DispatchId | None
    created_at: datetime

    @classmethod
    def from_row(cls, row: Any) -> Self:
        return cls(
            worker=row.worker,
            structure_hash=row.structure_hash,
            workflow=row.workflow,
            tenant_id=row.tenant_id,
            tenant=row.tenant,
            failure_count=row.failure_count,
            cooldown_s=row.cooldown_s,
            blocked_until=row.blocked_until,
            half_open=bool(row.half_open),
            probe_dispatch_id=row.probe_dispatch_id,
            created_at=row.created_at,
        )
