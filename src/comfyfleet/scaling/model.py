"""The nouns of scaling: what is known of a fleet, and what to do about it. Values only; times are seconds.

`at_s` and other points in time share one clock, the caller's (the database's in the server, virtual in a simulation).
Work is in GPU-seconds of a machine with speed 1; prices are dollars per hour.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

NO_ZONE = ""


class Market(StrEnum):
    SPOT = "spot"
    ON_DEMAND = "on_demand"


class MachineState(StrEnum):
    STARTING = "starting"  # asked for; no worker of it has registered
    READY = "ready"  # its worker takes jobs, or runs them
    DRAINING = "draining"  # its worker takes no more; it may still hold leases
    ORPHANED = "orphaned"  # its worker has left or is gone; the machine still runs


class Eagerness(StrEnum):
    """How much spare capacity to keep beyond the load: β of square-root staffing."""

    CALM = "calm"
    NORMAL = "normal"
    EAGER = "eager"


BETA = {Eagerness.CALM: 0.5, Eagerness.NORMAL: 1.0, Eagerness.EAGER: 2.0}


@dataclass(frozen=True, slots=True)
class Offer:
    """A market on which a class can be had, and its price per hour, if known."""

    market: Market
    price: float | None = None


@dataclass(frozen=True, slots=True)
class MachineClass:
    """A kind of machine, as its cloud names it. `speed` is relative to the class that expected times refer to."""

    name: str
    speed: float = 1.0
    memory_gb: float | None = None
    offers: tuple[Offer, ...] = (Offer(Market.ON_DEMAND),)
    zones: tuple[str, ...] = (NO_ZONE,)


class Place(NamedTuple):
    """Where a machine can be launched."""

    machine_class: str
    market: Market
    zone: str


@dataclass(frozen=True, slots=True)
class ScalingSettings:
    """What an operator sets for one fleet. `check_settings` refuses what makes no sense."""

    classes: tuple[MachineClass, ...]
    min_workers: int = 0
    max_workers: int = 10
    buffer: int = 0  # workers to keep beyond what the load needs
    target_wait_s: float = 30.0
    eagerness: Eagerness = Eagerness.NORMAL
    budget_per_hour: float | None = None
    # How long a surplus must last before it is drained. None: as long as a start takes.
    down_delay_s: float | None = None
    # Assumed until enough starts have been seen.
    first_start_s: float = 180.0
    # Arriving work is averaged over it. A fleet without a minimum keeps a machine until nothing arrived for so long.
    load_window_s: float = 900.0


@dataclass(frozen=True, slots=True)
class FleetMachine:
    """One worker and its machine, as joined by the caller.

    A worker that nobody scales (started by hand) has `managed=False`: it counts, and is never drained or ended.
    """

    id: str  # the cloud's id of the machine; of an unmanaged worker, its worker id
    state: MachineState
    machine_class: str
    market: Market
    zone: str
    launched_at_s: float
    worker_id: str | None = None
    leases: int = 0
    idle_since_s: float | None = None
    warm: frozenset[str] = frozenset()  # structure hashes
    image_at_s: float = 0.0  # when its image was made; older ones go first
    managed: bool = True

    @property
    def place(self) -> Place:
        return Place(self.machine_class, self.market, self.zone)


@dataclass(frozen=True, slots=True)
class StartTimes:
    """Launch to first lease, learned per fleet."""

    p75_s: float
    p99_s: float
    samples: int = 0


@dataclass(frozen=True, slots=True)
class ScalingInputs:
    """Everything that one decision looks at. A decision's row keeps it, so that it can be replayed."""

    at_s: float
    machines: tuple[FleetMachine, ...] = ()
    waiting: int = 0  # jobs queued; leased and delayed ones do not count
    queued_gpu_s: float = 0.0
    waiting_hashes: frozenset[str] = frozenset()
    # GPU-seconds of work per second, averaged over 3 minutes and over 15; less where `load_window_s` is shorter.
    arriving_3m: float = 0.0
    arriving_15m: float = 0.0
    start: StartTimes | None = None  # None: too few starts were seen
    age_s: float = 0.0  # of the oldest of these facts


@dataclass(frozen=True, slots=True)
class CapacityRest:
    """Where a launch failed: nothing is launched there until then. `errors` in a row lengthen it."""

    machine_class: str
    market: Market
    zone: str
    until_s: float
    errors: int
    reason: str = "capacity"

    @property
    def place(self) -> Place:
        return Place(self.machine_class, self.market, self.zone)


