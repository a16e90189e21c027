"""Who did what, to what, from where. A chained entry's mac covers the entry and the mac before it."""

import hashlib
import hmac
import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from comfyfleet.kernel.secret import Secret

FIRST_MAC = ""

ActorKind = Literal["operator", "user", "worker", "cli", "payments", "upkeep"]


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

    def detail_text(self) -> str:
        return json.dumps(self.detail, sort_keys=True, separators=(",", ":"), default=str)


@dataclass(frozen=True, slots=True)
class ChainSigner:
    signing_key: Secret

    def mac(self, chain: str, *, seq: int, at: datetime, actor: Actor, action: Action, before: str) -> str:
        """`chain` names the chain, so that a row of one cannot stand in another."""
        said = [chain, seq, at.isoformat(timespec="microseconds"), actor.kind, actor.name, actor.address]
        text = json.dumps([*said, action.name, action.subject, action.detail_text(), before])
        key = hmac.digest(self.signing_key.reveal().encode(), b"comfyfleet.audit", hashlib.sha256)
        return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
