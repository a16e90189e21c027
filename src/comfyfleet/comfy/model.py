"""The nouns of one prompt's life on a ComfyUI server. Pure values; ComfyUI's own words where it has one."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, TypeAlias
from uuid import uuid4

Graph: TypeAlias = Mapping[str, Any]  # API format: node id -> {"class_type", "inputs", "_meta"?}


class FailureClass(StrEnum):
    """The same words as the dispatch queue's, so that a worker reports them as they are."""

    USER_INPUT = "user_input"
    WORKFLOW_INVALID = "workflow_invalid"
    EXECUTION_ERROR = "execution_error"
    OUT_OF_MEMORY = "out_of_memory"
    SERVER_FAULT = "server_fault"
    INFRA = "infra"
    INTERRUPTED = "interrupted"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Prompt:
    """One submission. The id is ours, chosen before the POST, so that an answer lost on the way can be looked for."""

    graph: Graph
    prompt_id: str
    client_id: str | None = None  # None: the connector's own, the one its socket listens with
    output_node: str | None = None  # whose files come first
    extra_data: Mapping[str, Any] = field(default_factory=dict)
    front: bool = False
    # What part of the time each node takes, in any unit. None: as nodes of their kinds usually do.
    node_weights: Mapping[str, float] | None = field(default=None, compare=False, repr=False)


def new_prompt(graph: Graph, *, output_node: str | None = None, extra_data: Mapping[str, Any] | None = None) -> Prompt:
    return Prompt(graph, prompt_id=new_prompt_id(), output_node=output_node, extra_data=extra_data or {})


def new_prompt_id() -> str:
    """Servers from 0.33 on take only a canonical lower-case UUID."""
    return str(uuid4())


@dataclass(frozen=True, slots=True)
class NodeError:
    """What validation found at one node: `input_name` is None when the fault is not one input's."""

    node: str
    class_type: str
    input_name: str | None
    type: str
    message: str
    details: str


@dataclass(frozen=True, slots=True)
class Submitted:
    """`node_errors` not empty: the server runs a part of the graph and has dropped the outputs named there."""

    prompt_id: str
    number: float
    node_errors: tuple[NodeError, ...] = ()

    @property
    def partial(self) -> bool:
        return bool(self.node_errors)


UploadKind: TypeAlias = Literal["image", "mask", "file"]
Folder: TypeAlias = Literal["input", "temp", "output"]


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """Where the server put it. The name is the server's: another file may have had ours."""

    name: str
    subfolder: str = ""
    type: str = "input"

    def as_input(self) -> str:
        """As LoadImage and its like want it."""
        path = f"{self.subfolder}/{self.name}" if self.subfolder else self.name
        return path if self.type == "input" else f"{path} [{self.type}]"


TEXT = "text"  # the `type` of an output that is words in the history and not a file on the server's disk


@dataclass(frozen=True, slots=True)
class OutputFile:
    """One thing an output node left. `text` is set when the history holds the words themselves."""

    node: str
    key: str
    filename: str
    subfolder: str = ""
    type: str = "output"
    media_type: str = "application/octet-stream"
    text: str | None = None
    index: int = 0  # its place under the node's key


@dataclass(frozen=True, slots=True)
class FetchedFile:
    """An entry of the manifest: the output, where it lies now, and what it weighs."""

    output: OutputFile
    path: Path
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Arrival:
    """A file on its way: so many bytes of it can be read at `path` by now. `of_bytes` None: nobody told how many."""

    path: Path
    bytes: int
    of_bytes: int | None


@dataclass(frozen=True, slots=True)
class Queued:
    """`position` 0 is the next to run."""

    position: int


@dataclass(frozen=True, slots=True)
class Progress:
    """`fraction` is over the whole graph, by the time that its nodes take, and never falls."""

    fraction: float
    node: str | None = None
    node_class: str | None = None
    step: float | None = None
    steps: float | None = None
    nodes_done: int = 0
    nodes_total: int = 0


