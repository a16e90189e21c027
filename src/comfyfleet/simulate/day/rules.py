"""The policies that are compared on the same arrivals: ours, the seeds' target tracking, and KEDA with the HPA."""

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from comfyfleet.scaling import (
    Arrived,
    FleetMachine,
    LaunchAnswer,
    LaunchRequest,
    ScalingDecision,
    ScalingInputs,
    ScalingSettings,
    ScalingState,
    arriving_rates,
    decide,
    learn_launch,
    learn_start_times,
)
from comfyfleet.scaling.demand import Fleet
from comfyfleet.scaling.placement import LaunchLimits, place_launches


class Ground(Protocol):
    """What a policy sees of the day, and what it may do."""

    @property
    def now_s(self) -> float: ...
    @property
    def waiting(self) -> int: ...
    @property
    def queued_gpu_s(self) -> float: ...
    @property
    def arrived_gpu_s(self) -> float: ...  # since the day began
    @property
    def leased(self) -> int: ...
    @property
    def starts_s(self) -> Sequence[float]: ...
    @property
    def counts(self) -> tuple[int, int]: ...  # ready, starting
    def machines(self) -> tuple[FleetMachine, ...]: ...
    def waiting_hashes(self) -> frozenset[str]: ...
    def launch(self, request: LaunchRequest) -> LaunchAnswer: ...
    def drain(self, worker_id: str) -> None: ...
    def end(self, machine_id: str) -> None: ...
    def end_idle(self, number: int) -> int: ...


class ScalingRule(Protocol):
    name: str
    tick_s: float
    desired: int

    def tick(self, ground: Ground) -> ScalingDecision | None: ...


@dataclass(slots=True)
class OurRule:
    """`scaling.decide`, fed as the server feeds it."""

    settings: ScalingSettings
    name: str = "comfyfleet"
    tick_s: float = 10.0
    desired: int = 0
    state: ScalingState = field(default_factory=ScalingState)
    _arrived: deque[Arrived] = field(default_factory=deque)
    _seen_gpu_s: float = 0.0

    def tick(self, ground: Ground) -> ScalingDecision:
        self._note_arrivals(ground)
        decision = self._decide(ground)
        if decision.drains:
            # Nothing can be leased to a drained worker: those that are empty end now, not with the next tick.
            self._decide(ground)
        return decision

    def _decide(self, ground: Ground) -> ScalingDecision:
        short, long = arriving_rates(self._arrived, ground.now_s, window_s=self.settings.load_window_s)
        inputs = ScalingInputs(
            at_s=ground.now_s,
            machines=ground.machines(),
            waiting=ground.waiting,
            queued_gpu_s=ground.queued_gpu_s,
            waiting_hashes=ground.waiting_hashes(),
            arriving_3m=short,
            arriving_15m=long,
            start=learn_start_times(ground.starts_s),
        )
        decision, self.state = decide(inputs, self.settings, self.state)
        for end in decision.ends:
            ground.end(end.machine_id)
        for request in decision.launches:
            self.state = learn_launch(self.state, request, ground.launch(request), at_s=ground.now_s)
        for worker_id in decision.drains:
            ground.drain(worker_id)
        self.desired = decision.desired
        return decision

    def _note_arrivals(self, ground: Ground) -> None:
        self._arrived.append(Arrived(ground.now_s, ground.arrived_gpu_s - self._seen_gpu_s))
        self._seen_gpu_s = ground.arrived_gpu_s
        while self._arrived[0].at_s <= ground.now_s - self.settings.load_window_s:
            self._arrived.popleft()


@dataclass(slots=True)
class _Launcher:
    """How the other policies launch: the same places in the same order, resting after errors."""

    settings: ScalingSettings
    state: ScalingState = field(default_factory=ScalingState)

    def add(self, ground: Ground, number: int) -> None:
        """One place after the other until the number is reached or every place has refused."""
        for _ in range(50):
            nobody = Fleet((), (), (), (), {each.name: each for each in self.settings.classes})
            limits = LaunchLimits(0.0, number, number)
            placed = place_launches(limits, self.settings, nobody, self.state.rests, ground.now_s)
            for request in placed.launches:
                answer = ground.launch(request)
                number -= len(answer.ids)
                self.state = learn_launch(self.state, request, answer, at_s=ground.now_s)
            if number <= 0 or not placed.launches:
                return


