"""The nouns of the pool. Frozen values: what is handed to subscribers and callers never changes under them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeAlias

from comfyfleet.comfy.model import Failed, FetchedFile, Graph, NodeError, OutputFile, UploadKind
from comfyfleet.pool.lifecycle import JobState
from comfyfleet.pool.profile import Profile

NodeInput: TypeAlias = tuple[str, str]  # node id, input name


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file to be put on the server that runs the job. `name` lends its ending; the rest is the content's hash."""

    source: Path | bytes
    name: str = ""
    kind: UploadKind = "image"


SCOPE = "@"  # no structure hash has it


def scoped(structure_hash: str, scope: str | None) -> str:
    return structure_hash if scope is None else f"{structure_hash}{SCOPE}{scope}"


def unscoped(key: str) -> tuple[str, str | None]:
    """The structure hash and the scope."""
    structure_hash, found, scope = key.partition(SCOPE)
    return structure_hash, scope if found else None


@dataclass(frozen=True, slots=True)
class QueuedJob:
    """What waits in the queue: all that is needed to run it, and what has been tried so far."""

    id: str
    graph: Graph
    structure_hash: str
    content_hash: str
    priority: int = 0  # the higher goes first
    metadata: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[NodeInput, InputFile] = field(default_factory=dict)
    output_node: str | None = None
    save_to: Path | None = None
    servers: frozenset[str] | None = None  # None: any
    deadline_s: float = 3600.0
    attempts_max: int = 3
    queued_at: float = 0.0
    attempts: int = 0
    returns: int = 0  # how often it was given back through nobody's fault
    failed_on: frozenset[str] = frozenset()
    refused_by: frozenset[str] = frozenset()  # they lack a node class or a weight: it is not asked of them again
    wants_memory: bool = False  # it ran out of memory before: the larger card first
    scope: str | None = None  # whose failures count for it: a tenant, say; None: everybody's

    @property
    def block_key(self) -> str:
        """By what blocks are counted, in the place of a structure hash."""
        return scoped(self.structure_hash, self.scope)

    @property
    def lane(self) -> tuple[Any, ...]:
        """Jobs of one lane may run on the same servers: a queue that asks for one of them has asked for all."""
        return (self.block_key, self.servers, self.failed_on, self.refused_by, self.wants_memory)


@dataclass(frozen=True, slots=True)
class Job:
    """A job as it stands at one moment."""

    id: str
    state: JobState
    structure_hash: str
    content_hash: str
    priority: int
    metadata: Mapping[str, Any]
    attempts: int
    attempts_max: int
    queued_at: float
    server: str | None = None
    prompt_id: str | None = None
    started_at: float | None = None
    ended_at: float | None = None
    last_failure: Failed | None = None
    waits_for: str | None = None  # in words; None: for its turn, or for nothing


@dataclass(frozen=True, slots=True)
class JobResult:
    """`outputs` are references on the server; `files` the same ones fetched, empty when nobody asked for them."""

    job: Job
    server: str
    outputs: tuple[OutputFile, ...]
    files: tuple[FetchedFile, ...]
    profile: Profile
    node_errors: tuple[NodeError, ...] = ()  # not empty: the server ran a part of the graph only


class ServerState(StrEnum):
    CONNECTING = "connecting"
    ONLINE = "online"
    RECOVERING = "recovering"  # it answers again, and the grace is not over
    OFFLINE = "offline"
    LEAVING = "leaving"


@dataclass(frozen=True, slots=True)
class ServerView:
    name: str
    provider: str
    state: ServerState
    load: int
    depth: int
    vram_total_bytes: int = 0
    version: str | None = None
    problem: str | None = None  # why it is offline or recovering


@dataclass(frozen=True, slots=True)
class PoolState:
    """Everything at one moment. A job that waits for something other than its turn says for what: `waits_for`."""

    servers: tuple[ServerView, ...]
    jobs: tuple[Job, ...]
