"""What to make next. Pure: counts in, one decision out; the same functions run in the server and in the tests."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from comfyfleet.kernel.ids import CandidateId, RunId
from comfyfleet.pipelines.frontier import Frontier, Parent, RunFrontier, Stage

FAILURES_MAX = 3
ELO_SCALE = 400.0


@dataclass(frozen=True, slots=True)
class BaseGeneration:
    """`ordinal` counts what was ever begun in this place: with it, each job has a name that comes only once."""

    run_id: RunId
    position: int
    ordinal: int


@dataclass(frozen=True, slots=True)
class ChildGeneration:
    run_id: RunId
    position: int
    parent_id: CandidateId
    ordinal: int


@dataclass(frozen=True, slots=True)
class WaitingForApproval:
    """Nothing can be made before somebody opens one of these gates: of the step at `position`, for its children."""

    gates: tuple[tuple[RunId, int], ...]


@dataclass(frozen=True, slots=True)
class NoWork:
    pass


Generation = BaseGeneration | ChildGeneration
Selection = Generation | WaitingForApproval | NoWork


class Outlook(StrEnum):
    """Why a run has nothing to begin."""

    BUSY = "busy"  # what is in flight decides how it goes on
    WAITING = "waiting"  # for a person at a gate
    OUT_OF_BUDGET = "out_of_budget"
    DONE = "done"
    FAILED = "failed"  # every path failed, and nothing came of it


def select_next(frontier: Frontier, rng: random.Random) -> Selection:
    """For the first run in turn that has something to make."""
    if frontier.room > 0:
        for run in frontier.runs:
            found = next_of_run(run, rng) if run.has_room else None
            if found is not None:
                return found
    gates = tuple((run.id, closed_gate(run)) for run in frontier.runs if outlook(run) is Outlook.WAITING)
    waiting = tuple((run_id, position) for run_id, position in gates if position is not None)
    return WaitingForApproval(waiting) if waiting else NoWork()


def begin(frontier: Frontier, found: Generation) -> Frontier:
    """As things stand once that job is in flight: so several can be chosen from one reading."""
    run = next(each for each in frontier.runs if each.id == found.run_id)
    parent_id = found.parent_id if isinstance(found, ChildGeneration) else None
    return frontier.served(run.begun(found.position, parent_id))


def next_of_run(run: RunFrontier, rng: random.Random) -> Generation | None:
    """The first step until it has its candidates; then whatever is nearest to the end."""
    for stage in possible_stages(run):
        if not run.budget.allows(stage.price):
            continue
        if stage.position == 0:
            return BaseGeneration(run.id, 0, stage.started)
        parent = choose_parent(fertile(stage), rng)
        return ChildGeneration(run.id, stage.position, parent.id, parent.started)
    return None


def possible_stages(run: RunFrontier) -> list[Stage]:
    """Where a job could be begun, whatever it costs; the most urgent first."""
    if _has_enough_finals(run):
        return []
    base, *others = run.stages
    if base.made + base.in_flight < base.variants and not is_hopeless(made=base.made, failures=base.failures):
        return [base]
    return [stage for stage in reversed(others) if fertile(stage)]


def is_hopeless(*, made: int, failures: int) -> bool:
    """A first step that failed three times, and more often than not: of a thousand a few may fail."""
    return failures >= max(FAILURES_MAX, made + 1)


def fertile(stage: Stage) -> list[Parent]:
    """Who may get a child: among the best, with fewer children than it may have, and not set aside."""
    if not stage.is_open:
        return []
    best = sorted(stage.parents, key=lambda each: (-each.elo, each.id))[: stage.top]
    return [each for each in best if each.children < stage.variants and each.failures < FAILURES_MAX]


def choose_parent(parents: Sequence[Parent], rng: random.Random) -> Parent:
    return rng.choices(parents, weights=weights_of(parents))[0]


def weights_of(parents: Sequence[Parent]) -> list[float]:
    """By the odds that Elo itself gives: 400 points more, ten times as likely."""
    best = max(each.elo for each in parents)
    return [10.0 ** ((each.elo - best) / ELO_SCALE) for each in parents]


def outlook(run: RunFrontier) -> Outlook | None:
    """None: there is something to begin, now or when a place is free."""
    possible = possible_stages(run)
    if any(run.budget.allows(stage.price) for stage in possible):
        return None
    if run.in_flight:
        return Outlook.BUSY
    if possible:
        return Outlook.OUT_OF_BUDGET
    if _has_enough_finals(run):
        return Outlook.DONE
    if closed_gate(run) is not None:
        return Outlook.WAITING
    return Outlook.DONE if run.stages[-1].alive else Outlook.FAILED


def closed_gate(run: RunFrontier) -> int | None:
    """The first step whose candidates wait for somebody to say which of them go on."""
    for stage in run.stages[1:]:
        if not stage.is_open and stage.parents:
            return stage.position - 1
    return None


def _has_enough_finals(run: RunFrontier) -> bool:
    last = run.stages[-1]
    return run.finals is not None and last.alive + last.in_flight >= run.finals
