"""The decision of one tick: the policy's, or "held" where the provider of the machines cannot be asked."""

from dataclasses import replace

from comfyfleet.machines.model import FleetScaling, Seen
from comfyfleet.scaling import Held, Hold, MachineState, Reason, ScalingDecision, ScalingFigures, ScalingState, decide


def choose(
    scaling: FleetScaling, seen: Seen, *, unlisted: str | None, refused: str | None
) -> tuple[ScalingDecision, ScalingState]:
    """`unlisted`: why the provider did not list its machines. `refused`: what it lacked in its last launch."""
    if unlisted is not None:
        return _hold(scaling, seen, unlisted), scaling.state
    # Machines that end by themselves before they register count like those that never do: otherwise a broken image
    # would be launched for ever.
    known = replace(scaling.state, failed_launches_at_s=(*scaling.state.failed_launches_at_s, *seen.died_launched_at_s))
    decision, state = decide(seen.inputs, seen.settings, known)
    if seen.unanswered and decision.launches:
        decision = _without_launches(decision, seen.unanswered, failed=scaling.problem is not None)
    held = tuple(_explained(each, refused) for each in decision.held)
    if scaling.problem is not None:
        held = (*held, Held(Hold.PROVIDER, scaling.problem))
    return replace(decision, held=held), state


def _without_launches(decision: ScalingDecision, unanswered: int, *, failed: bool) -> ScalingDecision:
    """What was asked for may run already. Asking for more on top of it would never end."""
    text = f"{unanswered} launches have no answer yet; they are repeated before others are made"
    held = Held(Hold.PROVIDER if failed else Hold.LAUNCHING, text)
    fewer = sum(each.number for each in decision.launches)
    return replace(
        decision,
        desired=decision.desired - fewer,
        reason=Reason.HELD,
        launches=(),
        held=(*decision.held, held),
    )


def _explained(held: Held, refused: str | None) -> Held:
    if held.hold is not Hold.NO_CAPACITY or refused is None:
        return held
    return Held(held.hold, f"{held.text}; the last answer: {refused}")


def _hold(scaling: FleetScaling, seen: Seen, why: str) -> ScalingDecision:
    """Without the list nothing is known of the machines: nothing is launched, drained or ended."""
    states = [each.state for each in seen.inputs.machines]
    figures = ScalingFigures(
        ready=states.count(MachineState.READY),
        busy=sum(each.state is MachineState.READY and each.leases > 0 for each in seen.inputs.machines),
        starting=states.count(MachineState.STARTING),
        draining=states.count(MachineState.DRAINING),
        queued_gpu_s=seen.inputs.queued_gpu_s,
        expected_wait_s=None,
    )
    return ScalingDecision(
        desired=figures.ready + figures.starting,
        reason=Reason.HELD,
        held=(Held(Hold.PROVIDER, why),),
        rests=scaling.state.rests,
        figures=figures,
    )
