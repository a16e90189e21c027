"""The sums of a decision: load, backlog, surplus. One unit of capacity is a machine of speed 1."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from comfyfleet.scaling.model import (
    BETA,
    FleetMachine,
    MachineClass,
    MachineState,
    ScalingFigures,
    ScalingInputs,
    ScalingSettings,
    SurplusSample,
)

# Sums of speeds are floats: a hundredth of a worker is no worker.
SLACK = 1e-6
GAP_S_MAX = 120.0


@dataclass(frozen=True, slots=True)
class Fleet:
    """The machines of one decision, sorted by what they are."""

    ready: Sequence[FleetMachine]
    starting: Sequence[FleetMachine]
    draining: Sequence[FleetMachine]
    orphaned: Sequence[FleetMachine]
    classes: Mapping[str, MachineClass]

    @property
    def present(self) -> int:
        """Workers that are there, or will be."""
        return len(self.ready) + len(self.starting)

    @property
    def machines(self) -> int:
        """All that run, whatever for."""
        return self.present + len(self.draining) + len(self.orphaned)

    def speed(self, machine: FleetMachine) -> float:
        known = self.classes.get(machine.machine_class)
        return known.speed if known is not None else 1.0

    def capacity(self, machines: Iterable[FleetMachine]) -> float:
        return sum(self.speed(each) for each in machines)


def sort_machines(inputs: ScalingInputs, settings: ScalingSettings) -> Fleet:
    found: dict[MachineState, list[FleetMachine]] = {state: [] for state in MachineState}
    for each in inputs.machines:
        found[each.state].append(each)
    return Fleet(
        found[MachineState.READY],
        found[MachineState.STARTING],
        found[MachineState.DRAINING],
        found[MachineState.ORPHANED],
        {each.name: each for each in settings.classes},
    )


@dataclass(frozen=True, slots=True)
class Need:
    """`capacity`: ready and starting. `lacking`: what to add; `base`: what the arriving work and the buffer need."""

    load: float
    base: float
    capacity: float
    start_s: float
    residual_gpu_s: float
    backlog: float
    lacking: float


def arriving_load(inputs: ScalingInputs) -> float:
    """Follows a ramp within three minutes, without following its noise."""
    short = inputs.arriving_3m
    return max(0.0, inputs.arriving_15m, short - 0.5 * math.sqrt(short))


def work_out_need(inputs: ScalingInputs, settings: ScalingSettings, fleet: Fleet) -> Need:
    start_s = inputs.start.p75_s if inputs.start is not None else settings.first_start_s
    load = arriving_load(inputs)
    base = load + BETA[settings.eagerness] * math.sqrt(load) + settings.buffer
    ready, starting = fleet.capacity(fleet.ready), fleet.capacity(fleet.starting)
    # Of the next `start_s` seconds, a machine that is starting works those after it is ready.
    soon = sum(fleet.speed(each) * min(start_s, max(0.0, inputs.at_s - each.launched_at_s)) for each in fleet.starting)
    wait_s = settings.target_wait_s
    residual = inputs.queued_gpu_s + (load - ready) * start_s - soon - wait_s * (ready + starting)
    backlog = max(0.0, residual / max(wait_s, start_s))
    capacity = ready + starting
    # Whole workers: half a worker of backlog is one more.
    lacking = max(backlog, base - capacity, 0.0)
    return Need(load, base, capacity, start_s, residual, backlog, lacking)


def sample_surplus(
    before: Sequence[SurplusSample], inputs: ScalingInputs, settings: ScalingSettings, need: Need
) -> tuple[tuple[SurplusSample, ...], float]:
    """The samples to keep, and the surplus that has lasted for the whole delay: 0 whenever something waits."""
    delay_s = settings.down_delay_s if settings.down_delay_s is not None else need.start_s
    now = 0.0 if inputs.waiting else max(0.0, need.capacity - max(math.ceil(need.base - SLACK), settings.min_workers))
    since = inputs.at_s - delay_s
    if before and inputs.at_s - before[-1].at_s > GAP_S_MAX:
        before = ()  # nobody looked: what was there in between is unknown
    # One older sample stays: it shows that the window is full.
    older = [each for each in before if each.at_s <= since][-1:]
    kept = (*older, *(each for each in before if since < each.at_s < inputs.at_s), SurplusSample(inputs.at_s, now))
    if kept[0].at_s > since:
        return kept, 0.0
    return kept, min(each.workers for each in kept)


def sum_up(inputs: ScalingInputs, fleet: Fleet, need: Need, surplus: float) -> ScalingFigures:
    return ScalingFigures(
        ready=len(fleet.ready),
        busy=sum(each.leases > 0 for each in fleet.ready),
        starting=len(fleet.starting),
        draining=len(fleet.draining),
        queued_gpu_s=inputs.queued_gpu_s,
        load=need.load,
        base=need.base,
        start_s=need.start_s,
        residual_gpu_s=need.residual_gpu_s,
        surplus=surplus,
        spend_per_hour=spend_per_hour(inputs.machines, fleet.classes),
        expected_wait_s=_expected_wait_s(inputs, fleet, need),
    )


def _expected_wait_s(inputs: ScalingInputs, fleet: Fleet, need: Need) -> float | None:
    """Of a job queued now: the work ahead of it, over the workers that are ready or, if none is, the first to be."""
    if not inputs.waiting:
        return 0.0
    if fleet.ready:
        return inputs.queued_gpu_s / fleet.capacity(fleet.ready)
    if fleet.starting:
        first_s = max(0.0, need.start_s - max(inputs.at_s - each.launched_at_s for each in fleet.starting))
        return first_s + inputs.queued_gpu_s / need.capacity
    return None


def spend_per_hour(machines: Iterable[FleetMachine], classes: Mapping[str, MachineClass]) -> float | None:
    """What these machines cost an hour; None if the price of one is unknown."""
    total = 0.0
    for each in machines:
        if not each.managed:
            continue
        price = price_of(each, classes)
        if price is None:
            return None
        total += price
    return total


def price_of(machine: FleetMachine, classes: Mapping[str, MachineClass]) -> float | None:
    known = classes.get(machine.machine_class)
    if known is None:
        return None
    return next((offer.price for offer in known.offers if offer.market is machine.market), None)
