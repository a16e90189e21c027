"""What happened when: how busy the server was, why it waited, how long a result took to its user. Pure.

All times are seconds since 1970, by the one clock of the machine that everything runs on."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import quantiles


@dataclass(frozen=True, slots=True)
class Execution:
    prompt_id: str
    posted: float
    began: float
    ended: float


@dataclass(frozen=True, slots=True)
class Passed:
    """An object on the link."""

    began: float
    ended: float
    answered: float


@dataclass(frozen=True, slots=True)
class Journey:
    """One job, from its lease to its user."""

    granted: float
    fetched: Passed | None
    run: Execution
    sent: Passed
    completed: float  # in the queue
    visible: float

    @property
    def deliver_s(self) -> float:
        """From finished to visible, without the upload itself: from its request to the store's answer."""
        return self.visible - self.run.ended - (self.sent.answered - self.sent.began)

    @property
    def ways_s(self) -> tuple[float, float, float, float, float]:
        """Until it is sent, on the link, until the store answers, until it is completed, until it is seen."""
        moments = (
            self.run.ended,
            self.sent.began,
            self.sent.ended,
            self.sent.answered,
            self.completed,
            self.visible,
        )
        first, second, third, fourth, fifth = (after - before for before, after in pairwise(moments))
        return first, second, third, fourth, fifth


def busy_share(runs: Sequence[Execution]) -> float:
    """Time it executes ÷ time from the first start to the last end."""
    wall_s = max(run.ended for run in runs) - min(run.began for run in runs)
    return sum(run.ended - run.began for run in runs) / wall_s


@dataclass(frozen=True, slots=True)
class Gap:
    """Before a start. `why`: what was still to be done for that job when the server became idle."""

    seconds: float
    why: str


def gaps(journeys: Sequence[Journey]) -> list[Gap]:
    ordered = sorted(journeys, key=lambda each: each.run.began)
    return [
        Gap(after.run.began - before.run.ended, _why(after, idle_from=before.run.ended))
        for before, after in pairwise(ordered)
    ]


def _why(journey: Journey, *, idle_from: float) -> str:
    if journey.run.posted <= idle_from:
        return "server"
    if journey.granted > idle_from:
        return "lease"
    if journey.fetched is not None and journey.fetched.ended > idle_from:
        return "link"
    return "worker"


def idle_ms(found: Sequence[Gap]) -> dict[str, float]:
    """In all, by what it waited for."""
    total: dict[str, float] = defaultdict(float)
    for gap in found:
        total[gap.why] += gap.seconds * 1000
    return dict(total)


def percentile_ms(seconds: Sequence[float], share: float) -> float | None:
    """The value that so many are below; the largest where there are too few to tell."""
    if not seconds:
        return None
    if len(seconds) == 1:
        return seconds[0] * 1000
    cuts = quantiles(seconds, n=100, method="inclusive")
    return cuts[round(share * 100) - 1] * 1000


def match_fetches(granted: Mapping[str, float], fetched: Sequence[Passed]) -> dict[str, Passed]:
    """Inputs carry no name of a job: the first that began after a lease is that lease's."""
    left = sorted(fetched, key=lambda each: each.began)
    found = {}
    for job_id in sorted(granted, key=lambda each: granted[each]):
        mine = next((each for each in left if each.began >= granted[job_id]), None)
        if mine is not None:
            left.remove(mine)
            found[job_id] = mine
    return found