@dataclass(slots=True)
class TargetTracking:
    """The seeds' stack: queue ÷ workers is kept at two by CloudWatch alarms; a step from zero; to zero when empty.

    Metrics come once a minute. The alarm to grow wants one point above the target (the seeds' time from zero: a minute
    for the metric, a minute for the alarm), the one to shrink fifteen below 90 % of it; busy machines are protected.
    """

    settings: ScalingSettings
    target: float = 2.0
    high_minutes: int = 1
    low_minutes: int = 15
    warm_up_s: float = 300.0
    name: str = "target tracking"
    tick_s: float = 60.0
    desired: int = 0
    _above: int = 0
    _below: int = 0
    _empty: int = 0
    _acted_s: float = -math.inf
    _launcher: _Launcher | None = None

    def tick(self, ground: Ground) -> None:
        ready, starting = ground.counts
        depth = ground.waiting + ground.leased
        if not ready and not starting:
            self._grow(ground, 1 if depth else 0)
            return
        backlog = depth / ready if ready else math.inf if depth else 0.0
        self._above = self._above + 1 if backlog > self.target else 0
        self._below = self._below + 1 if backlog < 0.9 * self.target else 0
        self._empty = self._empty + 1 if depth == 0 else 0
        wanted = math.ceil(depth / self.target)
        if self._above >= self.high_minutes and ready:
            self._grow(ground, wanted - ready - starting)
        elif self._empty >= self.low_minutes:
            ground.end_idle(ready)
        elif self._below >= self.low_minutes and not starting:
            ground.end_idle(max(0, ready - max(1, wanted)))
        ready, starting = ground.counts
        self.desired = ready + starting

    def _grow(self, ground: Ground, number: int) -> None:
        ready, starting = ground.counts
        number = min(number, self.settings.max_workers - ready - starting)
        if number > 0:
            self._launcher = self._launcher or _Launcher(self.settings)
            self._launcher.add(ground, number)
        self.desired = sum(ground.counts)


@dataclass(slots=True)
class Keda:
    """One replica a job (or `target` jobs): the highest of the last five minutes; only idle ones are taken away.

    KEDA asks every 30 s, and the HPA, which looks every 15 s, acts on it 7.5 s later on average: four ticks a round.
    """

    settings: ScalingSettings
    target: float = 1.0
    stabilisation_s: float = 300.0
    name: str = "KEDA"
    tick_s: float = 7.5
    desired: int = 0
    _turn: int = 0
    _depth: int = 0
    _wanted: deque[tuple[float, int]] = field(default_factory=deque)
    _launcher: _Launcher | None = None

    def tick(self, ground: Ground) -> None:
        self._turn = (self._turn + 1) % 4
        if self._turn == 1:
            self._depth = ground.waiting + ground.leased
        elif self._turn == 2:
            self._follow(ground, min(self.settings.max_workers, math.ceil(self._depth / self.target)))

    def _follow(self, ground: Ground, wanted: int) -> None:
        while self._wanted and self._wanted[-1][1] <= wanted:
            self._wanted.pop()
        self._wanted.append((ground.now_s, wanted))
        while self._wanted[0][0] < ground.now_s - self.stabilisation_s:
            self._wanted.popleft()
        present, highest = sum(ground.counts), self._wanted[0][1]
        if wanted > present:
            self._launcher = self._launcher or _Launcher(self.settings)
            self._launcher.add(ground, wanted - present)
        elif highest < present:
            ground.end_idle(present - highest)
        self.desired = max(wanted, min(present, highest))


RULES: Mapping[str, Callable[[ScalingSettings], ScalingRule]] = {
    "comfyfleet": OurRule,
    "target-tracking": TargetTracking,
    "keda": Keda,
}
