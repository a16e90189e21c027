"""Workers stay with what they have loaded, and nobody pays more for it than the window allows."""

import random
from collections import Counter
from dataclasses import replace

import pytest

from comfyfleet.dispatch.matching import LEANINGS, Leanings
from tests.simulation.simulator import Job, Simulation

WORKFLOWS = [f"w{number}" for number in range(8)]
NO_AFFINITY = replace(LEANINGS, affinity_window_s=0.0)
JOB_S, LASTS_S = 20.0, 1800.0


def saturated(leanings: Leanings, *, workers: int) -> Simulation:
    chance = random.Random(5)
    simulation = Simulation([frozenset(WORKFLOWS)] * workers, leanings=leanings, switch_s=20.0)
    jobs = int(workers * LASTS_S / JOB_S * 1.3)
    simulation.arrive((0.0, Job(chance.randrange(20), chance.choice(WORKFLOWS), cost_s=JOB_S)) for _ in range(jobs))
    simulation.run(LASTS_S)
    return simulation


def switches(simulation: Simulation) -> float:
    return sum(run.switched for run in simulation.runs) / len(simulation.runs)


@pytest.mark.parametrize(("workers", "fewer"), [(1, 2.5), (4, 5.0), (100, 20.0)])
def test_affinity_spares_most_model_switches_and_so_gets_more_done(workers: int, fewer: float) -> None:
    warm, cold = saturated(LEANINGS, workers=workers), saturated(NO_AFFINITY, workers=workers)
    assert switches(warm) < switches(cold) / fewer
    assert len(warm.runs) > 1.3 * len(cold.runs)


def test_affinity_leaves_the_lanes_their_shares() -> None:
    per_lane = Counter(run.job.workflow for run in saturated(LEANINGS, workers=100).runs)
    assert min(per_lane.values()) / per_lane.total() == pytest.approx(1 / len(WORKFLOWS), rel=0.1)


@pytest.mark.parametrize("leanings", [LEANINGS, NO_AFFINITY])
def test_a_cold_job_is_passed_over_no_longer_than_the_window(leanings: Leanings) -> None:
    simulation = Simulation([frozenset("ab")] * 4, leanings=leanings, jitter=0.0)
    simulation.arrive((0.0, Job(1, "a", cost_s=1.0, weight=100)) for _ in range(4_000))
    simulation.arrive([(500.0, Job(2, "b", cost_s=1.0))])
    simulation.run()
    (waited_s,) = (run.waited_s for run in simulation.runs if run.job.tenant == 2)
    # The window, and the job that was running when it closed.
    assert waited_s <= leanings.affinity_window_s + 1.0
    assert (waited_s > 1.0) == (leanings is LEANINGS)
