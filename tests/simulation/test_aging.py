"""A low priority waits longer, and not for ever; shown at 120 % load, and shown to fail without aging."""

import random
from collections import defaultdict
from collections.abc import Iterator

import pytest

from comfyfleet.dispatch.matching import LEANINGS, Leanings
from tests.simulation.simulator import Job, Simulation

LASTS_S = 7200.0
JOB_S = 30.0
LOAD = {2: 0.6, 1: 0.4, 0: 0.2}  # by priority; together 120 %
UNAGED = Leanings(age_per_class_s=float("inf"))
# What everybody would wait at the end if there were no priorities: a sixth of the jobs has no worker.
OVERFLOW_S = LASTS_S * (1 - 1 / sum(LOAD.values()))


def longest_waits(
    leanings: Leanings, *, workflows: str = "a", tenants: int = 1, workers: int = 100
) -> dict[int, float]:
    chance = random.Random(3)
    simulation = Simulation([frozenset(workflows)] * workers, leanings=leanings)
    for priority, load in LOAD.items():
        at_s = _arrivals(workers * load / JOB_S, chance)
        simulation.arrive((at, _job(priority, workflows, tenants, chance)) for at in at_s)
    longest: dict[int, float] = defaultdict(float)
    for run in simulation.run(LASTS_S):
        longest[run.job.priority] = max(longest[run.job.priority], run.waited_s)
    for job, queued_s in simulation.waiting():
        longest[job.priority] = max(longest[job.priority], LASTS_S - queued_s)
    return longest


def _arrivals(per_s: float, chance: random.Random) -> Iterator[float]:
    at_s = chance.expovariate(per_s)
    while at_s < LASTS_S:
        yield at_s
        at_s += chance.expovariate(per_s)


def _job(priority: int, workflows: str, tenants: int, chance: random.Random) -> Job:
    return Job(chance.randrange(tenants), chance.choice(workflows), priority, JOB_S)


def test_at_120_percent_a_low_priority_waits_its_classes_longer_than_a_high_one_and_no_more() -> None:
    waits, a_class = longest_waits(LEANINGS), LEANINGS.age_per_class_s
    assert waits[2] <= OVERFLOW_S + a_class
    assert waits[0] <= OVERFLOW_S + 2 * a_class + JOB_S
    assert waits[0] - waits[2] <= 2 * a_class + JOB_S


def test_without_aging_the_low_priority_starves() -> None:
    waits, a_class = longest_waits(UNAGED), LEANINGS.age_per_class_s
    assert waits[0] > OVERFLOW_S + 2 * a_class + JOB_S
    assert waits[0] > 0.9 * LASTS_S
    assert waits[2] < JOB_S


@pytest.mark.parametrize("workflows", ["a", "abcd"])
def test_many_tenants_and_lanes_do_not_bring_starvation_back(workflows: str) -> None:
    """Fair share stretches the waits of who asks for more than the others; it does not leave anybody behind."""
    aged = longest_waits(LEANINGS, workflows=workflows, tenants=10, workers=40)
    unaged = longest_waits(UNAGED, workflows=workflows, tenants=10, workers=40)
    assert aged[0] <= 2 * (OVERFLOW_S + 2 * LEANINGS.age_per_class_s) < unaged[0]
