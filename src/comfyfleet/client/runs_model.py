"""Pipelines, their runs and what those made, as the API answers. Frozen; ids are texts."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

Scalar = str | int | float | bool

PENDING, RUNNING, WAITING, PAUSED = "pending", "running", "waiting_for_approval", "paused"
ENDED = frozenset({"completed", "failed", "stopped"})


@dataclass(frozen=True, slots=True)
class PipelineStep:
    position: int
    name: str
    slug: str
    effect: str
    variables: list[str] = field(default_factory=list)
    needs_parent: bool = False
    variants: int | None = None
    properties: dict[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """One version. `variables`: what a run of it must bring."""

    id: str
    slug: str
    version: int
    name: str
    created_at: datetime
    description: str = ""
    variables: list[str] = field(default_factory=list)
    steps: list[PipelineStep] = field(default_factory=list)
    archived_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class RunStep:
    """`top`: how many of its best go on; None: its gate is closed."""

    position: int
    name: str
    slug: str
    variants: int
    top: int | None = None
    approved_at: datetime | None = None
    approved_by: str | None = None
    made: int = 0
    alive: int = 0
    in_flight: int = 0
    failures: int = 0
    votes: int = 0


@dataclass(frozen=True, slots=True)
class Run:
    id: str
    pipeline_id: str
    pipeline: str
    pipeline_version: int
    name: str
    status: str
    created_at: datetime
    target_folder: str
    variants: int
    top: int
    status_reason: str | None = None
    variables: dict[str, Scalar] = field(default_factory=dict)
    finals: int | None = None
    concurrency: int = 1
    tokens_max: int | None = None
    jobs_max: int | None = None
    ends_at: datetime | None = None
    tokens_spent: int = 0
    jobs_started: int = 0
    in_flight: int = 0
    approval: dict[str, Any] = field(default_factory=dict)
    seed_policy: str = "varied"
    seed: int = 0
    steps: list[RunStep] = field(default_factory=list)
    started_at: datetime | None = None
    ended_at: datetime | None = None

    @property
    def has_ended(self) -> bool:
        return self.status in ENDED

    @property
    def rests(self) -> bool:
        """It does nothing more until somebody does something."""
        return self.has_ended or self.status in (WAITING, PAUSED)


@dataclass(frozen=True, slots=True)
class Candidate:
    """`name`: where it stands in exports. `scores` are a scorer's, and never part of `elo`."""

    id: str
    run_id: str
    position: int
    job_id: str
    file_id: str
    name: str
    status: str
    elo: float
    created_at: datetime
    parent_id: str | None = None
    image_index: int = 0
    url: str | None = field(default=None, repr=False)
    thumb_url: str | None = None
    seed: int | None = None
    is_passed: bool = True
    votes: int = 0
    children: int = 0
    failures: int = 0
    scores: dict[str, float] | None = None


@dataclass(frozen=True, slots=True)
class Making:
    """The exact graph and seed that made a candidate."""

    candidate_id: str
    job_id: str
    effect: str | None = None
    workflow_version: int | None = None
    seed: int | None = None
    properties: dict[str, Any] = field(default_factory=dict)
    graph: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class RunJob:
    """The place in the tree that a job was to fill, and what became of it."""

    job_id: str
    position: int
    state: str
    created_at: datetime
    parent_id: str | None = None
    ordinal: int = 0
    seed: int | None = None
    error: str | None = None
    ended_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Vote:
    id: str
    run_id: str
    position: int
    seq: int
    winner_id: str
    loser_id: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Applied:
    """`is_new`: it differs from the version before it."""

    pipeline: Pipeline
    is_new: bool


@dataclass(frozen=True, slots=True)
class Rejected:
    """`gone`: how many went, itself included."""

    candidate: Candidate
    gone: int


@dataclass(frozen=True, slots=True)
class Pair:
    """Two to compare; none where there are not two."""

    pair: list[Candidate]


@dataclass(frozen=True, slots=True)
class Retried:
    job_id: str


@dataclass(frozen=True, slots=True)
class PipelineRows:
    pipelines: list[Pipeline]
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True)
class RunRows:
    runs: list[Run]
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True)
class CandidateRows:
    candidates: list[Candidate]
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True)
class RunJobRows:
    jobs: list[RunJob]
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True)
class VoteRows:
    votes: list[Vote]
    next_cursor: str | None = None
