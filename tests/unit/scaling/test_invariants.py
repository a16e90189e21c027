"""What no decision may do, whatever it is told."""

from hypothesis import example, given
from hypothesis import strategies as st

from comfyfleet.scaling import (
    EndReason,
    FleetMachine,
    Hold,
    MachineState,
    ScalingInputs,
    ScalingSettings,
    ScalingState,
    decide,
    from_json,
    may_end,
    to_json,
)
from comfyfleet.scaling.policy import FAILED_STARTS_MAX, LAUNCHES_MAX, STALE_S
from tests.unit.scaling.fleets import PLAIN, any_inputs, any_settings, any_state, inputs, starting

everything = given(any_inputs(), any_settings(), any_state())


def present(seen: ScalingInputs) -> int:
    return sum(each.state in (MachineState.READY, MachineState.STARTING) for each in seen.machines)


@everything
def test_a_machine_that_holds_a_lease_is_neither_ended_nor_drained(
    seen: ScalingInputs, settings: ScalingSettings, state: ScalingState
) -> None:
    decision, _ = decide(seen, settings, state)
    machines = {each.id: each for each in seen.machines}
    for end in decision.ends:
        assert machines[end.machine_id].leases == 0
        assert machines[end.machine_id].managed
        assert machines[end.machine_id].state is not MachineState.READY
        assert may_end(machines[end.machine_id], end.reason)
    by_worker = {each.worker_id: each for each in seen.machines}
    for worker in decision.drains:
        assert by_worker[worker].leases == 0
        assert by_worker[worker].managed
        assert by_worker[worker].state is MachineState.READY


@everything
def test_launches_stay_within_maximum_doubling_budget_and_resting_places(
    seen: ScalingInputs, settings: ScalingSettings, state: ScalingState
) -> None:
    decision, _ = decide(seen, settings, state)
    launched = sum(each.number for each in decision.launches)
    if not launched:
        return
    assert launched <= max(1, present(seen))
    assert launched <= LAUNCHES_MAX
    assert len(seen.machines) - sum(end.reason is EndReason.NEVER_REGISTERED for end in decision.ends) + launched <= (
        settings.max_workers
    )
    assert not {each.place for each in decision.launches} & {
        rest.place for rest in state.rests if rest.until_s > seen.at_s
    }
    classes = {each.name: each for each in settings.classes}
    if settings.budget_per_hour is not None:
        prices = {(each.name, offer.market): offer.price for each in settings.classes for offer in each.offers}
        paid = [(each.machine_class, each.market, 1) for each in seen.machines if each.managed]
        paid += [(each.machine_class, each.market, each.number) for each in decision.launches]
        total = 0.0
        for name, market, number in paid:
            price = prices[name, market]
            assert price is not None
            total += price * number
        assert total <= settings.budget_per_hour + 1e-3
    for each in decision.launches:
        assert each.zone in classes[each.machine_class].zones
        assert each.number > 0


@everything
def test_stale_inputs_change_nothing(seen: ScalingInputs, settings: ScalingSettings, state: ScalingState) -> None:
    decision, after = decide(seen, settings, state)
    if seen.age_s > STALE_S:
        assert (decision.launches, decision.drains, decision.ends) == ((), (), ())
        assert [held.hold for held in decision.held] == [Hold.STALE_INPUTS]
        assert after == state
        assert decision.desired == present(seen)


@everything
def test_a_decision_never_goes_below_the_minimum_by_its_own_doing(
    seen: ScalingInputs, settings: ScalingSettings, state: ScalingState
) -> None:
    decision, _ = decide(seen, settings, state)
    if decision.drains:
        assert decision.desired >= min(settings.min_workers, settings.max_workers)
        assert not decision.launches
    if seen.waiting and present(seen) <= settings.max_workers:
        assert not decision.drains


@everything
def test_rows_give_back_what_was_kept_and_decide_the_same(
    seen: ScalingInputs, settings: ScalingSettings, state: ScalingState
) -> None:
    decision, after = decide(seen, settings, state)
    replayed = decide(
        from_json(to_json(seen), ScalingInputs),
        from_json(to_json(settings), ScalingSettings),
        from_json(to_json(state), ScalingState),
    )
    assert replayed == (decision, after)


@example(ages=[700.0, 701.0, 702.0])
@given(ages=st.lists(st.floats(0, 2_000), min_size=0, max_size=12))
def test_three_machines_in_a_row_that_never_register_stop_launches(ages: list[float]) -> None:
    machines = [starting(number, age_s=age_s) for number, age_s in enumerate(ages)]
    state = ScalingState(starting=frozenset(each.id for each in machines))
    seen = inputs(machines, waiting=500, queued_gpu_s=50_000.0)
    decision, after = decide(seen, PLAIN, state)
    overdue = {each.id for each in machines if seen.at_s - each.launched_at_s > 600}
    assert {end.machine_id for end in decision.ends} == overdue
    assert after.failed_starts == len(overdue)
    assert bool(decision.launches) == (len(overdue) < FAILED_STARTS_MAX)
    assert (Hold.NOT_REGISTERING in {held.hold for held in decision.held}) == (len(overdue) >= FAILED_STARTS_MAX)


@given(any_inputs(), st.sampled_from(EndReason))
def test_nothing_that_a_recheck_finds_leased_or_registered_may_end(seen: ScalingInputs, reason: EndReason) -> None:
    def ends(machine: FleetMachine) -> bool:
        return may_end(machine, reason)

    for machine in filter(ends, seen.machines):
        assert machine.leases == 0
        assert machine.state is not MachineState.READY
