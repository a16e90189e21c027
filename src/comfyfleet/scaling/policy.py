"""One decision for one fleet: `decide`. The server, the simulator and the tests run these lines.

The caller reads the inputs, stores the new state and the decision, and carries the decision out: launch, drain, end.
It never ends a machine that holds a lease, and neither does a decision: `may_end` is asked again just before.
"""

import math
from collections.abc import Collection, Sequence

from comfyfleet.kernel.durations import seconds_text
from comfyfleet.scaling.demand import (
    SLACK,
    Fleet,
    Need,
    price_of,
    sample_surplus,
    sort_machines,
    spend_per_hour,
    sum_up,
    work_out_need,
)
from comfyfleet.scaling.model import (
    CapacityRest,
    EndReason,
    FleetMachine,
    Held,
    Hold,
    LaunchRequest,
    MachineEnd,
    MachineState,
    Reason,
    ScalingDecision,
    ScalingInputs,
    ScalingSettings,
    ScalingState,
)
from comfyfleet.scaling.placement import LaunchLimits, place_launches

STALE_S = 120.0
REGISTER_WITHIN_S_MIN = 600.0
FAILED_STARTS_MAX = 3
FAILED_LAUNCHES_KEPT = 20
LAUNCHES_MAX = 100  # a tick
# How long a rest that is over is remembered, so that the next one there is longer.
REST_REMEMBERED_S = 3600.0


def decide(
    inputs: ScalingInputs, settings: ScalingSettings, state: ScalingState
) -> tuple[ScalingDecision, ScalingState]:
    """What to do now, and the state for the next tick."""
    fleet = sort_machines(inputs, settings)
    problem = _unusable(inputs)
    if problem is not None:
        return _hold(problem, fleet, state), state
    need = work_out_need(inputs, settings, fleet)
    samples, surplus = sample_surplus(state.surplus, inputs, settings, need)
    ends, overdue = _ends(inputs, fleet, settings)
    registered_at_s, failed = _failed_launches(state, fleet, overdue)
    launches, holds = _launches(inputs, settings, fleet, need, state, failed_starts=len(failed), overdue=overdue)
    launched = sum(each.number for each in launches)
    drains = () if launched else _drains(inputs, settings, fleet, need, surplus)
    new = ScalingState(
        surplus=samples,
        rests=tuple(rest for rest in state.rests if rest.until_s > inputs.at_s - REST_REMEMBERED_S),
        failed_launches_at_s=failed,
        registered_at_s=registered_at_s,
        starting=frozenset(each.id for each in fleet.starting if each.id not in overdue),
        decided_at_s=inputs.at_s,
    )
    decision = ScalingDecision(
        desired=max(0, fleet.present - len(overdue) + launched - len(drains)),
        reason=_reason(inputs, settings, fleet, need, launched=launched, drains=drains, holds=holds),
        launches=launches,
        drains=drains,
        ends=ends,
        rests=tuple(rest for rest in new.rests if rest.until_s > inputs.at_s),
        held=holds,
        figures=sum_up(inputs, fleet, need, surplus),
    )
    return decision, new


def may_end(machine: FleetMachine, reason: EndReason) -> bool:
    """Whether this machine, as it is known now, may be terminated for this reason."""
    if not machine.managed or machine.leases > 0:
        return False
    expected = {
        EndReason.DRAINED: MachineState.DRAINING,
        EndReason.NEVER_REGISTERED: MachineState.STARTING,
        EndReason.ORPHANED: MachineState.ORPHANED,
    }
    return machine.state is expected[reason]


def register_within_s(inputs: ScalingInputs) -> float:
    """A machine without a worker after this long is taken for broken."""
    return max(REGISTER_WITHIN_S_MIN, 2 * inputs.start.p99_s if inputs.start is not None else 0.0)


# ── inputs that say nothing ──


