"""Everybody gets GPU time by weight, whatever they queue and however much of it."""

import random
from collections import Counter
from collections.abc import Sequence

import pytest

from tests.simulation.simulator import Job, Run, Simulation

JOB_S = {1: 20.0, 2: 60.0, 5: 150.0}  # weight, and how long each of that tenant's jobs takes


def gpu_seconds(runs: Sequence[Run]) -> Counter[int]:
    total: Counter[int] = Counter()
    for run in runs:
        total[run.job.tenant] += round(run.job.cost_s)
    return total


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("workflows", [("a", "a", "a"), ("a", "b", "c"), ("a", "a", "b")])
def test_shares_are_within_a_tenth_of_the_weights(workflows: tuple[str, ...], fleet_size: int) -> None:
    simulation, lasts_s = Simulation([frozenset("abc")] * fleet_size), 1800.0
    for (weight, job_s), workflow in zip(JOB_S.items(), workflows, strict=True):
        enough = int(1.3 * fleet_size * lasts_s / job_s * weight / sum(JOB_S))
        simulation.arrive((0.0, Job(weight, workflow, cost_s=job_s, weight=weight)) for _ in range(enough))
    got = gpu_seconds(simulation.run(lasts_s))
    for weight in JOB_S:
        assert got[weight] / got.total() == pytest.approx(weight / sum(JOB_S), rel=0.1)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("workflow", ["crowded", "other"])
def test_ten_thousand_jobs_of_one_delay_the_first_of_another_by_about_one_job_a_worker(
    workflow: str, fleet_size: int
) -> None:
    simulation = Simulation([frozenset({"crowded", "other"})] * fleet_size)
    simulation.arrive((0.0, Job(1, "crowded")) for _ in range(100 * fleet_size))
    comes_s = [100.0, 1000.0, 3000.0]
    simulation.arrive((at_s, Job(2, workflow)) for at_s in comes_s)
    simulation.run(3600.0)
    waited = [run.waited_s for run in simulation.runs if run.job.tenant == 2]
    assert len(waited) == len(comes_s)
    # One worker's job lasts 60 s and a fifth; with this many, one of them is free far sooner.
    assert max(waited) < 60.0 * 1.2


@pytest.mark.parametrize("own_lane", [False, True])
def test_half_of_the_backlog_gives_no_more_than_one_share_in_a_thousand(own_lane: bool) -> None:
    simulation, each = Simulation([frozenset({"big", "small"})] * 100), 15
    jobs = [Job(0, "big" if own_lane else "small") for _ in range(20_000)]
    jobs += [Job(tenant, "small") for tenant in range(1, 1000) for _ in range(20)]
    random.Random(3).shuffle(jobs)
    simulation.arrive((0.0, job) for job in jobs)
    simulation.run(each * 1000 / 100 * 60.0)
    got = gpu_seconds(simulation.runs[: each * 1000])
    assert got[0] / got.total() == pytest.approx(1 / 1000, rel=0.1)
    assert min(got.values()) / got.total() == pytest.approx(1 / 1000, rel=0.1)


def test_who_was_away_gets_neither_arrears_nor_a_penalty_for_the_others() -> None:
    simulation = Simulation([frozenset("ab")] * 100)
    simulation.arrive((0.0, Job(1, "a")) for _ in range(20_000))
    simulation.arrive((3600.0, Job(2, "b")) for _ in range(20_000))
    simulation.run(7200.0)
    got = gpu_seconds([run for run in simulation.runs if run.started_s >= 3600.0])
    assert got[1] / got.total() == pytest.approx(0.5, rel=0.1)


def test_what_another_fleet_runs_costs_nobody_a_turn() -> None:
    """Tenant 1 is busy on a fleet of its own; on the one it shares with tenant 2 it still gets half."""
    simulation = Simulation([frozenset({"own"})] * 90 + [frozenset({"a", "b"})] * 10)
    simulation.arrive((0.0, Job(1, "own")) for _ in range(20_000))
    simulation.arrive((0.0, Job(2, "b")) for _ in range(2_000))
    simulation.arrive((1800.0, Job(1, "a")) for _ in range(2_000))
    simulation.run(7200.0)
    shared = [run for run in simulation.runs if run.job.workflow != "own" and run.started_s >= 1800.0]
    got = gpu_seconds(shared)
    assert got[1] / got.total() == pytest.approx(0.5, rel=0.1)
