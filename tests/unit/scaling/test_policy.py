"""The formulas, case by case."""

from dataclasses import replace

import pytest

from comfyfleet.scaling import (
    CapacityRest,
    Eagerness,
    EndReason,
    Hold,
    LaunchAnswer,
    LaunchError,
    LaunchProblem,
    LaunchRequest,
    MachineState,
    Market,
    Reason,
    ScalingSettings,
    ScalingState,
    StartTimes,
    decide,
    learn_launch,
    learn_start_times,
    resume_launches,
)
from tests.unit.scaling.fleets import LARGE, NOW_S, PLAIN, SMALL, full_window, inputs, ready, starting

FRESH = ScalingState()


def test_from_zero_one_machine_is_asked_for_when_anything_waits() -> None:
    decision, _ = decide(inputs(waiting=1, queued_gpu_s=0.01), PLAIN, FRESH)
    assert (decision.desired, decision.reason) == (1, Reason.WAKE)
    assert decision.launches == (LaunchRequest("plain", Market.ON_DEMAND, "", 1),)


def test_nothing_waits_and_nothing_arrives_nothing_is_done() -> None:
    decision, _ = decide(inputs(), PLAIN, FRESH)
    assert (decision.desired, decision.reason, decision.launches) == (0, Reason.STEADY, ())


@pytest.mark.parametrize(
    ("eagerness", "desired"), [(Eagerness.CALM, 18), (Eagerness.NORMAL, 20), (Eagerness.EAGER, 24)]
)
def test_the_load_is_staffed_with_its_square_root_to_spare(eagerness: Eagerness, desired: int) -> None:
    settings = replace(PLAIN, eagerness=eagerness)
    seen = inputs([ready(number) for number in range(14)], arriving_15m=16.0)
    decision, _ = decide(seen, settings, FRESH)
    assert (decision.desired, decision.reason) == (desired, Reason.LOAD)


def test_the_short_average_counts_less_half_its_root() -> None:
    seen = inputs([ready(number) for number in range(30)], arriving_3m=36.0, arriving_15m=10.0)
    decision, _ = decide(seen, PLAIN, FRESH)
    assert decision.figures.load == pytest.approx(33.0)


def test_the_backlog_that_would_remain_is_spread_over_a_start() -> None:
    # Q + λC − nC − W·n = 20,000 + 4·180 − 4·180 − 30·4 = 19,880; ÷ 180 = 110.4 → 111, but at most twice as many.
    machines = [ready(number, leases=1) for number in range(4)]
    seen = inputs(machines, waiting=700, queued_gpu_s=20_000.0, arriving_3m=0.0, arriving_15m=4.0)
    decision, _ = decide(seen, PLAIN, FRESH)
    assert decision.figures.residual_gpu_s == pytest.approx(19_880)
    assert decision.desired == 8
    assert [held.hold for held in decision.held] == [Hold.GROWTH]


def test_machines_that_start_are_counted_for_what_they_will_do_in_time() -> None:
    young = inputs([starting(1, age_s=0.0)], waiting=10, queued_gpu_s=200.0)
    old = inputs([starting(1, age_s=170.0)], waiting=10, queued_gpu_s=200.0)
    assert decide(young, PLAIN, FRESH)[0].figures.residual_gpu_s == pytest.approx(170.0)
    assert decide(old, PLAIN, FRESH)[0].figures.residual_gpu_s == pytest.approx(0.0)


def test_a_learned_start_replaces_the_first_guess() -> None:
    seen = inputs([ready(1, leases=1)], waiting=9, queued_gpu_s=1_000.0)
    guessed, _ = decide(seen, PLAIN, FRESH)
    learned, _ = decide(replace(seen, start=StartTimes(60.0, 90.0, 20)), PLAIN, FRESH)
    assert (guessed.figures.start_s, learned.figures.start_s) == (180.0, 60.0)
    assert learned.figures.residual_gpu_s > guessed.figures.residual_gpu_s
    assert learn_start_times([50.0, 60.0, 55.0]) is None
    times = learn_start_times([50.0, 60.0, 55.0, 70.0, 200.0, 65.0, 58.0, 52.0])
    assert times is not None
    assert (times.p75_s, times.p99_s) == (65.0, 200.0)