def _unusable(inputs: ScalingInputs) -> Held | None:
    if inputs.age_s > STALE_S:
        return Held(
            Hold.STALE_INPUTS,
            f"inputs are {seconds_text(inputs.age_s)} old, at most {seconds_text(STALE_S)} are acted on",
        )
    numbers = {
        "queued_gpu_s": inputs.queued_gpu_s,
        "arriving_3m": inputs.arriving_3m,
        "arriving_15m": inputs.arriving_15m,
        "waiting": inputs.waiting,
        "age_s": inputs.age_s,
    }
    if inputs.start is not None:
        numbers |= {"start.p75_s": inputs.start.p75_s, "start.p99_s": inputs.start.p99_s}
    for name, value in numbers.items():
        if not (math.isfinite(value) and value >= 0):
            return Held(Hold.BAD_INPUTS, f"{name} is {value}, not a number from 0")
    if len({each.id for each in inputs.machines}) < len(inputs.machines):
        return Held(Hold.BAD_INPUTS, "a machine is listed twice")
    return None


def _hold(problem: Held, fleet: Fleet, state: ScalingState) -> ScalingDecision:
    return ScalingDecision(desired=fleet.present, reason=Reason.HELD, held=(problem,), rests=state.rests)


# ── machines to end ──


def _ends(
    inputs: ScalingInputs, fleet: Fleet, settings: ScalingSettings
) -> tuple[tuple[MachineEnd, ...], frozenset[str]]:
    """Drained and empty, left behind, or never registered; and the ids of the last."""
    patience_s = register_within_s(inputs)
    overdue = [
        each
        for each in fleet.starting
        if inputs.at_s - each.launched_at_s > patience_s and may_end(each, EndReason.NEVER_REGISTERED)
    ]
    ends = [MachineEnd(each.id, EndReason.NEVER_REGISTERED) for each in overdue]
    for reason, machines in ((EndReason.DRAINED, fleet.draining), (EndReason.ORPHANED, fleet.orphaned)):
        ends += [MachineEnd(each.id, reason) for each in machines if may_end(each, reason)]
    return tuple(ends), frozenset(each.id for each in overdue)


def _failed_launches(
    state: ScalingState, fleet: Fleet, overdue: Collection[str]
) -> tuple[float | None, tuple[float, ...]]:
    """When the newest machine that registered was launched, and when those after it that did not; each counts once."""
    registered = [each.launched_at_s for each in (*fleet.ready, *fleet.draining, *fleet.orphaned) if each.managed]
    if state.registered_at_s is not None:
        registered.append(state.registered_at_s)
    newest = max(registered, default=None)
    seen = [each.launched_at_s for each in fleet.starting if each.id in overdue and each.id in state.starting]
    failed = (*state.failed_launches_at_s, *seen)[-FAILED_LAUNCHES_KEPT:]
    return newest, tuple(each for each in failed if newest is None or each > newest)


# ── machines to launch ──


def _launches(
    inputs: ScalingInputs,
    settings: ScalingSettings,
    fleet: Fleet,
    need: Need,
    state: ScalingState,
    *,
    failed_starts: int,
    overdue: Collection[str],
) -> tuple[tuple[LaunchRequest, ...], tuple[Held, ...]]:
    present = fleet.present - len(overdue)
    lost = sum(fleet.speed(each) for each in fleet.starting if each.id in overdue)
    lacking = max(need.lacking, need.base - (need.capacity - lost), 0.0)
    least = max(settings.min_workers - present, 1 if inputs.waiting and not present else 0, 0)
    if lacking <= SLACK and not least:
        return (), ()
    if failed_starts >= FAILED_STARTS_MAX:
        text = f"{failed_starts} machines in a row never registered; look at their logs, then resume launches"
        return (), (Held(Hold.NOT_REGISTERING, text),)
    # Those that still drain are paid and hold a place: the maximum counts them too.
    room = max(0, settings.max_workers - (fleet.machines - len(overdue)))
    growth = min(LAUNCHES_MAX, max(1, present))
    money, unpriced = _money_left(inputs, settings, fleet)
    limits = LaunchLimits(lacking, least, min(room, growth), money)
    placed = place_launches(limits, settings, fleet, state.rests, inputs.at_s)
    holds = []
    short = placed.count < least or sum(_speed(each, fleet) for each in placed.launches) < lacking - SLACK
    if unpriced is not None:
        holds.append(Held(Hold.BUDGET, f"{unpriced} has no price, and budget_per_hour is set"))
    elif placed.out_of_money:
        holds.append(Held(Hold.BUDGET, f"budget_per_hour {settings.budget_per_hour:g} is reached"))
    elif placed.out_of_places:
        holds.append(Held(Hold.NO_CAPACITY, _no_capacity(state.rests, inputs.at_s)))
    elif short and room <= growth:
        holds.append(Held(Hold.MAXIMUM, f"max_workers is {settings.max_workers}"))
    elif short:
        holds.append(Held(Hold.GROWTH, f"at most {growth} launches in this tick"))
    return placed.launches, tuple(holds)


