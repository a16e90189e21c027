"""As much of a tenant's runs as the next choice needs, and no more: counts, and the best parents of each step."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from comfyfleet.kernel.ids import CandidateId, RunId


@dataclass(frozen=True, slots=True)
class Parent:
    """An active candidate. `children`: made and in flight together; `started`: all that were ever begun."""

    id: CandidateId
    elo: float
    children: int = 0
    started: int = 0
    failures: int = 0


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of a run. `parents` are the best candidates of the step before it; the first step has none.

    `is_open`: the gate of the step before was approved, for its best `top`; a first step is always open.
    `made` counts what was rejected since, too: to reject a candidate is no order for another one.
    """

    position: int
    variants: int
    is_open: bool = True
    top: int = 0
    parents: tuple[Parent, ...] = ()
    price: int = 0
    made: int = 0
    alive: int = 0
    in_flight: int = 0
    started: int = 0
    failures: int = 0


@dataclass(frozen=True, slots=True)
class Budget:
    """What is left; None: no limit."""

    jobs: int | None = None
    tokens: int | None = None
    is_over_time: bool = False

    def allows(self, price: int) -> bool:
        return (
            not self.is_over_time
            and (self.jobs is None or self.jobs >= 1)
            and (self.tokens is None or self.tokens >= price)
        )

    def less(self, price: int) -> Self:
        return replace(
            self,
            jobs=None if self.jobs is None else self.jobs - 1,
            tokens=None if self.tokens is None else self.tokens - price,
        )


@dataclass(frozen=True, slots=True)
class RunFrontier:
    """`finals`: how many candidates of the last step are wanted; None: as many as the rules allow."""

    id: RunId
    stages: tuple[Stage, ...]
    concurrency: int = 1
    budget: Budget = Budget()
    finals: int | None = None

    @property
    def in_flight(self) -> int:
        return sum(stage.in_flight for stage in self.stages)

    @property
    def has_room(self) -> bool:
        return self.in_flight < self.concurrency

    def begun(self, position: int, parent_id: CandidateId | None) -> Self:
        """As it is once that job is in flight."""
        stages = list(self.stages)
        stage = stages[position]
        parents = tuple(
            replace(each, children=each.children + 1, started=each.started + 1) if each.id == parent_id else each
            for each in stage.parents
        )
        stages[position] = replace(stage, parents=parents, in_flight=stage.in_flight + 1, started=stage.started + 1)
        return replace(self, stages=tuple(stages), budget=self.budget.less(stage.price))


@dataclass(frozen=True, slots=True)
class Frontier:
    """A tenant's runs, whoever waited longest first. `room`: jobs that the tenant may still have in flight."""

    runs: tuple[RunFrontier, ...]
    room: int

    def without(self, run_id: RunId) -> Self:
        return replace(self, runs=tuple(each for each in self.runs if each.id != run_id))

    def served(self, run: RunFrontier) -> Self:
        """That run got a job: now it is the others' turn."""
        return replace(self, runs=(*self.without(run.id).runs, run), room=self.room - 1)


def turn_order(runs: Sequence[RunFrontier], last_served: dict[RunId, int]) -> tuple[RunFrontier, ...]:
    return tuple(sorted(runs, key=lambda run: (last_served.get(run.id, 0), run.id)))