def test_a_surplus_is_drained_once_it_has_lasted_and_never_while_something_waits() -> None:
    machines = [ready(number, idle_since_s=NOW_S - 100) for number in range(10)]
    early, state = decide(inputs(machines, arriving_15m=1.0), PLAIN, full_window(8.0, from_s=100.0))
    assert early.drains == ()
    late, _ = decide(inputs(machines, arriving_15m=1.0), PLAIN, full_window(8.0))
    assert (len(late.drains), late.desired, late.reason) == (8, 2, Reason.SURPLUS)
    busy, state = decide(inputs(machines, waiting=1, queued_gpu_s=1.0), PLAIN, full_window(8.0))
    assert busy.drains == ()
    # The one moment in which something waited counts for the whole delay that follows.
    after, _ = decide(replace(inputs(machines), at_s=NOW_S + 10), PLAIN, state)
    assert after.drains == ()


def test_a_gap_between_looks_starts_the_delay_anew() -> None:
    machines = [ready(number) for number in range(4)]
    decision, _ = decide(replace(inputs(machines), at_s=NOW_S + 5_000), PLAIN, full_window(4.0))
    assert decision.drains == ()


def test_busy_warm_cheap_and_young_workers_stay_longest() -> None:
    settings = ScalingSettings((SMALL, LARGE), max_workers=100)

    def small(number: int, **changes: object) -> object:
        return ready(number, machine_class="small", market=Market.SPOT, **changes)

    machines = [
        small(1),
        small(2, leases=1),
        ready(3, machine_class="small", market=Market.ON_DEMAND),
        small(4, image_at_s=-5.0),
        small(5, idle_since_s=NOW_S - 900),
        ready(6, managed=False),
    ]
    order = []
    for count in (1, 2, 3, 4, 5):
        decision, _ = decide(inputs(machines), settings, full_window(float(count)))  # type: ignore[arg-type]
        order.append(decision.drains)
    assert order[-1] == ("w3", "w4", "w5", "w1")
    assert order[1] == ("w3", "w4")


def test_drained_and_empty_machines_end_and_orphans_with_them() -> None:
    machines = [
        ready(1, state=MachineState.DRAINING),
        ready(2, state=MachineState.DRAINING, leases=1),
        ready(3, state=MachineState.ORPHANED),
    ]
    decision, _ = decide(inputs(machines), PLAIN, FRESH)
    assert {(end.machine_id, end.reason) for end in decision.ends} == {
        ("r1", EndReason.DRAINED),
        ("r3", EndReason.ORPHANED),
    }


def test_one_machine_that_registers_after_them_ends_a_row_of_failures() -> None:
    failed = tuple(NOW_S - 1_000 + number for number in range(5))
    state = ScalingState(failed_launches_at_s=failed)
    seen = inputs([ready(1, launched_at_s=NOW_S - 500)], waiting=500, queued_gpu_s=50_000.0)
    decision, after = decide(seen, PLAIN, state)
    assert decision.launches
    assert after.failed_starts == 0
    # One that was launched before them proves nothing.
    seen = inputs([ready(1, launched_at_s=NOW_S - 5_000)], waiting=500, queued_gpu_s=50_000.0)
    assert not decide(seen, PLAIN, state)[0].launches
    assert decide(seen, PLAIN, resume_launches(state))[0].launches


def test_stuck_machines_of_a_batch_that_came_up_do_not_stop_launches() -> None:
    batch = [ready(number, launched_at_s=NOW_S - 700) for number in range(20)]
    stuck = [starting(number, age_s=700.0) for number in range(5)]
    seen = inputs([*batch, *stuck], waiting=5_000, queued_gpu_s=500_000.0)
    decision, after = decide(seen, PLAIN, ScalingState(starting=frozenset(each.id for each in stuck)))
    assert len(decision.ends) == 5
    assert after.failed_starts == 0
    assert decision.launches