@dataclass(frozen=True, slots=True)
class Preview:
    node: str | None
    media_type: str
    image: bytes


@dataclass(frozen=True, slots=True)
class Completed:
    """`response`, here and below: what the server itself said of this end, where it said something."""

    outputs: tuple[OutputFile, ...]
    node_timings_s: Mapping[str, float] = field(default_factory=dict)
    cached_nodes: frozenset[str] = frozenset()
    response: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Failed:
    failure: FailureClass
    message: str
    node: str | None = None
    node_class: str | None = None
    exception_type: str | None = None
    details: str = ""
    outputs: tuple[OutputFile, ...] = ()  # what had been finished before the error
    response: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Returned:
    """Nobody's fault: lost, interrupted by someone else, server restarted. Give it back and run it again.

    `not_found`: the server answers and does not know the prompt."""

    reason: str
    not_found: bool = field(default=False, compare=False)
    response: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Cancelled:
    """We asked for it."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A health check has decided: `action` and `reason`. `recovers`: no message told of this end."""

    action: str
    reason: str
    recovers: bool = False


Update: TypeAlias = Queued | Progress | Preview | Checked
Outcome: TypeAlias = Completed | Failed | Returned | Cancelled
OUTCOMES = (Completed, Failed, Returned, Cancelled)


@dataclass(frozen=True, slots=True)
class HistoryMessage:
    type: str
    facts: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """As the server tells it. `status` may lie (see docs/explanation/speaking-comfyui.md): read the messages."""

    prompt_id: str
    status: str | None
    completed: bool | None
    messages: tuple[HistoryMessage, ...]
    outputs: Mapping[str, Mapping[str, Any]]
    meta: Mapping[str, Any] = field(default_factory=dict)
    output_nodes: tuple[str, ...] | None = None  # those that passed validation; None: not told

    def as_response(self) -> dict[str, Any]:
        """As ComfyUI's history spells it, without the graph."""
        told = [[message.type, dict(message.facts)] for message in self.messages]
        status = {"status_str": self.status, "completed": self.completed, "messages": told}
        return {"status": status, "outputs": dict(self.outputs), "meta": dict(self.meta)}


@dataclass(frozen=True, slots=True)
class JobState:
    """`/api/jobs/{id}`: pending, in_progress, completed, failed, cancelled."""

    prompt_id: str
    status: str
    entry: HistoryEntry | None


@dataclass(frozen=True, slots=True)
class Pending:
    position: int


@dataclass(frozen=True, slots=True)
class Running:
    pass


@dataclass(frozen=True, slots=True)
class QueueState:
    """Prompt ids, those that wait in the order they will run."""

    running: tuple[str, ...]
    pending: tuple[str, ...]

    def place_of(self, prompt_id: str) -> Pending | Running | None:
        if prompt_id in self.running:
            return Running()
        return Pending(self.pending.index(prompt_id)) if prompt_id in self.pending else None


@dataclass(frozen=True, slots=True)
class Finished:
    entry: HistoryEntry


@dataclass(frozen=True, slots=True)
class Absent:
    """Neither queued nor in the history: never arrived, removed while pending, or the server has been restarted."""


Found: TypeAlias = Pending | Running | Finished | Absent


@dataclass(frozen=True, slots=True)
class Device:
    name: str
    type: str
    vram_total_bytes: int
    vram_free_bytes: int

    @property
    def gpu_bytes(self) -> int:
        """Of a processor the server tells the machine's memory: no card has it."""
        return 0 if self.type == "cpu" else self.vram_total_bytes


@dataclass(frozen=True, slots=True)
class ServerFacts:
    version: str | None
    devices: tuple[Device, ...]
    ram_total_bytes: int = 0
    ram_free_bytes: int = 0
    python_version: str | None = None
    pytorch_version: str | None = None
    os: str | None = None
    argv: tuple[str, ...] = ()

    @property
    def vram_total_bytes(self) -> int:
        """Of the primary device: the first one is where prompts run."""
        return self.devices[0].gpu_bytes if self.devices else 0
