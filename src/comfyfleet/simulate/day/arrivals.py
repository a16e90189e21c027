"""Who orders what, and when. The same plan and seed give the same jobs to every policy."""

import heapq
import math
import random
from bisect import bisect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from comfyfleet.simulate.day.plan import DAY_S, HOUR_S, OFFICE, DayPlan, JobKind

# The first few structures have the shares of a recorded service; the others share the rest by Zipf.
TOP_STRUCTURES = (0.31, 0.12, 0.12, 0.08, 0.07)
GAP_MEDIAN_S, GAP_SIGMA = 73.0, 1.77
STAYS_SHARE = 0.6  # a user's next order is for the same structure
CROWD_FACTOR, CROWD_S = 5.0, 600.0
RATE_STEP_S = 60.0


class Job:
    """A plain object: millions of them are made."""

    __slots__ = ("attempts", "cost_s", "epoch", "fate", "number", "queued_s", "structure", "tag", "tenant", "work_s")
    weight = 1

    def __init__(
        self, number: int, queued_s: float, tenant: int, structure: int, work_s: float, cost_s: float, fate: float
    ) -> None:
        self.number, self.queued_s, self.tenant, self.structure = number, queued_s, tenant, structure
        self.work_s, self.cost_s, self.fate = work_s, cost_s, fate
        self.tag, self.epoch, self.attempts = 0.0, 0, 0

    def __lt__(self, other: "Job") -> bool:
        return self.number < other.number


def arrivals(plan: DayPlan) -> Iterator[Job]:
    """In order of time."""
    chance = random.Random(f"{plan.name}/{plan.seed}/arrivals")  # noqa: S311 no secret
    users = _Users(plan, chance, catalogue_of(plan))
    number = 0
    for at_s, tenant, structure, jobs in heapq.merge(users.orders(), users.drops(), key=lambda order: order[0]):
        for _ in range(jobs):
            number += 1
            yield users.job(number, at_s, tenant, structure)


Order = tuple[float, int, int, int]  # when, tenant, structure, jobs


@dataclass(slots=True)
class _Users:
    plan: DayPlan
    chance: random.Random
    catalogue: "Catalogue"

    def job(self, number: int, at_s: float, tenant: int, structure: int) -> Job:
        kind = self.catalogue.kinds[structure]
        work_s = min(kind.most_s, self.chance.lognormvariate(math.log(kind.median_s), kind.sigma))
        return Job(number, at_s, tenant, structure, work_s, kind.mean_s, self.chance.random())

    def orders(self) -> Iterator[Order]:
        """Sessions begin at random by the curve of the day; each goes on for a few orders."""
        plan, chance = self.plan, self.chance
        tenants, structures = _zipf(plan.tenants, plan.zipf), self.catalogue.shares
        sizes = [size for size, _ in plan.batches]
        size_shares = list(accumulate(share for _, share in plan.batches))
        mean_size = sum(size * share for size, share in plan.batches) / size_shares[-1]
        sessions_per_s = plan.jobs_per_s / mean_size / plan.session_orders
        going_on: list[tuple[float, int, int, int]] = []
        goes_on = 1 - 1 / plan.session_orders
        serial = 0
        for began_s in self._sessions(sessions_per_s):
            serial += 1
            heapq.heappush(going_on, (began_s, serial, _pick(tenants, chance), _pick(structures, chance)))
            while going_on and going_on[0][0] <= began_s:
                at_s, _, tenant, structure = heapq.heappop(going_on)
                yield at_s, tenant, structure, sizes[_pick(size_shares, chance)]
                if goes_on and chance.random() < goes_on:
                    next_s = at_s + chance.lognormvariate(math.log(GAP_MEDIAN_S), GAP_SIGMA)
                    kept = structure if chance.random() < STAYS_SHARE else _pick(structures, chance)
                    serial += 1
                    if next_s < plan.lasts_s:
                        heapq.heappush(going_on, (next_s, serial, tenant, kept))

    def drops(self) -> Iterator[Order]:
        """One tenant at once: its own structure is the most used one."""
        chance = random.Random(f"{self.plan.name}/{self.plan.seed}/drops")  # noqa: S311 no secret
        for at_s, jobs, within_s in sorted(self.plan.drops):
            times = sorted(at_s + chance.uniform(0, within_s) for _ in range(jobs))
            yield from ((each, 0, 0, 1) for each in times if each < self.plan.lasts_s)

    def _sessions(self, per_s: float) -> Iterator[float]:
        """A Poisson process whose rate changes each minute."""
        chance, curve = self.chance, day_curve(self.plan)
        at_s = 0.0
        while at_s < self.plan.lasts_s:
            rate = per_s * curve(at_s)
            until_s = (at_s // RATE_STEP_S + 1) * RATE_STEP_S
            step_s = chance.expovariate(rate) if rate > 0 else math.inf
            if at_s + step_s >= until_s:
                at_s = until_s
                continue
            at_s += step_s
            if at_s < self.plan.lasts_s:
                yield at_s


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Structures by number: the kind of each, and their shares added up."""

    kinds: Sequence[JobKind]
    shares: Sequence[float]


def catalogue_of(plan: DayPlan) -> Catalogue:
    kinds: list[JobKind] = []
    shares: list[float] = []
    for kind in plan.kinds:
        count = max(1, round(plan.structures * kind.share))
        tail = [1 / (rank + 1) for rank in range(max(0, count - len(TOP_STRUCTURES)))]
        rest = 1 - sum(TOP_STRUCTURES)
        within = [*TOP_STRUCTURES[:count], *(rest * each / sum(tail) for each in tail)]
        kinds += [kind] * count
        shares += [kind.share * each / sum(within) for each in within]
    return Catalogue(kinds, list(accumulate(shares)))


def day_curve(plan: DayPlan) -> Callable[[float], float]:
    """The rate at a time, as a multiple of the day's mean, crowds included."""
    chance = random.Random(f"{plan.name}/{plan.seed}/crowds")  # noqa: S311 no secret
    crowds = sorted(chance.uniform(0, DAY_S) for _ in range(plan.crowds))
    steps = [_curve_at(plan, step * RATE_STEP_S) for step in range(int(DAY_S / RATE_STEP_S))]
    for crowd_s in crowds:
        for step in range(int(crowd_s // RATE_STEP_S), int((crowd_s + CROWD_S) // RATE_STEP_S)):
            steps[step % len(steps)] *= CROWD_FACTOR
    return lambda at_s: steps[int(at_s // RATE_STEP_S) % len(steps)]


def _curve_at(plan: DayPlan, at_s: float) -> float:
    """Consumers by a sine, lowest at 04:00 of each region; offices by their recorded hours."""
    shift_s = DAY_S / plan.regions
    total = 0.0
    for region in range(plan.regions):
        local_s = at_s + region * shift_s
        consumers = 1 + plan.swing * math.sin(2 * math.pi * (local_s - 10 * HOUR_S) / DAY_S)
        total += consumers if region or not plan.office_share else 0.0
    if not plan.office_share:
        return total / plan.regions
    mean = sum(OFFICE) / len(OFFICE)
    office = OFFICE[int(at_s // HOUR_S) % len(OFFICE)] / mean
    return (1 - plan.office_share) * total / max(1, plan.regions - 1) + plan.office_share * office


def _zipf(count: int, power: float) -> Sequence[float]:
    shares = list(accumulate((rank + 1) ** -power for rank in range(count)))
    return [each / shares[-1] for each in shares]


def _pick(added_up: Sequence[float], chance: random.Random) -> int:
    return min(bisect(added_up, chance.random() * added_up[-1]), len(added_up) - 1)
