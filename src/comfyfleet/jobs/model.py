"""Jobs: one user's request each; and the submission by which a job reaches the central queue."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Self

from comfyfleet.dispatch.model import Provider
from comfyfleet.jobs.lifecycle import JobStatus
from comfyfleet.kernel.ids import EffectId, EndpointId, FileId, JobId, RunId, TenantId, UserId, VideoId, WorkflowId
from comfyfleet.ledger.model import Tokens

FREE = Tokens(0)
ACTIVE_JOBS_MAX = 5
PRIORITY_MAX = 10


@dataclass(frozen=True, slots=True)
class JobRules:
    """What one user may have under way, and how far ahead a tenant may push its own."""

    active_jobs_max: int = ACTIVE_JOBS_MAX
    priority_max: int = PRIORITY_MAX

    def of_tenant(self, priority_max: int | None) -> "JobRules":
        """As the operator set it for this tenant, or else as the settings have it."""
        return self if priority_max is None else replace(self, priority_max=priority_max)


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
    effect_id: EffectId | None = None
    effect_slug: str | None = None
    workflow_version: int | None = None
    video_id: VideoId | None = None
    input_file_id: FileId | None = None
    properties: dict[str, Any] | None = None
    idempotency_key: str | None = None
    request_digest: str | None = None
    webhook_endpoint_id: EndpointId | None = None
    run_id: RunId | None = None
    traceparent: str | None = None  # the span of its order


@dataclass(frozen=True, slots=True)
class JobFile:
    """One that a job takes, or one that it made."""

    job_id: JobId
    file_id: FileId
    is_primary: bool


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
    effect_id: EffectId | None = None
    effect_slug: str | None = None
    workflow_version: int | None = None
    video_id: VideoId | None = None
    output_file_id: FileId | None = None
    properties: dict[str, Any] | None = None
    request_digest: str | None = None
    webhook_endpoint_id: EndpointId | None = None
    cancel_requested_at: datetime | None = None
    expired_at: datetime | None = None
    run_id: RunId | None = None

    @property
    def as_created(self) -> "Job":
        """What it was when it was made: whoever asks for it again gets the answer of then."""
        return replace(
            self,
            status=JobStatus.QUEUED,
            provider_job_id=None,
            error_message=None,
            error_class=None,
            started_at=None,
            completed_at=None,
            output_file_id=None,
            cancel_requested_at=None,
            expired_at=None,
        )

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
            effect_id=row.effect_id,
            effect_slug=row.effect_slug,
            workflow_version=row.workflow_version,
            video_id=row.video_id,
            output_file_id=row.output_file_id,
            properties=row.properties,
            request_digest=row.request_digest,
            webhook_endpoint_id=row.webhook_endpoint_id,
            cancel_requested_at=row.cancel_requested_at,
            expired_at=row.expired_at,
            run_id=row.run_id,
        )


@dataclass(frozen=True, slots=True)
class Submission:
    """A job on its way to the queue. `job_ended`: it must not be sent any more. `traceparent`: None: it has no trace
    yet, or traces are off."""

    job_id: JobId
    tenant_id: TenantId
    workflow_id: WorkflowId
    structure_hash: str
    provider: Provider
    priority: int
    expected_s: float
    run_deadline_s: float | None
    payload: dict[str, Any]
    delivers: bool
    job_ended: bool
    traceparent: str | None = None

    @classmethod
    def of(cls, new: NewJob, tenant_id: TenantId, payload: dict[str, Any]) -> Self:
        """One that was just written: as it would be read."""
        return cls(
            job_id=new.id,
            tenant_id=tenant_id,
            workflow_id=new.workflow_id,
            structure_hash=new.structure_hash,
            provider=new.provider,
            priority=new.priority,
            expected_s=new.expected_s,
            run_deadline_s=new.run_deadline_s,
            payload=payload,
            delivers=new.effect_id is not None,
            job_ended=False,
            traceparent=new.traceparent,
        )

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
            # Who orders an effect pays for a result. A job of the house's own may be there for its load alone.
            delivers=row.effect_id is not None,
            job_ended=job_ended,
            traceparent=row.traceparent,
        )
