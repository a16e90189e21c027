"""What is counted of the machines of a fleet, once what happened is written down."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from comfyfleet.machines.model import FleetScaling, Seen
from comfyfleet.metrics.facts import (
    LOST,
    NEVER_REGISTERED,
    LaunchFailed,
    MachineEnded,
    MachinesLaunched,
    MachinesSeen,
    MachineStarted,
    NoteFact,
)
from comfyfleet.scaling import EndReason, LaunchAnswer, LaunchProblem, LaunchRequest, MachineState

# After a longer gap nothing is known of the time in between, and nothing is counted.
GAP_S = 120.0


def count_decision(note: NoteFact, scaling: FleetScaling, seen: Seen) -> None:
    """The machines that started and were lost since the last look, and how long each phase has lasted."""
    fleet_id = scaling.fleet_id
    for start_s in seen.starts.values():
        note(MachineStarted(fleet_id, start_s))
    for market, drained in seen.ended_unasked:
        note(MachineEnded(fleet_id, market.value, drained or LOST))
    if seen.died_launched_at_s:
        note(LaunchFailed(fleet_id, NEVER_REGISTERED, len(seen.died_launched_at_s)))
    note(MachinesSeen(fleet_id, _seconds(scaling.decided_at, seen.at), _phases(seen)))


def count_answer(
    note: NoteFact, scaling: FleetScaling, request: LaunchRequest, answer: LaunchAnswer, *, noted: bool
) -> None:
    """`noted`: it was the first answer. One that is lost is counted each time: it stays open, and is asked again."""
    if not noted and not any(each.problem is LaunchProblem.UNREACHABLE for each in answer.errors):
        return
    if answer.ids and noted:
        note(MachinesLaunched(scaling.fleet_id, request.market.value, len(answer.ids)))
    for error in answer.errors:
        if error.problem is LaunchProblem.PENDING and (answer.ids or not noted):
            continue  # they may still come; without any, the launch was given up
        note(LaunchFailed(scaling.fleet_id, error.problem.value, error.number))


def count_ends(note: NoteFact, scaling: FleetScaling, seen: Seen, ended: Mapping[str, EndReason]) -> None:
    """Those that were told to end just now."""
    markets = {each.id: each.market.value for each in seen.inputs.machines}
    for machine_id, reason in ended.items():
        note(MachineEnded(scaling.fleet_id, markets[machine_id], reason.value))
        if reason is EndReason.NEVER_REGISTERED:
            note(LaunchFailed(scaling.fleet_id, NEVER_REGISTERED))


def _seconds(before: datetime | None, now: datetime) -> float:
    passed_s = (now - before).total_seconds() if before is not None else 0.0
    return passed_s if 0.0 < passed_s <= GAP_S else 0.0


def _phases(seen: Seen) -> dict[str, int]:
    """Of the machines that we launched, as they are now."""
    ours = [each for each in seen.inputs.machines if each.managed]
    states: Sequence[MachineState] = [each.state for each in ours]
    busy = sum(each.state is MachineState.READY and each.leases > 0 for each in ours)
    return {
        "starting": states.count(MachineState.STARTING),
        "running": busy,
        "idle": states.count(MachineState.READY) - busy,
        "draining": states.count(MachineState.DRAINING) + states.count(MachineState.ORPHANED) + len(seen.lingering),
    }
