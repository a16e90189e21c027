"""What the API answers, as frozen nouns. Fields that a newer server adds are ignored; ids are texts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Generic, TypeVar

T = TypeVar("T")

QUEUED, PROCESSING, COMPLETED, FAILED, CANCELLED = "queued", "processing", "completed", "failed", "cancelled"
OVER = frozenset({COMPLETED, FAILED, CANCELLED})


def stage_of(status: str) -> int:
    """A job goes through these in order, and none comes twice. A status of a newer server is one under way."""
    return -1 if not status else 0 if status == QUEUED else 2 if status in OVER else 1


@dataclass(frozen=True, slots=True)
class Output:
    """`url` is signed and expires; saving an output asks for a fresh one. `sha256` where the server knows it.
    `metadata`: which attempt made it, and which node."""

    file_id: str
    name: str
    mime_type: str
    size: int
    is_primary: bool = False
    url: str | None = field(default=None, repr=False)  # whoever reads it in a log could use it
    sha256: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Job:
    """`credits_cost` was set aside when it was made; it comes back unless the job completes."""

    id: str
    status: str
    created_at: datetime
    effect: str | None = None
    effect_id: str | None = None
    video_id: str | None = None
    workflow_version: int | None = None
    properties: dict[str, Any] = field(default_factory=dict)
    priority: int = 0
    credits_cost: int = 0
    retry_of: str | None = None
    cancel_requested: bool = False
    error: str | None = None
    outputs: list[Output] = field(default_factory=list)
    started_at: datetime | None = None
    completed_at: datetime | None = None

    @property
    def is_over(self) -> bool:
        return self.status in OVER

    @property
    def primary(self) -> Output | None:
        """The result; the others came with it."""
        return next((each for each in self.outputs if each.is_primary), self.outputs[0] if self.outputs else None)


@dataclass(frozen=True, slots=True)
class EffectProperty:
    """What a user may set. `image` and `video` take the id of a file; `seed` a number or `"random"`."""

    name: str
    type: str
    label: str = ""
    description: str = ""
    default: str | int | float | bool | None = None
    required: bool = False
    minimum: float | None = None
    maximum: float | None = None
    step: float | None = None
    choices: list[str | int | float | bool] | None = None
    multiline: bool = False
    is_primary_input: bool = False


@dataclass(frozen=True, slots=True)
class Effect:
    """`unavailable_because`: why no order of it is taken now. `waits_because`: why its job does not start soon;
    `starts_worker`: a machine is started for it."""

    id: str
    slug: str
    name: str
    description: str = ""
    credits_cost: int = 0
    estimated_seconds: float = 0.0
    unavailable_because: str | None = None
    properties: list[EffectProperty] = field(default_factory=list)
    preview_url: str | None = field(default=None, repr=False)
    preview_mime_type: str | None = None
    waits_because: str | None = None
    starts_worker: bool = False

    @property
    def why_not_now(self) -> str | None:
        """Why it is no use to order it now; None: it can be run, if need be on a machine that starts first."""
        return self.unavailable_because or (None if self.starts_worker else self.waits_because)

    @property
    def primary_input(self) -> EffectProperty | None:
        return next((each for each in self.properties if each.is_primary_input), None)


@dataclass(frozen=True, slots=True)
class Video:
    """A picture or a film that was uploaded, and what became of it."""

    id: str
    title: str
    status: str
    created_at: datetime
    job_id: str | None = None
    mime_type: str | None = None
    width: int | None = None
    height: int | None = None
    duration_seconds: float | None = None
    original_file_id: str | None = None
    processed_file_id: str | None = None
    error: str | None = None
    processing_details: dict[str, Any] | None = None  # of a completed one: duration_seconds, worker, outputs


@dataclass(frozen=True, slots=True)
class File:
    id: str
    name: str
    mime_type: str
    size: int
    status: str


@dataclass(frozen=True, slots=True)
class Wallet:
    """What can be spent now: reservations of running jobs are already taken off."""

    user_id: str
    balance: int


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """`next_cursor` asks for the page after it; None: this is the last."""

    rows: Sequence[T]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class SavedOutput:
    """A file that is there whole: its size is the announced one, its hash that of the bytes that came."""

    output: Output
    path: Path
    sha256: str


@dataclass(frozen=True, slots=True)
class SignedRequest:
    """To be sent as it stands; whoever has the URL may use it."""

    method: str
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Upload:
    requests: list[SignedRequest]
    part_size: int | None = None


@dataclass(frozen=True, slots=True)
class Announced:
    file: File
    upload: Upload


@dataclass(frozen=True, slots=True)
class Stored:
    file: File
    download: SignedRequest | None = None


@dataclass(frozen=True, slots=True)
class JobRows:
    jobs: list[Job]
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True)
class EffectRows:
    effects: list[Effect]
    next_cursor: str | None = None
