"""What happened to a run is written for webhooks, in the transaction that made it so."""

from datetime import UTC, datetime
from typing import Any

from comfyfleet import webhooks
from comfyfleet.db import TenantTx
from comfyfleet.kernel.ids import new_id
from comfyfleet.pipelines.lifecycle import RunStatus
from comfyfleet.pipelines.model import Run
from comfyfleet.webhooks import WebhookType

TYPES = {
    RunStatus.WAITING_FOR_APPROVAL: WebhookType.RUN_WAITING_FOR_APPROVAL,
    RunStatus.PAUSED: WebhookType.RUN_PAUSED,
    RunStatus.COMPLETED: WebhookType.RUN_COMPLETED,
    RunStatus.FAILED: WebhookType.RUN_FAILED,
}


async def tell_moved(tx: TenantTx, run: Run, *, gate: int | None = None) -> None:
    """By what it has become. A run may wait, or be paused, more than once: each time is an event of its own."""
    await webhooks.record_event(tx, TYPES[run.status], new_id(), facts_of(run, gate), at=datetime.now(UTC))


def facts_of(run: Run, gate: int | None = None) -> dict[str, Any]:
    return {
        "id": str(run.id),
        "name": run.name,
        "status": run.status.value,
        "reason": run.status_reason,
        "gate": gate,
        "user_id": str(run.user_id),
        "pipeline_id": str(run.pipeline_id),
        "jobs_started": run.jobs_started,
        "tokens_spent": run.tokens_spent,
        "created_at": run.created_at.isoformat(),
    }