@dataclass(frozen=True, slots=True)
class SurplusSample:
    at_s: float
    workers: float


@dataclass(frozen=True, slots=True)
class ScalingState:
    """What one tick leaves for the next: a value to be stored beside the fleet, so that any replica can go on."""

    surplus: tuple[SurplusSample, ...] = ()
    rests: tuple[CapacityRest, ...] = ()
    # When the machines were launched that were ended because they never registered, and when the newest one that did
    # register was. Only failures launched after it are "in a row".
    failed_launches_at_s: tuple[float, ...] = ()
    registered_at_s: float | None = None
    starting: frozenset[str] = frozenset()  # machine ids that were starting at the last tick
    decided_at_s: float | None = None

    @property
    def failed_starts(self) -> int:
        """In a row."""
        return len(self.failed_launches_at_s)


@dataclass(frozen=True, slots=True)
class LaunchRequest:
    """`number` machines in one place. The caller adds the token: `launch_token(fleet, decision, ordinal)`."""

    machine_class: str
    market: Market
    zone: str
    number: int

    @property
    def place(self) -> Place:
        return Place(self.machine_class, self.market, self.zone)


class EndReason(StrEnum):
    DRAINED = "drained"
    NEVER_REGISTERED = "never_registered"
    ORPHANED = "orphaned"


@dataclass(frozen=True, slots=True)
class MachineEnd:
    """A machine to terminate. Just before, `may_end` must hold for what is known then."""

    machine_id: str
    reason: EndReason


class Reason(StrEnum):
    """Why `desired` is what it is."""

    STEADY = "steady"
    BACKLOG = "backlog"  # more waits than would be served in time
    LOAD = "load"  # what arrives needs more workers
    WAKE = "wake"  # something waits, and there was no worker
    BUFFER = "buffer"
    MINIMUM = "minimum"
    SURPLUS = "surplus"  # more workers than needed, long enough
    HELD = "held"


class Hold(StrEnum):
    """Why less was done than the load asks for."""

    STALE_INPUTS = "stale_inputs"
    BAD_INPUTS = "bad_inputs"
    NOT_REGISTERING = "not_registering"
    NO_CAPACITY = "no_capacity"
    BUDGET = "budget"
    MAXIMUM = "maximum"
    GROWTH = "growth"  # at most twice as many a tick
    LAUNCHING = "launching"  # what was asked for before is on its way
    PROVIDER = "provider"  # it does not answer, or its answer makes no sense


# Those that an operator should hear of.
ALERTING_HOLDS = frozenset(
    {Hold.STALE_INPUTS, Hold.BAD_INPUTS, Hold.NOT_REGISTERING, Hold.NO_CAPACITY, Hold.BUDGET, Hold.PROVIDER}
)


@dataclass(frozen=True, slots=True)
class Held:
    hold: Hold
    text: str


@dataclass(frozen=True, slots=True)
class ScalingFigures:
    """The sums behind a decision, for its row, the console and KEDA's endpoint."""

    ready: int = 0
    busy: int = 0
    starting: int = 0
    draining: int = 0
    queued_gpu_s: float = 0.0
    load: float = 0.0  # servers' worth of arriving work
    base: float = 0.0  # … with what square-root staffing adds
    start_s: float = 0.0
    residual_gpu_s: float = 0.0  # would still wait when a machine started now is ready
    surplus: float = 0.0
    spend_per_hour: float | None = None  # of what runs now; None: a price is missing
    expected_wait_s: float | None = None  # None: something waits, and nothing is ready or starting


@dataclass(frozen=True, slots=True)
class ScalingDecision:
    """What to do now. `desired` counts the workers that are to be ready or starting."""

    desired: int
    reason: Reason
    launches: tuple[LaunchRequest, ...] = ()
    drains: tuple[str, ...] = ()  # worker ids
    ends: tuple[MachineEnd, ...] = ()
    rests: tuple[CapacityRest, ...] = ()
    held: tuple[Held, ...] = ()
    figures: ScalingFigures = field(default_factory=ScalingFigures)

    @property
    def text(self) -> str:
        """One line for people."""
        holds = "; ".join(f"held: {held.text}" for held in self.held)
        if self.reason is Reason.HELD and holds:
            return holds
        return f"{self.reason.value}; {holds}" if holds else self.reason.value
