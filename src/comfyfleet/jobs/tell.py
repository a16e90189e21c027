"""What happened to a job is written for webhooks, in the transaction that made it so."""

from datetime import UTC, datetime
from typing import Any

from comfyfleet import webhooks
from comfyfleet.db import TenantTx
from comfyfleet.jobs.lifecycle import JobStatus
from comfyfleet.jobs.model import Job
from comfyfleet.webhooks import WebhookType

TYPES = {
    JobStatus.PROCESSING: WebhookType.JOB_STARTED,
    JobStatus.COMPLETED: WebhookType.JOB_COMPLETED,
    JobStatus.FAILED: WebhookType.JOB_FAILED,
    JobStatus.CANCELLED: WebhookType.JOB_CANCELLED,
}


async def tell_queued(tx: TenantTx, job: Job) -> None:
    await _tell(tx, WebhookType.JOB_QUEUED, job)


async def tell_moved(tx: TenantTx, job: Job) -> None:
    """By what it has become."""
    await _tell(tx, TYPES[job.status], job)


async def _tell(tx: TenantTx, event_type: WebhookType, job: Job) -> None:
    also = [job.webhook_endpoint_id] if job.webhook_endpoint_id is not None else []
    at = job.completed_at or job.started_at or job.created_at
    await webhooks.record_event(tx, event_type, job.id, facts_of(job), at=at.astimezone(UTC), also_to=also)


def facts_of(job: Job) -> dict[str, Any]:
    """No URLs: they would have expired by the time somebody reads them."""
    return {
        "id": str(job.id),
        "status": job.status.value,
        "user_id": str(job.user_id),
        "effect": job.effect_slug,
        "video_id": _text(job.video_id),
        "retry_of": _text(job.retry_of),
        "error": job.error_message,
        "output_file_id": _text(job.output_file_id),
        "created_at": _time(job.created_at),
        "started_at": _time(job.started_at),
        "completed_at": _time(job.completed_at),
    }


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _time(value: datetime | None) -> str | None:
    return None if value is None else value.isoformat()
