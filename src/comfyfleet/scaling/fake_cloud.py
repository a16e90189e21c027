"""A cloud made up: delays, no capacity, machines that never come up, Spot taken with and without notice.

For tests and the simulator. Time is the caller's: `advance(at_s)` lets everything happen that is due by then.
Nothing here is random but by the given generator, so a run is repeated by its seed.
"""

import heapq
import math
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from comfyfleet.scaling.machines import (
    CloudMachine,
    CloudState,
    LaunchAnswer,
    LaunchError,
    LaunchProblem,
)
from comfyfleet.scaling.model import LaunchRequest, Market, Place


class CloudEventKind(StrEnum):
    BOOTED = "booted"  # its worker can register now
    NOTICE = "notice"  # Spot: it will be taken
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class CloudEvent:
    kind: CloudEventKind
    machine_id: str
    at_s: float
    planned: bool = False  # GONE because it was terminated


@dataclass(frozen=True, slots=True)
class CloudHabits:
    """How this cloud behaves. Times are log-normal: the median, and sigma of the logarithm."""

    start_median_s: float = 180.0
    start_sigma: float = 0.3
    stuck_share: float = 0.0  # launched, billed, and never up
    early_death_share: float = 0.0  # up, and dead within `early_death_s`
    early_death_s: float = 600.0
    notice_s: float = 120.0
    taken_per_hour: float = 0.0  # of single Spot machines, beside storms


@dataclass(slots=True)
class _Run:
    machine: CloudMachine
    ends_at_s: float = math.inf