def _speed(request: LaunchRequest, fleet: Fleet) -> float:
    return request.number * fleet.classes[request.machine_class].speed


def _money_left(inputs: ScalingInputs, settings: ScalingSettings, fleet: Fleet) -> tuple[float, str | None]:
    """Dollars per hour, and the machine whose price keeps them from being known."""
    if settings.budget_per_hour is None:
        return math.inf, None
    spent = spend_per_hour(inputs.machines, fleet.classes)
    if spent is None:
        unpriced = next(each for each in inputs.machines if each.managed and price_of(each, fleet.classes) is None)
        return -math.inf, f"{unpriced.machine_class} ({unpriced.market.value})"
    return settings.budget_per_hour - spent, None


def _no_capacity(rests: Sequence[CapacityRest], at_s: float) -> str:
    soonest = min((rest.until_s - at_s for rest in rests if rest.until_s > at_s), default=0.0)
    return f"every class and zone rests after a failed launch; the next try is in {seconds_text(soonest)}"


# ── workers to drain ──


def _drains(
    inputs: ScalingInputs, settings: ScalingSettings, fleet: Fleet, need: Need, surplus: float
) -> tuple[str, ...]:
    """Idle workers, up to the surplus: cold for what waits, then dearest, oldest image, longest idle first."""
    too_many = max(0, fleet.present - settings.max_workers)
    if surplus < SLACK and not too_many:
        return ()
    chosen: list[str] = []
    capacity, present = surplus, fleet.present
    for each in sorted(filter(_may_drain, fleet.ready), key=lambda machine: _drain_order(inputs, fleet, machine)):
        speed = fleet.speed(each)
        fits = speed <= capacity + SLACK and present > settings.min_workers
        if (fits or len(chosen) < too_many) and each.worker_id is not None:
            chosen.append(each.worker_id)
            capacity -= speed
            present -= 1
    return tuple(chosen)


def _may_drain(machine: FleetMachine) -> bool:
    return machine.managed and machine.leases == 0 and machine.worker_id is not None


def _drain_order(inputs: ScalingInputs, fleet: Fleet, machine: FleetMachine) -> tuple[bool, float, float, float, str]:
    price = price_of(machine, fleet.classes)
    idle_since_s = machine.idle_since_s if machine.idle_since_s is not None else inputs.at_s
    return (
        not machine.warm.isdisjoint(inputs.waiting_hashes),
        -(price / fleet.speed(machine)) if price is not None else 0.0,
        machine.image_at_s,
        idle_since_s,
        machine.id,
    )


def _reason(
    inputs: ScalingInputs,
    settings: ScalingSettings,
    fleet: Fleet,
    need: Need,
    *,
    launched: int,
    drains: Sequence[str],
    holds: Sequence[Held],
) -> Reason:
    if drains:
        return Reason.SURPLUS
    if not launched:
        return Reason.HELD if holds else Reason.STEADY
    if inputs.waiting and not fleet.present:
        return Reason.WAKE
    if need.backlog > max(SLACK, need.base - need.capacity):
        return Reason.BACKLOG
    if need.base - need.capacity > SLACK:
        return Reason.LOAD if need.base - settings.buffer - need.capacity > SLACK else Reason.BUFFER
    return Reason.MINIMUM
