"""What a ComfyUI says over its WebSocket: one noun for each kind of message. Fields keep the wire's names."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Status:
    """Sent to every socket. `queue_remaining` counts pending and running prompts of the whole server."""

    queue_remaining: int | None
    sid: str | None = None  # only in the first message of a connection


@dataclass(frozen=True, slots=True)
class ExecutionStart:
    prompt_id: str
    timestamp: int | None = None


@dataclass(frozen=True, slots=True)
class ExecutionCached:
    prompt_id: str
    nodes: tuple[str, ...] = ()
    timestamp: int | None = None


@dataclass(frozen=True, slots=True)
class Executing:
    """`node` None: the prompt has ended and its history is written. `prompt_id` None: said on connecting."""

    node: str | None = None
    prompt_id: str | None = None
    display_node: str | None = None


@dataclass(frozen=True, slots=True)
class ProgressStep:
    """ComfyUI's `progress`."""

    value: float
    max: float
    prompt_id: str | None = None
    node: str | None = None


@dataclass(frozen=True, slots=True)
class NodeState:
    value: float = 0.0
    max: float = 1.0
    state: str = "pending"  # pending, running, finished, error


@dataclass(frozen=True, slots=True)
class ProgressState:
    prompt_id: str
    nodes: Mapping[str, NodeState]


@dataclass(frozen=True, slots=True)
class Executed:
    """A node with something to show has ended. For a cached node `output` names the old files."""

    prompt_id: str
    node: str
    output: Mapping[str, Any] | None = None
    display_node: str | None = None


@dataclass(frozen=True, slots=True)
class ExecutionSuccess:
    """Sent before the history is written."""

    prompt_id: str
    timestamp: int | None = None


@dataclass(frozen=True, slots=True)
class ExecutionError:
    prompt_id: str
    node_id: str | None = None
    node_type: str | None = None
    exception_message: str = ""
    exception_type: str = ""
    traceback: tuple[str, ...] = ()
    executed: tuple[str, ...] = ()
    timestamp: int | None = None


@dataclass(frozen=True, slots=True)
class ExecutionInterrupted:
    prompt_id: str
    node_id: str | None = None
    node_type: str | None = None
    executed: tuple[str, ...] = ()
    timestamp: int | None = None


@dataclass(frozen=True, slots=True)
class FeatureFlags:
    """The server's answer to ours."""

    flags: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class LogEntry:
    t: str
    m: str


@dataclass(frozen=True, slots=True)
class Logs:
    entries: tuple[LogEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class AssetsSeed:
    """The server looks through its folders. `step` is started, paused, resumed, fast_complete …"""

    step: str
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PreviewImage:
    """Binary type 1 (no more than a picture) or 4 (with the prompt and the node it belongs to)."""

    media_type: str
    image: bytes = field(repr=False)
    prompt_id: str | None = None
    node: str | None = None


@dataclass(frozen=True, slots=True)
class NodeText:
    """Binary type 3."""

    node: str
    text: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """A custom node's message, a newer server's, or garbage: `problem` says what did not fit."""

    type: str | None
    problem: str | None = None
    frame: bytes = b""


Message: TypeAlias = (
    Status
    | ExecutionStart
    | ExecutionCached
    | Executing
    | ProgressStep
    | ProgressState
    | Executed
    | ExecutionSuccess
    | ExecutionError
    | ExecutionInterrupted
    | FeatureFlags
    | Logs
    | AssetsSeed
    | PreviewImage
    | NodeText
    | Unknown
)


@dataclass(frozen=True, slots=True)
class Reconnected:
    """Our own word: messages may have been missed. Look at the queue and the history."""


@dataclass(frozen=True, slots=True)
class Disconnected:
    """Our own word: nothing will be heard until `Reconnected`."""

    problem: str = ""


Heard: TypeAlias = Message | Reconnected | Disconnected


def prompt_of(message: Message) -> str | None:
    """Whose message it is; None: of no one prompt, or of whichever runs now."""
    return getattr(message, "prompt_id", None)
