"""Endpoints, events and deliveries; and when a delivery is tried again. Pure."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Self
from uuid import UUID

from comfyfleet.kernel.ids import DeliveryId, EndpointId, TenantId, WebhookEventId
from comfyfleet.kernel.secret import Secret
from comfyfleet.webhooks.lifecycle import DeliveryStatus

# Over about three days, as the Standard Webhooks suggest: a receiver may be away for a weekend.
PAUSES_S = (5.0, 30.0, 120.0, 600.0, 1800.0, 3600.0, 10_800.0, 21_600.0, 43_200.0, 86_400.0, 86_400.0)
ATTEMPTS_MAX = len(PAUSES_S) + 1
GONE = 410


class WebhookType(StrEnum):
    JOB_QUEUED = "job.queued"
    JOB_STARTED = "job.started"
    JOB_COMPLETED = "job.completed"
    JOB_FAILED = "job.failed"
    JOB_CANCELLED = "job.cancelled"
    RUN_WAITING_FOR_APPROVAL = "run.waiting_for_approval"
    RUN_PAUSED = "run.paused"
    RUN_COMPLETED = "run.completed"
    RUN_FAILED = "run.failed"
    TEST = "webhook.test"


@dataclass(frozen=True, slots=True)
class Endpoint:
    id: EndpointId
    tenant_id: TenantId
    url: str
    description: str
    secret: Secret
    event_types: frozenset[WebhookType] | None  # None: all kinds, those to come included
    is_active: bool
    disabled_reason: str | None
    created_at: datetime

    @classmethod
    def from_row(cls, row: Any) -> Self:
        return cls(
            id=row.id,
            tenant_id=row.tenant_id,
            url=row.url,
            description=row.description,
            secret=Secret(row.secret),
            event_types=None if row.event_types is None else frozenset(map(WebhookType, row.event_types)),
            is_active=row.is_active,
            disabled_reason=row.disabled_reason,
            created_at=row.created_at,
        )


@dataclass(frozen=True, slots=True)
class Delivery:
    id: DeliveryId
    event_id: WebhookEventId
    endpoint_id: EndpointId
    event_type: WebhookType
    status: DeliveryStatus
    attempts: int
    next_try_at: datetime | None
    response_status: int | None
    last_error: str | None
    created_at: datetime
    ended_at: datetime | None

    @classmethod
    def from_row(cls, row: Any) -> Self:
        return cls(
            id=row.id,
            event_id=row.event_id,
            endpoint_id=row.endpoint_id,
            event_type=WebhookType(row.event_type),
            status=DeliveryStatus(row.status),
            attempts=row.attempts,
            next_try_at=row.next_try_at,
            response_status=row.response_status,
            last_error=row.last_error,
            created_at=row.created_at,
            ended_at=row.ended_at,
        )


@dataclass(frozen=True, slots=True)
class Attempt:
    number: int
    response_status: int | None
    error: str | None
    duration_ms: int
    created_at: datetime

    @classmethod
    def from_row(cls, row: Any) -> Self:
        return cls(row.number, row.response_status, row.error, row.duration_ms, row.created_at)


@dataclass(frozen=True, slots=True)
class Due:
    """A delivery whose time has come, with all that sending it takes."""

    id: DeliveryId
    tenant_id: TenantId
    endpoint_id: EndpointId
    attempt: int  # the number of this one
    attempts_before: int  # those that do not count, for it was asked for again by hand
    event_id: WebhookEventId
    url: str
    secret: Secret
    payload: str
    event_type: WebhookType
    subject_id: UUID  # of what it tells: a job, a run or a candidate

    @classmethod
    def from_row(cls, row: Any) -> Self:
        return cls(
            id=row.id,
            tenant_id=row.tenant_id,
            endpoint_id=row.endpoint_id,
            attempt=row.attempts,
            attempts_before=row.attempts_before,
            event_id=row.event_id,
            url=row.url,
            secret=Secret(row.secret),
            payload=row.payload,
            event_type=WebhookType(row.event_type),
            subject_id=row.subject_id,
        )


@dataclass(frozen=True, slots=True)
class SignedMessage:
    """What is POSTed, to a tenant's endpoint or to an operators' channel. `about`: names the receiver in logs."""

    id: str
    url: str
    secret: Secret
    body: str
    about: str


@dataclass(frozen=True, slots=True)
class Sent:
    """What became of one try. `status` is None where nobody answered, and `error` says why."""

    status: int | None
    error: str | None
    duration_ms: int

    @property
    def arrived(self) -> bool:
        return self.status is not None and 200 <= self.status < 300

    @property
    def is_gone(self) -> bool:
        return self.status == GONE


def pause_s(attempt: int, *, chance: float) -> float | None:
    """Before the next try after this one; None: it was the last. Spread, so that many do not come back at once."""
    if attempt >= ATTEMPTS_MAX:
        return None
    return PAUSES_S[attempt - 1] * (0.8 + 0.4 * chance)
