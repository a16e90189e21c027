"""May a gate open by itself? The run's own rule says. Pure."""

from comfyfleet.pipelines.model import TOP_MAX, Approval, RunStep


def opens_for(approval: Approval, step: RunStep, *, top: int) -> int | None:
    """How many of its best go on, once the step has nothing more to make; None: not yet, or not by itself."""
    if approval.kind == "all":
        return min(max(step.alive, 1), TOP_MAX)
    if approval.kind == "votes":
        # One alone can be compared with nobody.
        decided = step.votes >= (approval.after or 0) or step.alive < 2
        return top if decided else None
    return None


def named(approval: Approval) -> str:
    """As it stands beside the gate it opened."""
    return f"policy:{approval.kind}"
