"""The health check: what one look at a server means for one prompt. Pure, but for the order of the two reads.

A look is `/queue` first and `/history` second. A prompt goes from pending to running to the history under one lock, so
absent from the queue and then absent from the history means that the server does not have it. The other order loses
prompts that end in between.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from comfyfleet.comfy.model import (
    Absent,
    Cancelled,
    Completed,
    Failed,
    FailureClass,
    Finished,
    Found,
    HistoryEntry,
    Outcome,
    Pending,
    Prompt,
    QueueState,
    Returned,
    Running,
)
from comfyfleet.comfy.verdict import ReturnReason, judge_entry, service_reason


class Action(StrEnum):
    COMPLETE_JOB = "complete_job"
    FAIL_JOB = "fail_job"
    RETURN_TO_QUEUE = "return_to_queue"
    CONTINUE_MONITORING = "continue_monitoring"


class Stop(StrEnum):
    """Why we want the prompt to end. It is the difference between our interruption and somebody else's."""

    CANCEL = "cancel"
    DEADLINE = "deadline"


class Reads(Protocol):
    """Two GETs. Each raises an error of the `Unavailable` family rather than hang, crash or guess."""

    async def queue(self) -> QueueState: ...

    async def history(self, prompt_id: str) -> HistoryEntry | None: ...


@dataclass(frozen=True, slots=True)
class Look:
    """One round. `executor_idle`: our prompt waits and nothing runs, which a living executor ends at once."""

    found: Found
    executor_idle: bool = False


async def look_for(server: Reads, prompt_id: str) -> Look:
    queue = await server.queue()
    if prompt_id in queue.running:
        return Look(Running())
    if prompt_id in queue.pending:
        return Look(Pending(queue.pending.index(prompt_id)), executor_idle=not queue.running)
    entry = await server.history(prompt_id)
    return Look(Absent() if entry is None else Finished(entry))


@dataclass(frozen=True, slots=True)
class Patience:
    """How long things may take before they mean something."""

    inactivity_s: float = 30.0  # no word of the prompt: look
    health_check_interval_s: float = 30.0  # between looks that say "go on"
    request_s: float = 5.0
    first_look_s: float = 1.0  # after the POST, if nothing is heard by then
    unheard_s: float = 5.0  # between looks while the socket is down, or has not spoken since it came back
    round_gap_s: float = 2.0  # between the two rounds that make a prompt lost
    ambiguous_s: float = 30.0  # a POST without an answer may still be validating
    settle_s: float = 10.0  # a prompt says that it has ended before its history is written
    idle_executor_s: float = 60.0  # our prompt waits and nothing runs
    stop_s: float = 30.0  # an interruption takes effect between steps or nodes only
    unreachable_s: float = 120.0  # silence: a machine that is overloaded, or away
    refused_s: float = 3.0  # nothing listens at its port: the process is gone, and its prompts with it
    refused_look_s: float = 0.5  # between looks while it is refused: a quick restart is told by the server's own answer


DEFAULT_PATIENCE = Patience()


@dataclass(frozen=True, slots=True)
class Signs:
    """What is known beside the look."""

    now_s: float
    submitted_at_s: float
    absent_since_s: float | None = None  # the first of an unbroken row of absences
    idle_since_s: float | None = None
    submit_ambiguous: bool = False
    seen: bool = False  # a message or an earlier look has proved that the server had it
    socket_dropped: bool = False
    heard_end: HistoryEntry | None = None  # what its messages told, if they told an end
    stop: Stop | None = None
    stopping_since_s: float | None = None
    silent: bool = False  # no word of the prompt for longer than the inactivity limit
    refused_since_s: float | None = None  # the first of an unbroken row of refused connections


@dataclass(frozen=True, slots=True)
class Decision:
    """`reason`: `service_error` and `service_job_not_found` where the server ended it; else a word of ours."""

    action: Action
    reason: str
    outcome: Outcome | None = None
    look_again_in_s: float | None = None  # None: at the usual pace


def decide(look: Look, signs: Signs, prompt: Prompt, patience: Patience) -> Decision:
    match look.found:
        case Finished(entry):
            return _over(judge_entry(entry, prompt), signs)
        case Absent():
            return _decide_absent(signs, prompt, patience)
        case Pending() | Running():
            return _decide_queued(look, signs, patience)


