"""What a simulation amounts to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comfyfleet.simulate.plan import LATE, Plan
from comfyfleet.simulate.tally import Tally, figures_of, quantile


def plan_of(workers: int, jobs: int, tenants: int = 2) -> Plan:
    return Plan(workers, jobs, tenants, run_s=1.0, output_bytes=0)


def run(tally: Tally, job: str, tenant: str, worker: int, *, ordered: float, began: float, ended: float) -> None:
    tally.order(job, tenant, ordered)
    tally.begin(job, worker, began)
    tally.end(job, ended)
    tally.deliver(job, completed=True)


@given(jobs=st.integers(1, 30_000), tenants=st.integers(1, 20))
def test_every_job_is_somebodys_and_the_first_has_about_half(jobs: int, tenants: int) -> None:
    shares = plan_of(1, jobs, tenants).shares()
    assert sum(shares.values()) == jobs
    assert len(shares) == tenants
    others = [count for name, count in shares.items() if name not in ("tenant-1", LATE)]
    if others:
        assert max(others) - min(others) <= 1
        assert abs(shares["tenant-1"] - sum(others)) <= 1


def test_two_plans_of_one_seed_have_the_same_jobs_around_the_same_length() -> None:
    plan = plan_of(1, 1000)
    lengths = [plan.run_s_of(number) for number in range(1000)]
    assert lengths == [plan_of(9, 9).run_s_of(number) for number in range(1000)]
    assert 0.5 <= min(lengths) < 0.6
    assert 1.4 < max(lengths) <= 1.5
    assert sum(lengths) / 1000 == pytest.approx(1.0, abs=0.05)


def test_a_gpu_that_waits_between_jobs_is_seen() -> None:
    """One worker: 8 s of work, a second of nothing after each 4 s."""
    tally = Tally()
    for number in range(3):
        run(tally, f"job-{number}", "a", 0, ordered=0, began=number * 5, ended=number * 5 + 4)
    found = figures_of(tally, plan_of(1, 3))
    assert found.gpu_busy_share == pytest.approx(0.8)
    assert (found.idle_p50_ms, found.idle_p99_ms) == (1000, 1000)
    assert (found.completed, found.seconds) == (3, 14)
    assert found.wait_p99_s == 10


def test_as_much_for_each_is_fair_and_all_for_one_is_not() -> None:
    for even, fairness in ((True, 1.0), (False, 0.5)):
        tally = Tally()
        for number in range(8):
            tenant = "a" if even and number % 2 else "b"
            run(tally, f"job-{number}", tenant, number % 2, ordered=0, began=number // 2, ended=number // 2 + 1)
        run(tally, "last", "a", 0, ordered=0, began=4, ended=4.001)
        tally.even = (0.0, 4.0)
        found = figures_of(tally, plan_of(2, 9)).fairness
        assert found == pytest.approx(fairness, abs=0.01)


def test_fairness_is_judged_by_the_longest_time_in_which_all_had_something_waiting() -> None:
    tally = Tally()
    tally.order("a-1", "a", 0.0)
    tally.look(["a", "b"], 0.0)
    tally.order("b-1", "b", 1.0)
    for at in (1.0, 2.0, 4.0):
        tally.look(["a", "b"], at)
    tally.begin("b-1", 0, 4.5)
    tally.look(["a", "b"], 5.0)
    tally.order("b-2", "b", 6.0)
    for at in (6.0, 7.0):
        tally.look(["a", "b"], at)
    assert tally.even == (1.0, 4.0)


def test_a_job_that_began_before_its_order_was_answered_has_not_waited() -> None:
    tally = Tally()
    tally.begin("job", 0, 1.0)
    tally.order("job", "a", 2.0)
    tally.end("job", 3.0)
    assert tally.waiting["a"] == 0
    assert figures_of(tally, plan_of(1, 1)).wait_p50_s == 0.0


def test_a_job_that_runs_again_is_counted_and_delivered_once() -> None:
    tally = Tally()
    run(tally, "job", "a", 0, ordered=0, began=1, ended=2)
    tally.begin("job", 1, 3.0)
    tally.end("job", 4.0)
    tally.deliver("job", completed=True)
    found = figures_of(tally, plan_of(2, 1))
    assert (found.completed, found.repeated) == (1, 1)


def test_quantiles_of_nothing_are_nothing() -> None:
    assert quantile([], 0.5) is None
    assert quantile([1.0], 0.99) == 1.0
