"""Can a workflow be run, now or later, and if not, what is missing? Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum

from comfyfleet.fleet.needs.model import Lack, LackOf

NAMED_MAX = 3
NO_WORKER = "no worker that can run it is connected"
ALL_OFFLINE = "no worker that can run it is online; a job waits until one is back"
NOT_STARTED = "a worker that can run it has to start first; a job waits for it"


class Presence(IntEnum):
    """The larger, the sooner it takes a job."""

    LEFT = 1  # it signed off, as a worker does that restarts, and is not given up
    STARTABLE = 2  # a machine that its fleet can start
    AWAY = 3  # silent for some minutes, and not given up
    ONLINE = 4


WAITS = {Presence.LEFT: ALL_OFFLINE, Presence.AWAY: ALL_OFFLINE, Presence.STARTABLE: NOT_STARTED}


@dataclass(frozen=True, slots=True)
class Machine:
    """One that may run a workflow: a worker, or a kind of machine that a fleet can start."""

    name: str
    presence: Presence
    lacks: tuple[Lack, ...] = ()


@dataclass(frozen=True, slots=True)
class Availability:
    """`best`: the presence of the machine that would take a job first; None if no machine can run it.

    `problem` and `waits` are for users and name no machine; `detail` is for operators.
    """

    best: Presence | None
    problem: str | None = None
    waits: str | None = None
    detail: str | None = None

    @property
    def can_run(self) -> bool:
        return self.best is not None


def judge(machines: Sequence[Machine], *, fleets: Sequence[str] = (), unseen: Sequence[str] = ()) -> Availability:
    """`fleets`: those that may run it. `unseen`: fleets that scale from zero and never had a machine."""
    able = [each.presence for each in machines if not each.lacks]
    if able:
        best = max(able)
        return Availability(best, waits=WAITS.get(best))
    if machines:
        problem = f"no worker has all the {words_of(each.lacks for each in machines)} that it needs"
        return Availability(None, problem, detail=_detail(machines))
    return Availability(None, NO_WORKER, detail=_nobody(fleets, unseen))


def words_of(lacking: Iterable[Sequence[Lack]]) -> str:
    """What the machine lacks that comes nearest, in the words that users read."""
    return _words(_kinds(nearest(lacking)))


def nearest(lacking: Iterable[Sequence[Lack]]) -> Sequence[Lack]:
    """What the machine lacks that lacks the fewest kinds of things."""
    return min(lacking, key=lambda each: len(_kinds(each)))


def _kinds(lacks: Sequence[Lack]) -> list[LackOf]:
    return [kind for kind in LackOf if any(lack.of is kind for lack in lacks)]


def _words(kinds: Sequence[LackOf]) -> str:
    *first, last = [kind.value for kind in kinds]
    return f"{', '.join(first)} and {last}" if first else last


def _detail(machines: Iterable[Machine]) -> str:
    """Those that lack least come first."""
    ordered = sorted(machines, key=lambda each: (len(each.lacks), -each.presence, each.name))
    named = [f"{each.name} lacks {'; '.join(lack.text for lack in each.lacks)}" for each in ordered[:NAMED_MAX]]
    more = len(ordered) - len(named)
    return ". ".join(named) + (f". And {more} more" if more else "")


def _nobody(fleets: Sequence[str], unseen: Sequence[str]) -> str:
    if unseen:
        return f"no machine of the fleet {unseen[0]} was ever seen: start one once, so that it is known what it has"
    if fleets:
        named = ", ".join(sorted(fleets)[:NAMED_MAX])
        return f"no approved worker of the fleets that may run it is connected ({named}): start or approve one"
    return "no fleet may run its workflow: assign it with `comfyfleet fleets assign FLEET WORKFLOW`"
