"""What is told on a job's way, from the upload to the download."""

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import msgspec


@dataclass(frozen=True, slots=True)
class Uploading:
    name: str
    sent_bytes: int
    total_bytes: int


@dataclass(frozen=True, slots=True)
class Created:
    """The job exists. Whoever keeps the id can come back to it."""

    job_id: str
    credits_cost: int


@dataclass(frozen=True, slots=True)
class StatusChanged:
    job_id: str
    status: str
    error: str | None = None


@dataclass(frozen=True, slots=True)
class InQueue:
    """`position` 1 is next. No `estimated_start_s`: no worker can run it at present; `waits_because` says why."""

    job_id: str
    position: int
    is_at_least: bool
    estimated_start_s: float | None
    waits_because: str | None = None


@dataclass(frozen=True, slots=True)
class Progressed:
    """`fraction` of the whole, 0 to 1, where the worker says it. `facts` is all that it said."""

    job_id: str
    fraction: float | None
    node: str | None
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Previewed:
    """A frame of what is being made."""

    job_id: str
    image: bytes = field(repr=False)
    mime_type: str


@dataclass(frozen=True, slots=True)
class Logged:
    job_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Missed:
    """Something was told that did not reach us. What the job is now is known all the same."""

    job_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Downloading:
    name: str
    got_bytes: int
    total_bytes: int


Event: TypeAlias = (
    Uploading | Created | StatusChanged | InQueue | Progressed | Previewed | Logged | Missed | Downloading
)

OnProgress = Callable[[Event], None]


def silent(_event: Event) -> None:
    """Nobody listens."""


def read_event(job_id: str, kind: str, text: str) -> Event | None:
    """None for what this version does not know, and for what does not make sense: neither may stop a wait."""
    try:
        said = msgspec.json.decode(text)
        return _read(job_id, kind, said if isinstance(said, dict) else {})
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError, TypeError, OverflowError):
        return None


def _read(job_id: str, kind: str, said: dict[str, Any]) -> Event | None:
    facts = said["data"] if isinstance(said.get("data"), dict) else {}
    match kind:
        case "status":
            return StatusChanged(job_id, str(said.get("status", "")), said.get("error"))
        case "queue" if "position" in said:
            is_at_least = bool(said.get("position_is_at_least"))
            because = said.get("waits_because")
            return InQueue(job_id, int(said["position"]), is_at_least, said.get("estimated_start_s"), because)
        case "progress" if facts.get("waits"):
            return None  # its worker has it, and makes another one first
        case "progress" | "node":
            return Progressed(job_id, _fraction(facts), _text(facts, "class_type", "node_class", "node"), facts)
        case "preview":
            return _preview(job_id, facts)
        case "log":
            return Logged(job_id, _text(facts, "text", "message", "line") or "")
        case "gap":
            return Missed(job_id, str(said.get("reason", "")))
        case _:
            return None


def _fraction(facts: dict[str, Any]) -> float | None:
    """Workers count in different words."""
    for part, whole in (("fraction", None), ("value", "max"), ("step", "steps"), ("nodes_done", "nodes_total")):
        done, all_of_it = facts.get(part), 1 if whole is None else facts.get(whole)
        if isinstance(done, (int, float)) and isinstance(all_of_it, (int, float)) and all_of_it > 0:
            return min(max(done / all_of_it, 0.0), 1.0)
    return None


def _text(facts: dict[str, Any], *names: str) -> str | None:
    return next((str(facts[name]) for name in names if facts.get(name) is not None), None)


def _preview(job_id: str, facts: dict[str, Any]) -> Previewed | None:
    given = _text(facts, "image", "data") or ""
    head, comma, rest = given.partition(",")
    kind = _text(facts, "mime_type", "media_type") or head.removeprefix("data:").partition(";")[0]
    try:
        image = base64.b64decode(rest if comma else given, validate=True)
    except binascii.Error:
        return None
    return Previewed(job_id, image, kind if "/" in kind else "image/jpeg") if image else None
