"""What happened in the control plane, for whoever counts. Noted after a commit, by the process that did it.

`control_plane.py` says which metrics follow from each. Ids, not names: names are read when Prometheus asks.
"""

from collections.abc import Callable, Mapping
from typing import TypeAlias
from uuid import UUID

from msgspec import Struct

# Of a machine: no worker of it ever registered; it ended, and we had neither drained nor ended it.
NEVER_REGISTERED = "never_registered"
LOST = "lost"


class LeaseTaken(Struct, frozen=True):
    """A poll was answered with a job, `waited_s` after it came."""

    fleet_id: UUID | None
    waited_s: float


class LeasesChanged(Struct, frozen=True):
    """`event`: confirmed by a first heartbeat, returned by their worker, expired, or refused because lost before."""

    event: str
    count: int = 1


class PollsAnswered(Struct, frozen=True):
    """One look at the queue answered so many polls."""

    polls: int


class AttemptEnded(Struct, frozen=True):
    """`reason`: completed, requeued, or the failure class."""

    fleet_id: UUID | None
    reason: str


class SpotInterrupted(Struct, frozen=True):
    """A worker gave a job back because its Spot machine is being taken away."""

    fleet_id: UUID | None


class TokensMoved(Struct, frozen=True):
    """`type`: credit or reserve. What is consumed or refunded follows from `JobSettled`."""

    type: str
    tokens: int


class JobSettled(Struct, frozen=True):
    """A job is over and paid for, or refunded. `outcome`: completed, cancelled, or the failure class."""

    job_id: UUID
    tenant_id: UUID
    workflow_id: UUID
    outcome: str
    tokens: int
    total_s: float
    wait_s: float | None = None
    run_s: float | None = None
    trace_id: str | None = None


class LoopTicked(Struct, frozen=True):
    loop: str
    failed: bool
    at_s: float  # of the process's own clock, as Prometheus reads it
    every_s: float


class MachinesLaunched(Struct, frozen=True):
    """A provider answered a launch with so many machines."""

    fleet_id: UUID
    market: str
    machines: int


class LaunchFailed(Struct, frozen=True):
    """`reason`: why machines were not launched, or NEVER_REGISTERED: they were launched in vain."""

    fleet_id: UUID
    reason: str
    machines: int = 1


class MachineStarted(Struct, frozen=True):
    """From the request for a machine to the first job of its worker."""

    fleet_id: UUID
    start_s: float


class MachineEnded(Struct, frozen=True):
    """`reason`: why we ended it, or LOST."""

    fleet_id: UUID
    market: str
    reason: str


class MachinesSeen(Struct, frozen=True):
    """So many machines of a fleet that scales were in each phase, for so long since they were last counted."""

    fleet_id: UUID
    seconds: float
    phases: Mapping[str, int]


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
    LeaseTaken
    | LeasesChanged
    | PollsAnswered
    | AttemptEnded
    | SpotInterrupted
    | TokensMoved
    | JobSettled
    | LoopTicked
    | MachinesLaunched
    | LaunchFailed
    | MachineStarted
    | MachineEnded
    | MachinesSeen
    | WebhookSent
    | WorkerCalled
    | ApiCalled
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
