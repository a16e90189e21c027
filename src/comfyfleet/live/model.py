"""What is told while a job runs, and how far a reader has come."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Self
from uuid import UUID

from comfyfleet.jobs.lifecycle import JOB, JobStatus
from comfyfleet.kernel.ids import JobId, TenantId, UserId

PREVIEW = "preview"
LOG = "log"
PROGRESS, NODE = "progress", "node"
STANDING = frozenset({PROGRESS, NODE})
WALLET = "wallet"
# Topics that belong to no job: something was done by operators; something of what users may order; somebody's wallet or
# a tenant's users changed; a fleet's scaling was decided anew. Whoever listens is told to look again, and no more.
ACTIONS, OFFERS, PEOPLE, SCALING = (UUID(int=number) for number in range(4))
READ_HERE = frozenset({ACTIONS})  # each process finds these in the database
# A job is seldom heard of by more than two or three processes.
ORIGINS_MAX = 16
CURSOR_CHARS_MAX = 500
NUMBER_DIGITS_MAX = 18
UNTOLD = -1


@dataclass(frozen=True, slots=True)
class Event:
    """One report of a worker, as the process that it was sent to numbered it.

    Numbers rise by process, not by job. `before`: the number of the one before it of the same job at the same process,
    previews not counted; whoever has not seen that one has missed something.
    """

    topic: UUID
    origin: str
    number: int
    before: int
    kind: str
    data: bytes  # JSON
    at: float  # seconds since 1970, by the clock of its origin

    @property
    def is_preview(self) -> bool:
        return self.kind == PREVIEW


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a running job is, as its worker last said. `fraction` is of the whole job; `waits`: its worker makes
    another one first."""

    fraction: float | None
    node: str | None
    node_class: str | None
    waits: bool
    at: datetime


@dataclass(frozen=True, slots=True)
class Waiting:
    """`ahead`: how many of its lane are leased before it; with `ahead_is_more`, at least so many.

    `estimated_start_s` is none where no worker could run it now; `because` says why. At `deadline_at` it fails if it
    still waits.
    """

    ahead: int
    ahead_is_more: bool
    estimated_start_s: float | None
    because: str | None = None
    deadline_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class JobState:
    """A job as the databases know it."""

    job_id: JobId
    status: JobStatus
    error_message: str | None
    error_class: str | None
    created_at: datetime
    started_at: datetime | None
    completed_at: datetime | None
    read_at: datetime
    waiting: Waiting | None = None

    @property
    def is_over(self) -> bool:
        return self.status in JOB.terminal

    @property
    def stage(self) -> int:
        return stage_of(self.status)

    def told(self) -> dict[str, Any]:
        return {
            "job_id": str(self.job_id),
            "status": self.status.value,
            "error": self.error_message,
            "error_class": self.error_class,
            "created_at": self.created_at,
            "started_at": self.started_at,
            "completed_at": self.completed_at,
        }


def stage_of(status: JobStatus) -> int:
    """A job goes through these in order, and none comes twice."""
    return 2 if status in JOB.terminal else 1 if status is JobStatus.PROCESSING else 0


STAGE_OVER = 2


@dataclass(frozen=True, slots=True)
class Followed:
    """A job that its owner watches."""

    job_id: JobId
    tenant_id: TenantId
    user_id: UserId
    pool: str


@dataclass(slots=True)
class Cursor:
    """How far a reader has come: the last stage it was told, and the last number of each process.

    It is the id of every event that is sent. Any replica can go on from it, as none of them has to know what another
    one sent.
    """

    stage: int = UNTOLD
    seen: dict[str, int] = field(default_factory=dict)
    _previews: dict[str, int] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str | None) -> Self | None:
        """None for anything that this did not write: such a reader starts anew."""
        if not text or len(text) > CURSOR_CHARS_MAX or not text.isascii():
            return None
        stage, *parts = text.split("_")
        if stage not in ("-1", "0", "1", "2") or len(parts) > ORIGINS_MAX:
            return None
        seen: dict[str, int] = {}
        for part in parts:
            origin, _, number = part.partition(".")
            if not origin.isalnum() or not number.isdecimal() or len(number) > NUMBER_DIGITS_MAX:
                return None
            seen[origin] = int(number)
        return cls(int(stage), seen)

    def __str__(self) -> str:
        return "_".join([str(self.stage), *(f"{origin}.{number}" for origin, number in self.seen.items())])

    def admits(self, event: Event) -> bool:
        """Is it new to this reader?"""
        known = self._previews if event.is_preview else self.seen
        return event.number > known.get(event.origin, 0)

    def misses(self, event: Event) -> bool:
        """Did something come between what this reader has seen and this one?"""
        return not event.is_preview and event.before > self.seen.get(event.origin, event.before)

    def pass_by(self, event: Event) -> None:
        known = self._previews if event.is_preview else self.seen
        known.pop(event.origin, None)  # the latest stands last
        known[event.origin] = event.number
        while len(known) > ORIGINS_MAX:
            del known[next(iter(known))]


@dataclass(frozen=True, slots=True)
class Told:
    """What goes to a browser: `data` is JSON text in one line."""

    event: str
    data: str
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Replica:
    """A process of the control plane, for as long as it lives; and where the others reach it."""

    id: UUID
    url: str

    @property
    def origin(self) -> str:
        """Its name in cursors: the end of the id, which is the random part."""
        return self.id.hex[-12:]