def decide_blind(signs: Signs, prompt: Prompt, patience: Patience, *, blind_s: float) -> Decision:
    """The look failed: no answer, a web page, garbage. `blind_s`: since when neither a look nor a message came."""
    if signs.refused_since_s is not None and signs.now_s - signs.refused_since_s >= patience.refused_s:
        return _decide_gone(signs, prompt)
    if signs.stopping_since_s is not None and signs.now_s - signs.stopping_since_s >= patience.stop_s:
        return _over(_stopped(signs.stop or Stop.DEADLINE), signs)
    if signs.heard_end is not None and blind_s >= patience.settle_s:
        return _over(judge_entry(signs.heard_end, prompt), signs)
    if blind_s >= patience.unreachable_s:
        return _over(Returned(ReturnReason.UNREACHABLE), signs)
    return _go_on("no answer", None)


def _decide_gone(signs: Signs, prompt: Prompt) -> Decision:
    """The process does not run any more. What it had told of the prompt's end stays true."""
    if signs.heard_end is not None:
        return _over(judge_entry(signs.heard_end, prompt), signs)
    return _over(Returned(ReturnReason.SERVER_GONE) if signs.stop is None else _stopped(signs.stop), signs)


def _decide_absent(signs: Signs, prompt: Prompt, patience: Patience) -> Decision:
    if signs.heard_end is not None:  # its messages are as true as the history that somebody has cleared
        return _over(judge_entry(signs.heard_end, prompt), signs)
    if signs.stop is not None and (signs.seen or not signs.submit_ambiguous):
        return _over(_stopped(signs.stop), signs)
    if signs.submit_ambiguous and not signs.seen:
        left_s = signs.submitted_at_s + patience.ambiguous_s - signs.now_s
        if left_s > 0:
            return _go_on("submission unanswered", min(left_s, patience.round_gap_s))
        return _over(_stopped(signs.stop) if signs.stop else Returned(ReturnReason.NEVER_QUEUED), signs)
    since_s = signs.now_s if signs.absent_since_s is None else signs.absent_since_s
    left_s = since_s + patience.round_gap_s - signs.now_s
    if left_s > 0:
        return _go_on("absent once", left_s)
    return _over(Returned(ReturnReason.SERVER_RESTARTED if signs.socket_dropped else ReturnReason.LOST), signs)


def _decide_queued(look: Look, signs: Signs, patience: Patience) -> Decision:
    if signs.stopping_since_s is not None and signs.now_s - signs.stopping_since_s >= patience.stop_s:
        return _over(_unstoppable(signs), signs)
    if look.executor_idle:
        since_s = signs.now_s if signs.idle_since_s is None else signs.idle_since_s
        if signs.now_s - since_s >= patience.idle_executor_s:
            return _over(
                Failed(FailureClass.SERVER_FAULT, "The server answers and takes no prompt: its executor is dead."),
                signs,
            )
    return _go_on("waiting" if isinstance(look.found, Pending) else "running", None)


def _stopped(stop: Stop) -> Outcome:
    match stop:
        case Stop.CANCEL:
            return Cancelled()
        case Stop.DEADLINE:
            return Failed(FailureClass.TIMEOUT, "The deadline has passed.")


def _unstoppable(signs: Signs) -> Outcome:
    """It does not heed an interruption. One that also says nothing has no executor behind it any more."""
    if signs.stop is Stop.CANCEL:
        return Cancelled()  # nobody waits for it; the server shakes it off at the next node
    if signs.silent:
        return Failed(FailureClass.SERVER_FAULT, "The server neither goes on with the prompt nor lets go of it.")
    return Failed(FailureClass.TIMEOUT, "The deadline has passed, and the server has not let go of the prompt yet.")


def _over(outcome: Outcome, signs: Signs) -> Decision:
    if signs.stop is not None and outcome == Returned(ReturnReason.INTERRUPTED):
        outcome = _stopped(signs.stop)
    match outcome:
        case Completed():
            return Decision(Action.COMPLETE_JOB, "finished", outcome)
        case Failed(failure=failure):
            return Decision(Action.FAIL_JOB, service_reason(outcome) or failure, outcome)
        case Cancelled():
            return Decision(Action.FAIL_JOB, FailureClass.CANCELLED, outcome)
        case Returned(reason=reason):
            return Decision(Action.RETURN_TO_QUEUE, service_reason(outcome) or reason, outcome)


def _go_on(reason: str, look_again_in_s: float | None) -> Decision:
    return Decision(Action.CONTINUE_MONITORING, reason, look_again_in_s=look_again_in_s)
