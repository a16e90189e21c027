"""Who did what, to what, from where. A chained entry's mac covers the entry and the mac before it."""

import hashlib
import hmac
import json
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal, Self
from uuid import UUID

from comfyfleet.kernel.ids import DispatchId, TenantId
from comfyfleet.kernel.secret import Secret

FIRST_MAC = ""
CENTRAL_CHAIN = "central"

ActorKind = Literal["operator", "user", "worker", "cli", "payments", "upkeep"]


def tenant_chain(tenant_id: TenantId) -> str:
    """Without the pool: the chain stays itself wherever its tenant lives."""
    return f"tenant:{tenant_id}"


@dataclass(frozen=True, slots=True)
class Actor:
    """`name`: an operator's or user's email, a worker's id, or the command line's user."""

    kind: ActorKind
    name: str
    address: str | None = None


@dataclass(frozen=True, slots=True)
class Action:
    """What was done, such as "worker.revoke", and to which one."""

    name: str
    subject: str | None = None
    detail: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of a chain. `detail` is the exact text that the mac covers."""

    seq: int
    at: datetime
    actor: Actor
    action: str
    subject: str | None
    detail: str
    mac: str

    @classmethod
    def from_row(cls, row: Any) -> Self:
        actor = Actor(row.actor_kind, row.actor, row.address)
        return cls(row.seq, row.at, actor, row.action, row.subject, row.detail, row.mac)


@dataclass(frozen=True, slots=True)
class ChainSigner:
    signing_key: Secret

    def add(self, chain: str, head: Any, actor: Actor, action: Action) -> Entry:
        """The entry that comes after `head`, the row that the transaction holds."""
        entry = Entry(
            seq=int(head.seq) + 1,
            at=head.at,
            actor=actor,
            action=action.name,
            subject=action.subject,
            detail=json_text(action.detail),
            mac=FIRST_MAC,
        )
        return replace(entry, mac=self.mac(chain, entry, before=head.mac))

    def mac(self, chain: str, entry: Entry, *, before: str) -> str:
        """`chain` names the chain, so that a row of one cannot stand in another."""
        actor = entry.actor
        said = [chain, entry.seq, entry.at.isoformat(timespec="microseconds"), actor.kind, actor.name, actor.address]
        return self._sign(b"comfyfleet.audit", json.dumps([*said, entry.action, entry.subject, entry.detail, before]))

    def checkpoint_mac(self, text: str) -> str:
        return self._sign(b"comfyfleet.audit.checkpoint", text)

    def _sign(self, purpose: bytes, text: str) -> str:
        key = hmac.digest(self.signing_key.reveal().encode(), purpose, hashlib.sha256)
        return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


class WorkerEventName(StrEnum):
    """Polls that were granted and completions are not among them: `dispatch_attempts` has a row for each."""

    REGISTER = "register"
    DEREGISTER = "deregister"
    FAIL = "fail"
    REQUEUE = "requeue"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"
    ASG_CHECK_SKIPPED = "asg_check_skipped"
    BLOCKED_WORKFLOW = "client:blocked_workflow"
    UNBLOCKED_WORKFLOW = "client:unblocked_workflow"


@dataclass(frozen=True, slots=True)
class WorkerEvent:
    """What a worker did, or what became of it. Many a second, so not chained. `worker_id` is the name it goes by."""

    name: WorkerEventName
    worker_id: str | None = None
    dispatch_id: DispatchId | None = None
    tenant_id: TenantId | None = None
    address: str | None = None
    detail: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RecordedEvent:
    """A worker event as it is listed. `detail` is JSON text."""

    id: UUID
    at: datetime
    event: str
    worker_id: str | None
    dispatch_id: DispatchId | None
    tenant_id: TenantId | None
    address: str | None
    detail: str

    @classmethod
    def from_row(cls, row: Any) -> Self:
        return cls(
            id=row.id,
            at=row.at,
            event=row.event,
            worker_id=row.worker_id,
            dispatch_id=row.dispatch_id,
            tenant_id=row.tenant_id,
            address=row.address,
            detail=row.detail,
        )


def json_text(detail: dict[str, Any]) -> str:
    return json.dumps(detail, sort_keys=True, separators=(",", ":"), default=str)