def test_capacity_errors_rest_a_place_and_the_next_one_is_tried() -> None:
    settings = ScalingSettings((SMALL, LARGE), max_workers=100)
    seen = inputs(waiting=5, queued_gpu_s=500.0)
    state, asked = FRESH, []
    none = LaunchAnswer((), (LaunchError(LaunchProblem.CAPACITY, "none left"),))
    for _ in range(6):
        decision, state = decide(seen, settings, state)
        (request,) = decision.launches
        asked.append((request.machine_class, request.market.value, request.zone))
        state = learn_launch(state, request, none, at_s=NOW_S)
    # Spot before on demand, the cheapest work first, each zone of a class before the next class.
    assert asked == [
        ("small", "spot", "a"),
        ("small", "spot", "b"),
        ("large", "spot", "a"),
        ("small", "on_demand", "a"),
        ("small", "on_demand", "b"),
        ("large", "on_demand", "a"),
    ]
    decision, state = decide(seen, settings, state)
    assert not decision.launches
    assert [held.hold for held in decision.held] == [Hold.NO_CAPACITY]
    # After the rest it is tried again; a second failure rests longer, a success clears it.
    later, state = decide(replace(seen, at_s=NOW_S + 121), settings, state)
    (request,) = later.launches
    state = learn_launch(state, request, none, at_s=NOW_S + 121)
    assert next(rest for rest in state.rests if rest.place == request.place).until_s == NOW_S + 121 + 240
    state = learn_launch(state, request, LaunchAnswer(("m",)), at_s=NOW_S + 400)
    assert request.place not in {rest.place for rest in state.rests}


def test_launches_are_spread_over_zones() -> None:
    settings = ScalingSettings((SMALL,), min_workers=2, max_workers=100)
    machines = [ready(number, machine_class="small", market=Market.SPOT, zone="a") for number in range(4)]
    decision, _ = decide(inputs(machines, arriving_15m=6.0), settings, FRESH)
    assert decision.launches == (LaunchRequest("small", Market.SPOT, "b", 4),)


def test_the_budget_buys_what_fits_and_says_what_did_not() -> None:
    settings = ScalingSettings((SMALL,), max_workers=100, budget_per_hour=2.5)
    machines = [ready(number, machine_class="small", market=Market.SPOT, leases=1) for number in range(5)]
    decision, _ = decide(inputs(machines, waiting=500, queued_gpu_s=50_000.0), settings, FRESH)
    assert sum(each.number for each in decision.launches) == 1
    assert [held.hold for held in decision.held] == [Hold.BUDGET]
    unknown = [*machines, ready(9, machine_class="other")]
    decision, _ = decide(inputs(unknown, waiting=500, queued_gpu_s=50_000.0), settings, FRESH)
    assert not decision.launches
    assert "other (on_demand) has no price" in decision.text


def test_a_lowered_maximum_drains_the_idle_at_once() -> None:
    settings = replace(PLAIN, max_workers=3)
    machines = [ready(number, leases=number % 2) for number in range(6)]
    decision, _ = decide(inputs(machines, waiting=4, queued_gpu_s=100.0, arriving_15m=9.0), settings, FRESH)
    assert len(decision.drains) == 3
    assert {each.worker_id for each in machines if each.leases}.isdisjoint(decision.drains)


def test_the_minimum_is_kept_when_nothing_comes() -> None:
    settings = replace(PLAIN, min_workers=2)
    decision, _ = decide(inputs([ready(1)]), settings, FRESH)
    assert (decision.desired, decision.reason) == (2, Reason.MINIMUM)


def test_a_buffer_stands_ready_beyond_the_load() -> None:
    decision, _ = decide(inputs([ready(1)]), replace(PLAIN, buffer=2), FRESH)
    assert (decision.desired, decision.reason) == (2, Reason.BUFFER)


def test_a_rest_is_over_when_it_is_over() -> None:
    rest = CapacityRest("plain", Market.ON_DEMAND, "", NOW_S, 1)
    seen = inputs(waiting=1, queued_gpu_s=1.0)
    assert decide(seen, PLAIN, ScalingState(rests=(rest,)))[0].launches
    assert not decide(seen, PLAIN, ScalingState(rests=(replace(rest, until_s=NOW_S + 1),)))[0].launches


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -1.0])
@pytest.mark.parametrize("name", ["queued_gpu_s", "arriving_3m", "arriving_15m"])
def test_inputs_that_are_no_numbers_hold(name: str, bad: float) -> None:
    decision, _ = decide(inputs([ready(1)], **{name: bad}), replace(PLAIN, min_workers=5), FRESH)
    assert not decision.launches
    assert [held.hold for held in decision.held] == [Hold.BAD_INPUTS]
    assert name in decision.text


def test_a_machine_listed_twice_holds() -> None:
    decision, _ = decide(inputs([ready(1), ready(1)]), replace(PLAIN, min_workers=5), FRESH)
    assert [held.hold for held in decision.held] == [Hold.BAD_INPUTS]
