"""Pipelines, their runs, and what the runs made. Nouns only."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal, Self

from comfyfleet.kernel.ids import CandidateId, FileId, JobId, PipelineId, RunId, TenantId, UserId, VoteId
from comfyfleet.pipelines.lifecycle import CandidateStatus, RunStatus

STEPS_MAX = 20
VARIANTS_MAX = 1000
TOP_MAX = 1000
CONCURRENCY_MAX = 1000
RUN_JOBS_PER_TENANT_MAX = 100

SeedPolicy = Literal["varied", "fixed"]
ApprovalKind = Literal["person", "all", "votes", "scorer"]
SCORERS = ("sharpness", "exposure", "unique", "sharpness+unique", "exposure+unique")


class RunJobState(StrEnum):
    """`retried`: it failed, and somebody had it tried again; it counts against nobody any more."""

    IN_FLIGHT = "in_flight"
    DONE = "done"
    FAILED = "failed"
    RETRIED = "retried"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Step:
    """`variables`: what the run must bring. `properties`: values for the effect, where `{name}` stands for a variable.

    `needs_parent`: it works on a picture of the step before it; the first step has none.
    """

    name: str
    slug: str
    effect: str
    variables: tuple[str, ...] = ()
    needs_parent: bool = False
    variants: int | None = None
    properties: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "variables": list(self.variables), "properties": dict(self.properties)}

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> Self:
        return cls(**{**said, "variables": tuple(said["variables"])})


@dataclass(frozen=True, slots=True)
class NewPipeline:
    slug: str
    name: str
    description: str
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Pipeline:
    """One version. Runs keep theirs, whatever comes after."""

    id: PipelineId
    tenant_id: TenantId
    slug: str
    version: int
    name: str
    description: str
    steps: tuple[Step, ...]
    created_by: UserId
    created_at: datetime
    archived_at: datetime | None

    @property
    def variables(self) -> tuple[str, ...]:
        """What a run of it must bring, in the order in which the steps name it."""
        return tuple(dict.fromkeys(name for step in self.steps for name in step.variables))

    @classmethod
    def from_row(cls, row: Any) -> Self:
        return cls(
            id=row.id,
            tenant_id=row.tenant_id,
            slug=row.slug,
            version=row.version,
            name=row.name,
            description=row.description,
            steps=tuple(Step.from_json(each) for each in row.steps),
            created_by=row.created_by,
            created_at=row.created_at,
            archived_at=row.archived_at,
        )


@dataclass(frozen=True, slots=True)
class Approval:
    """Who opens a gate: a person, or a rule. `after` votes, or by a `scorer`, or all at once."""

    kind: ApprovalKind = "person"
    after: int | None = None
    scorer: str | None = None

    def as_json(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True, slots=True)
class NewRun:
    pipeline_id: PipelineId
    user_id: UserId
    name: str
    variables: Mapping[str, Any]
    target_folder: str
    variants: int
    top: int
    finals: int | None = None
    concurrency: int = 1
    tokens_max: int | None = None
    jobs_max: int | None = None
    hours_max: float | None = None
    approval: Approval = field(default_factory=Approval)
    seed_policy: SeedPolicy = "varied"
    seed: int = 0
    idempotency_key: str | None = None


@dataclass(frozen=True, slots=True)
class RunStep:
    """`approved_at`: the gate behind it is open, for its best `top`."""

    position: int
    variants: int
    approved_at: datetime | None
    approved_by: str | None
    top: int | None
    made: int
    alive: int
    in_flight: int
    started: int
    failures: int
    votes: int

    @classmethod
    def from_row(cls, row: Any) -> Self:
        return cls(**{name: getattr(row, name) for name in cls.__dataclass_fields__})


@dataclass(frozen=True, slots=True)
class Run:
    id: RunId
    tenant_id: TenantId
    user_id: UserId
    pipeline_id: PipelineId
    name: str
    status: RunStatus
    status_reason: str | None
    variables: Mapping[str, Any]
    target_folder: str
    variants: int
    top: int
    finals: int | None
    concurrency: int
    tokens_max: int | None
    jobs_max: int | None
    ends_at: datetime | None
    tokens_spent: int
    jobs_started: int
    in_flight: int
    approval: Approval
    seed_policy: SeedPolicy
    seed: int
    last_turn: int
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None

    @classmethod
    def from_row(cls, row: Any) -> Self:
        said = {name: getattr(row, name) for name in cls.__dataclass_fields__}
        return cls(**{**said, "status": RunStatus(row.status), "approval": Approval(**row.approval)})


@dataclass(frozen=True, slots=True)
class Candidate:
    id: CandidateId
    tenant_id: TenantId
    run_id: RunId
    position: int
    parent_id: CandidateId | None
    job_id: JobId
    file_id: FileId
    image_index: int
    seed: int | None
    status: CandidateStatus
    is_passed: bool
    elo: float
    votes: int
    children: int
    started: int
    failures: int
    scores: Mapping[str, float] | None
    created_at: datetime
    rejected_at: datetime | None

    @classmethod
    def from_row(cls, row: Any) -> Self:
        said = {name: getattr(row, name) for name in cls.__dataclass_fields__}
        return cls(**{**said, "status": CandidateStatus(row.status)})


@dataclass(frozen=True, slots=True)
class RunJob:
    """Which place in the tree a job is to fill: `ordinal` counts what was ever begun there."""

    job_id: JobId
    run_id: RunId
    position: int
    parent_id: CandidateId | None
    ordinal: int
    seed: int | None
    tokens: int
    state: RunJobState
    error: str | None
    created_at: datetime
    ended_at: datetime | None

    @classmethod
    def from_row(cls, row: Any) -> Self:
        said = {name: getattr(row, name) for name in cls.__dataclass_fields__}
        return cls(**{**said, "state": RunJobState(row.state)})


@dataclass(frozen=True, slots=True)
class Vote:
    id: VoteId
    run_id: RunId
    position: int
    seq: int
    winner_id: CandidateId
    loser_id: CandidateId
    user_id: UserId
    created_at: datetime

    @classmethod
    def from_row(cls, row: Any) -> Self:
        return cls(**{name: getattr(row, name) for name in cls.__dataclass_fields__})
