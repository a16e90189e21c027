"""Answers that more than one of the operator's routers gives."""

from datetime import datetime

from comfyfleet.api.bodies import View
from comfyfleet.dispatch import DispatchStatus, FailureClass, Provider
from comfyfleet.kernel.ids import DispatchId, TenantId


class DispatchView(View):
    id: DispatchId
    status: DispatchStatus
    tenant_id: TenantId
    tenant: str | None
    workflow: str | None
    structure_hash: str
    provider: Provider
    priority: int
    attempts: int
    max_attempts: int
    releases: int
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
    trace_id: str | None


class AttemptView(View):
    """`reason`: how it ended; none while it runs. `service_reason`: what the server did, within it. `has_result`: the
    server's own response is kept."""

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


class BlockView(View):
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


class AssignmentView(View):
    """Workers get this workflow when both are active, and they have what it needs.

    `why_not`: what keeps its jobs away; of a fleet only what holds for all of its workers.
    """

    workflow: str
    source: str
    is_active: bool
    workflow_is_active: bool
    routed: bool
    why_not: list[str]