@dataclass(slots=True)
class FakeCloud:
    habits: CloudHabits = field(default_factory=CloudHabits)
    chance: random.Random = field(default_factory=lambda: random.Random(1))  # noqa: S311 no secret
    # Machines that a place can hold; places that are missing hold any number.
    room: dict[Place, int] = field(default_factory=dict)
    now_s: float = 0.0
    refuses: LaunchProblem | None = None  # everything, with this problem
    launches: int = 0
    # Machine-seconds that were billed, by place, of machines that are gone.
    billed_s: dict[Place, float] = field(default_factory=dict)
    _runs: dict[str, _Run] = field(default_factory=dict)
    _answers: dict[str, LaunchAnswer] = field(default_factory=dict)
    _due: list[tuple[float, int, CloudEventKind, str]] = field(default_factory=list)
    _down: set[Place] = field(default_factory=set)
    _held: dict[Place, int] = field(default_factory=dict)
    _numbers: int = 0
    _steps: int = 0

    # ── the interface of an adapter ──

    def describe(self) -> list[CloudMachine]:
        return [run.machine for run in self._runs.values()]

    def launch(self, request: LaunchRequest, token: str) -> LaunchAnswer:
        """The same token gets the same answer, and no second machine."""
        if token in self._answers:
            return self._answers[token]
        if self.refuses is not None:
            # Not kept: once it is mended, the same token may be tried again.
            return LaunchAnswer((), (LaunchError(self.refuses, "the cloud refused the call", request.number),))
        place = request.place
        count = 0 if place in self._down else min(request.number, self._room(place))
        ids = tuple(self._start(place) for _ in range(count))
        missing = request.number - count
        errors = (LaunchError(LaunchProblem.CAPACITY, f"no capacity for {'/'.join(place)}", missing),)
        answer = LaunchAnswer(ids, errors if missing else ())
        self._answers[token] = answer
        return answer

    def terminate(self, ids: Iterable[str]) -> None:
        for each in ids:
            self._end(each)

    # ── what happens there ──

    def advance(self, at_s: float) -> list[CloudEvent]:
        """What happened up to then, in order."""
        events = []
        while self._due and self._due[0][0] <= at_s:
            due_s, _, kind, machine_id = heapq.heappop(self._due)
            run = self._runs.get(machine_id)
            if run is None:
                continue
            self.now_s = due_s
            if kind is CloudEventKind.BOOTED:
                if run.machine.state is CloudState.STOPPING:
                    continue  # its worker reads the notice before it registers
                run.machine = run.machine._replace(state=CloudState.RUNNING)
            elif kind is CloudEventKind.NOTICE:
                if run.machine.state is CloudState.STOPPING:
                    continue
                run.machine = run.machine._replace(state=CloudState.STOPPING)
                self._later(due_s + self.habits.notice_s, CloudEventKind.GONE, machine_id)
            else:
                self._end(machine_id)
            events.append(CloudEvent(kind, machine_id, due_s))
        self.now_s = max(self.now_s, at_s)
        return events

    def next_due_s(self) -> float:
        return self._due[0][0] if self._due else math.inf

    def take(self, place: Place, share: float, *, notice: bool = True) -> list[str]:
        """A Spot storm: that share of the machines of a place goes, after the notice or at once."""
        there = [each for each, run in self._runs.items() if run.machine.place == place]
        taken = self.chance.sample(there, math.ceil(share * len(there)))
        for each in taken:
            self._later(self.now_s, CloudEventKind.NOTICE if notice else CloudEventKind.GONE, each)
        return taken

    def close(self, place: Place) -> None:
        """No more launches there, until `open`."""
        self._down.add(place)

    def open(self, place: Place) -> None:
        self._down.discard(place)

    def billed(self) -> dict[Place, float]:
        """Machine-seconds by place, of those that run too."""
        total = dict(self.billed_s)
        for run in self._runs.values():
            place = run.machine.place
            total[place] = total.get(place, 0.0) + self.now_s - run.machine.launched_at_s
        return total

    # ── inside ──

    def _room(self, place: Place) -> int:
        room = self.room.get(place)
        return room - self._held.get(place, 0) if room is not None else 1_000_000_000

    def _start(self, place: Place) -> str:
        self._numbers += 1
        self.launches += 1
        machine_id = f"m-{self._numbers:06d}"
        self._runs[machine_id] = _Run(
            CloudMachine(machine_id, CloudState.PENDING, self.now_s, place.market, place.machine_class, place.zone)
        )
        self._held[place] = self._held.get(place, 0) + 1
        habits, chance = self.habits, self.chance
        start_s = chance.lognormvariate(math.log(habits.start_median_s), habits.start_sigma)
        if chance.random() >= habits.stuck_share:
            self._later(self.now_s + start_s, CloudEventKind.BOOTED, machine_id)
        if chance.random() < habits.early_death_share:
            self._later(self.now_s + start_s + chance.uniform(0, habits.early_death_s), CloudEventKind.GONE, machine_id)
        if place.market is Market.SPOT and habits.taken_per_hour > 0:
            after_s = chance.expovariate(habits.taken_per_hour) * 3600
            self._later(self.now_s + after_s, CloudEventKind.NOTICE, machine_id)
        return machine_id

    def _end(self, machine_id: str) -> None:
        run = self._runs.pop(machine_id, None)
        if run is None:
            return
        place = run.machine.place
        self._held[place] -= 1
        self.billed_s[place] = self.billed_s.get(place, 0.0) + self.now_s - run.machine.launched_at_s

    def _later(self, at_s: float, kind: CloudEventKind, machine_id: str) -> None:
        self._steps += 1
        heapq.heappush(self._due, (at_s, self._steps, kind, machine_id))


class FakeMachines:
    """The fake cloud as an adapter: `Machines`, with a clock to follow."""

    def __init__(self, cloud: FakeCloud, clock: Callable[[], float]) -> None:
        self.cloud = cloud
        self._clock = clock

    async def describe(self) -> Sequence[CloudMachine]:
        self.cloud.advance(self._clock())
        return self.cloud.describe()

    async def launch(self, request: LaunchRequest, token: str) -> LaunchAnswer:
        self.cloud.advance(self._clock())
        return self.cloud.launch(request, token)

    async def terminate(self, ids: Sequence[str]) -> None:
        self.cloud.advance(self._clock())
        self.cloud.terminate(ids)
