"""Fleets to decide about, and hypothesis strategies for them."""

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import strategies as st

from comfyfleet.scaling import (
    CapacityRest,
    Eagerness,
    FleetMachine,
    MachineClass,
    MachineState,
    Market,
    Offer,
    ScalingInputs,
    ScalingSettings,
    ScalingState,
    StartTimes,
)
from comfyfleet.scaling.model import SurplusSample

NOW_S = 100_000.0
SMALL = MachineClass("small", 1.0, 24, (Offer(Market.SPOT, 0.4), Offer(Market.ON_DEMAND, 1.0)), ("a", "b"))
LARGE = MachineClass("large", 2.0, 48, (Offer(Market.SPOT, 1.0), Offer(Market.ON_DEMAND, 2.4)), ("a",))
PLAIN = ScalingSettings((MachineClass("plain"),), max_workers=1_000)


def ready(number: int, *, leases: int = 0, **changes: object) -> FleetMachine:
    machine = FleetMachine(
        f"r{number}", MachineState.READY, "plain", Market.ON_DEMAND, "", NOW_S - 3600, f"w{number}", leases=leases
    )
    return replace(machine, **changes)  # type: ignore[arg-type]


def starting(number: int, *, age_s: float = 10.0, **changes: object) -> FleetMachine:
    machine = FleetMachine(f"s{number}", MachineState.STARTING, "plain", Market.ON_DEMAND, "", NOW_S - age_s)
    return replace(machine, **changes)  # type: ignore[arg-type]


def inputs(machines: Sequence[FleetMachine] = (), **changes: object) -> ScalingInputs:
    return replace(ScalingInputs(NOW_S, tuple(machines)), **changes)  # type: ignore[arg-type]


def full_window(workers: float, *, from_s: float = 400.0) -> ScalingState:
    """A surplus that has lasted for `from_s`."""
    ticks = range(int(from_s // 10), 0, -1)
    return ScalingState(tuple(SurplusSample(NOW_S - 10 * tick, workers) for tick in ticks))


classes = st.lists(
    st.builds(
        MachineClass,
        name=st.sampled_from(["small", "large", "plain"]),
        speed=st.sampled_from([0.5, 1.0, 1.3, 2.2]),
        memory_gb=st.none(),
        offers=st.lists(
            st.builds(Offer, st.sampled_from(Market), st.floats(0.01, 20)),
            min_size=1,
            max_size=2,
            unique_by=lambda o: o.market,
        ).map(tuple),
        zones=st.sampled_from([("",), ("a",), ("a", "b", "c")]),
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda each: each.name,
).map(tuple)


@st.composite
def any_settings(draw: st.DrawFn) -> ScalingSettings:
    most = draw(st.integers(0, 300))
    return ScalingSettings(
        draw(classes),
        min_workers=draw(st.integers(0, most)),
        max_workers=most,
        buffer=draw(st.integers(0, 5)),
        target_wait_s=draw(st.floats(1, 600)),
        eagerness=draw(st.sampled_from(Eagerness)),
        budget_per_hour=draw(st.none() | st.floats(0, 500)),
        down_delay_s=draw(st.none() | st.floats(0, 600)),
    )


@st.composite
def any_machines(draw: st.DrawFn) -> tuple[FleetMachine, ...]:
    count = draw(st.integers(0, 40))
    found = []
    for number in range(count):
        state = draw(st.sampled_from(MachineState))
        registered = state in (MachineState.READY, MachineState.DRAINING)
        found.append(
            FleetMachine(
                f"m{number}",
                state,
                draw(st.sampled_from(["small", "large", "plain", "unknown"])),
                draw(st.sampled_from(Market)),
                draw(st.sampled_from(["", "a", "b"])),
                NOW_S - draw(st.floats(0, 5_000)),
                f"w{number}" if registered else None,
                leases=draw(st.integers(0, 2)),
                idle_since_s=draw(st.none() | st.floats(NOW_S - 5_000, NOW_S)),
                managed=draw(st.booleans()) or state is not MachineState.READY,
            )
        )
    return tuple(found)


@st.composite
def any_inputs(draw: st.DrawFn) -> ScalingInputs:
    waiting = draw(st.integers(0, 5_000))
    p75_s = draw(st.floats(1, 900))
    return ScalingInputs(
        NOW_S,
        draw(any_machines()),
        waiting=waiting,
        queued_gpu_s=draw(st.floats(0, 1e6)) if waiting else 0.0,
        arriving_3m=draw(st.floats(0, 200)),
        arriving_15m=draw(st.floats(0, 200)),
        start=draw(st.none() | st.just(StartTimes(p75_s, 1.5 * p75_s, 20))),
        age_s=draw(st.floats(0, 300)),
    )


@st.composite
def any_state(draw: st.DrawFn) -> ScalingState:
    rests = st.builds(
        CapacityRest,
        st.sampled_from(["small", "large", "plain"]),
        st.sampled_from(Market),
        st.sampled_from(["", "a", "b", "c"]),
        st.floats(NOW_S - 7_000, NOW_S + 300),
        st.integers(1, 9),
    )
    return replace(
        full_window(draw(st.floats(0, 50)), from_s=draw(st.sampled_from([0, 100, 1_000]))),
        rests=tuple(draw(st.lists(rests, max_size=6))),
        failed_launches_at_s=tuple(draw(st.lists(st.floats(NOW_S - 5_000, NOW_S), max_size=5))),
        starting=frozenset(f"m{number}" for number in draw(st.lists(st.integers(0, 40), max_size=20))),
    )
