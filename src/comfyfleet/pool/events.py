"""What the pool tells. Each event is a class with its own facts and the name it has for programs.

`job:*` events carry the job as it stood then, with its metadata; `client:*` events carry the server's name.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias

from comfyfleet.comfy.model import Failed, FailureClass, Preview, Progress
from comfyfleet.pool.model import Job, JobResult, ServerState


@dataclass(frozen=True, slots=True)
class JobQueued:
    name: ClassVar[str] = "job:queued"
    job: Job
    at: float


@dataclass(frozen=True, slots=True)
class JobStarted:
    """A server has taken the prompt: `job.server`, `job.prompt_id`."""

    name: ClassVar[str] = "job:started"
    job: Job
    at: float


@dataclass(frozen=True, slots=True)
class JobProgress:
    name: ClassVar[str] = "job:progress"
    job: Job
    at: float
    progress: Progress


@dataclass(frozen=True, slots=True)
class JobPreview:
    name: ClassVar[str] = "job:preview"
    job: Job
    at: float
    preview: Preview


@dataclass(frozen=True, slots=True)
class JobCompleted:
    name: ClassVar[str] = "job:completed"
    job: Job
    at: float
    result: JobResult


@dataclass(frozen=True, slots=True)
class JobFailed:
    """For good: no attempt is left, or another would not help."""

    name: ClassVar[str] = "job:failed"
    job: Job
    at: float
    failure: Failed
    server: str


@dataclass(frozen=True, slots=True)
class JobRetrying:
    """An attempt on `server` has failed, or was given back; the job waits again."""

    name: ClassVar[str] = "job:retrying"
    job: Job
    at: float
    failure: Failed
    server: str
    delay_s: float


@dataclass(frozen=True, slots=True)
class JobCancelled:
    name: ClassVar[str] = "job:cancelled"
    job: Job
    at: float
    reason: str


@dataclass(frozen=True, slots=True)
class JobWaiting:
    """Not for its turn: no server is there that may run it. `waits_for` says what has to happen."""

    name: ClassVar[str] = "job:waiting"
    job: Job
    at: float
    waits_for: str


@dataclass(frozen=True, slots=True)
class ClientState:
    name: ClassVar[str] = "client:state"
    server: str
    at: float
    state: ServerState
    before: ServerState
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class ClientBlockedWorkflow:
    """`structure_hash` is `*` when the server as a whole is put aside. `scope`: only for jobs with this value of the
    pool's `blocks_by`; None: for all."""

    name: ClassVar[str] = "client:blocked_workflow"
    server: str
    at: float
    structure_hash: str
    until: float
    failure_count: int
    failure: FailureClass
    scope: str | None = None


@dataclass(frozen=True, slots=True)
class ClientUnblockedWorkflow:
    name: ClassVar[str] = "client:unblocked_workflow"
    server: str
    at: float
    structure_hash: str
    reason: Literal["expired", "succeeded", "removed"]
    scope: str | None = None


JobEvent: TypeAlias = (
    JobQueued
    | JobWaiting
    | JobStarted
    | JobProgress
    | JobPreview
    | JobCompleted
    | JobFailed
    | JobRetrying
    | JobCancelled
)
ClientEvent: TypeAlias = ClientState | ClientBlockedWorkflow | ClientUnblockedWorkflow
PoolEvent: TypeAlias = JobEvent | ClientEvent

LAST_EVENTS = (JobCompleted, JobFailed, JobCancelled)  # exactly one of them ends every job
EVENT_NAMES: frozenset[str] = frozenset(
    kind.name
    for kind in (
        JobQueued,
        JobWaiting,
        JobStarted,
        JobProgress,
        JobPreview,
        JobCompleted,
        JobFailed,
        JobRetrying,
        JobCancelled,
        ClientState,
        ClientBlockedWorkflow,
        ClientUnblockedWorkflow,
    )
)


def as_json(event: PoolEvent) -> dict[str, Any]:
    """For logs and sockets. Bytes of a preview are told by their number."""
    return {"event": event.name, **_plain(event)}


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(each) for each in value]
    if isinstance(value, bytes):
        return len(value)
    if isinstance(value, Enum):
        return value.value
    return str(value) if isinstance(value, Path) else value
