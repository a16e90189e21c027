"""What happened in the control plane, for whoever counts. Noted after a commit, by the process that did it.

`control_plane.py` says which metrics follow from each. Ids, not names: names are read when Prometheus asks.
"""

from collections.abc import Callable
from typing import TypeAlias
from uuid import UUID

from msgspec import Struct


class LeaseTaken(Struct, frozen=True):
    """A poll was answered with a job, `waited_s` after it came."""

    fleet_id: UUID | None
    waited_s: float


class LeasesEnded(Struct, frozen=True):
    """`event`: returned by their worker, expired, or refused because they were lost before."""

    event: str
    count: int = 1


class AttemptEnded(Struct, frozen=True):
    """`reason`: completed, requeued, or the failure class."""

    fleet_id: UUID | None
    reason: str


class JobSettled(Struct, frozen=True):
    """A job is over and paid for, or refunded. `outcome`: completed, cancelled, or the failure class."""

    job_id: UUID
    tenant_id: UUID
    workflow_id: UUID
    outcome: str
    total_s: float
    wait_s: float | None = None
    run_s: float | None = None


class LoopTicked(Struct, frozen=True):
    loop: str
    failed: bool
    at_s: float  # of the process's own clock, as Prometheus reads it
    every_s: float


class WebhookSent(Struct, frozen=True):
    """`late_s`: since the event, for the first delivery that arrived."""

    arrived: bool
    late_s: float | None


class WorkerCalled(Struct, frozen=True):
    """A call of the worker protocol was answered."""

    call: str
    status: int
    took_s: float


class ApiCalled(Struct, frozen=True):
    """Any other request. `took_s`: until the answer began, for some answers are streams."""

    surface: str
    status: int
    took_s: float


Fact: TypeAlias = (
    LeaseTaken | LeasesEnded | AttemptEnded | JobSettled | LoopTicked | WebhookSent | WorkerCalled | ApiCalled
)
NoteFact: TypeAlias = Callable[[Fact], None]


class FactSink:
    """One of a process. Whoever counts puts its own `note` here."""

    def __init__(self) -> None:
        self.note: NoteFact = ignore_fact

    def ignore(self) -> None:
        self.note = ignore_fact


def ignore_fact(fact: Fact) -> None:
    """Nobody counts here."""
