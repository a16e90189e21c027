"""Alerts, channels and notifications; and when a notification is sent again. Pure."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit

from comfyfleet.kernel.ids import AlertId, ChannelId, NotificationId
from comfyfleet.kernel.secret import Secret
from comfyfleet.notifications.conditions import CONDITIONS, AlertCondition, Severity
from comfyfleet.notifications.lifecycle import AlertState
from comfyfleet.webhooks.lifecycle import DeliveryStatus

# About eight hours: what is older than a night is in the log, and a reminder follows while the alert fires.
PAUSES_S = (5.0, 15.0, 60.0, 300.0, 900.0, 1800.0, 3600.0, 7200.0, 14_400.0)
ATTEMPTS_MAX = len(PAUSES_S) + 1


class AlertKey(NamedTuple):
    """`subject`: empty for a condition of the whole installation."""

    condition: str
    subject: str


@dataclass(frozen=True, slots=True)
class AlertReading:
    """A condition holds. `text` says what was read, with the value and the limit."""

    condition: str
    text: str
    subject: str = ""

    @property
    def key(self) -> AlertKey:
        return AlertKey(self.condition, self.subject)


@dataclass(frozen=True, slots=True)
class AlertReadings:
    """What one evaluation read. `known`: conditions that could be read; of others nothing ends."""

    holding: Mapping[AlertKey, AlertReading]
    known: Collection[str]

    @classmethod
    def of(cls, readings: Collection[AlertReading], *, known: Collection[str]) -> Self:
        return cls({each.key: each for each in readings}, frozenset(known))


@dataclass(frozen=True, slots=True)
class AlertTimes:
    """`for_s`, `resolve_s`: instead of each condition's own. `reminder_s`: 0 for no reminders. `gap_s`: after a longer
    time without an evaluation nothing is known of what was in between, and waiting starts anew."""

    for_s: float | None = None
    resolve_s: float | None = None
    reminder_s: float = 14_400.0
    gap_s: float = 300.0

    def fire_after_s(self, condition: AlertCondition) -> float:
        return condition.for_s if self.for_s is None else self.for_s

    def resolve_after_s(self, condition: AlertCondition) -> float:
        return condition.resolve_s if self.resolve_s is None else self.resolve_s


@dataclass(frozen=True, slots=True)
class Alert:
    """`id`: of this episode; one that begins again has another. `clear_since`: it fires, and its condition has not held
    since. `generation`: each write counts it up."""

    id: AlertId
    condition: str
    subject: str
    state: AlertState
    text: str
    began_at: datetime
    changed_at: datetime
    seen_at: datetime
    clear_since: datetime | None
    reminded_at: datetime | None
    generation: int

    @classmethod
    def from_row(cls, row: Any) -> Self:
        same = {name: getattr(row, name) for name in cls.__slots__ if name != "state"}
        return cls(**same, state=AlertState(row.state))

    @property
    def key(self) -> AlertKey:
        return AlertKey(self.condition, self.subject)

    @property
    def about(self) -> AlertCondition:
        """One that a newer version wrote, and this one does not know, is a ticket."""
        return CONDITIONS.get(self.condition) or AlertCondition(self.condition, Severity.TICKET, 0.0, self.condition)


class NotificationKind(StrEnum):
    FIRING = "firing"
    REMINDER = "reminder"
    RESOLVED = "resolved"
    TEST = "test"


class ChannelKind(StrEnum):
    WEBHOOK = "webhook"
    MAIL = "mail"


@dataclass(frozen=True, slots=True)
class Channel:
    """Where notifications go. `target`: a URL, or mail addresses with commas. `secret`: signs webhooks."""

    id: ChannelId
    name: str
    kind: ChannelKind
    target: str = field(repr=False)
    secret: Secret | None
    only_pages: bool
    is_active: bool
    disabled_reason: str | None
    created_at: datetime

    @classmethod
    def from_row(cls, row: Any) -> Self:
        return cls(
            id=row.id,
            name=row.name,
            kind=ChannelKind(row.kind),
            target=row.target,
            secret=Secret(row.secret) if row.secret is not None else None,
            only_pages=row.only_pages,
            is_active=row.is_active,
            disabled_reason=row.disabled_reason,
            created_at=row.created_at,
        )

    @property
    def shown_target(self) -> str:
        """Of a webhook the host alone: the path of a chat's URL is a secret."""
        if self.kind is ChannelKind.MAIL:
            return self.target
        parts = urlsplit(self.target)
        return f"{parts.scheme}://{parts.netloc}{'/…' if parts.path.strip('/') or parts.query else ''}"

    def wants(self, severity: Severity) -> bool:
        return self.is_active and (severity is Severity.PAGE or not self.only_pages)


@dataclass(frozen=True, slots=True)
class Notification:
    """A row of the log: what was sent where, and what became of it. Its id is the message's."""

    id: NotificationId
    channel_id: ChannelId
    channel: str
    channel_kind: ChannelKind
    kind: NotificationKind
    condition: str
    subject: str
    status: DeliveryStatus
    attempts: int
    next_try_at: datetime | None
    response_status: int | None
    last_error: str | None
    created_at: datetime
    ended_at: datetime | None

    @classmethod
    def from_row(cls, row: Any) -> Self:
        words = ("channel_kind", "kind", "status")
        return cls(
            channel_kind=ChannelKind(row.channel_kind),
            kind=NotificationKind(row.kind),
            status=DeliveryStatus(row.status),
            **{name: getattr(row, name) for name in cls.__slots__ if name not in words},
        )


@dataclass(frozen=True, slots=True)
class DueNotification:
    """One whose time has come, with all that sending it takes. `attempt`: the number of this one."""

    id: NotificationId
    channel_id: ChannelId
    channel_kind: ChannelKind
    target: str = field(repr=False)
    secret: Secret | None
    payload: str
    attempt: int

    @classmethod
    def from_row(cls, row: Any) -> Self:
        return cls(
            id=row.id,
            channel_id=row.channel_id,
            channel_kind=ChannelKind(row.kind),
            target=row.target,
            secret=Secret(row.secret) if row.secret is not None else None,
            payload=row.payload,
            attempt=row.attempts,
        )


@dataclass(frozen=True, slots=True)
class ReplicaReport:
    """What one replica says of itself. `loops`: name to how long ago each last succeeded, and its interval. `disks`:
    place to free and total bytes."""

    replica: str
    reported_ago_s: float
    loops: Mapping[str, tuple[float, float]]
    disks: Mapping[str, tuple[int, int]]


def pause_s(attempt: int, *, chance: float) -> float | None:
    """Before the try after this one; None: it was the last."""
    if attempt >= ATTEMPTS_MAX:
        return None
    return PAUSES_S[attempt - 1] * (0.8 + 0.4 * chance)
