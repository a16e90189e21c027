"""Jobs: one user's request each; and the submission by which a job reaches the central queue."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from comfyfleet.dispatch.model import Provider
from comfyfleet.jobs.lifecycle import JobStatus
from comfyfleet.kernel.ids import JobId, TenantId, UserId, WorkflowId
from comfyfleet.ledger.model import Tokens

FREE = Tokens(0)


@dataclass(frozen=True, slots=True)
class NewJob:
    """`payload` is what the worker gets: at least the graph, as `workflow`."""

    id: JobId
    user_id: UserId
    workflow_id: WorkflowId
    structure_hash: str
    provider: Provider
    payload: dict[str, Any]
    priority: int = 0
    reserved_tokens: Tokens = FREE
    expected_s: float = 1.0
    run_deadline_s: float | None = None
    retry_of: JobId | None = None


@dataclass(frozen=True, slots=True)
class Job:
    id: JobId
    tenant_id: TenantId
    user_id: UserId
    workflow_id: WorkflowId
    provider: Provider
    status: JobStatus
    priority: int
    reserved_tokens: Tokens
    retry_of: JobId | None
    provider_job_id: str | None
    error_message: str | None
    error_class: str | None
    created_at: datetime
    started_at: datetime | None
    completed_at: datetime | None

    @classmethod
    def from_row(cls, row: Any) -> Self:
        return cls(
            id=row.id,
            tenant_id=row.tenant_id,
            user_id=row.user_id,
            workflow_id=row.workflow_id,
            provider=Provider(row.provider),
            status=JobStatus(row.status),
            priority=row.priority,
            reserved_tokens=row.reserved_tokens,
            retry_of=row.retry_of,
            provider_job_id=row.provider_job_id,
            error_message=row.error_message,
            error_class=row.error_class,
            created_at=row.created_at,
            started_at=row.started_at,
            completed_at=row.completed_at,
        )


@dataclass(frozen=True, slots=True)
class Submission:
    """A job on its way to the queue. `job_ended`: it must not be sent any more."""

    job_id: JobId
    tenant_id: TenantId
    workflow_id: WorkflowId
    structure_hash: str
    provider: Provider
    priority: int
    expected_s: float
    run_deadline_s: float | None
    payload: dict[str, Any]
    job_ended: bool

    @classmethod
    def from_row(cls, row: Any, *, job_ended: bool) -> Self:
        return cls(
            job_id=row.id,
            tenant_id=row.tenant_id,
            workflow_id=row.workflow_id,
            structure_hash=row.structure_hash,
            provider=Provider(row.provider),
            priority=row.priority,
            expected_s=row.expected_s,
            run_deadline_s=row.run_deadline_s,
            payload=row.payload,
            job_ended=job_ended,
        )
