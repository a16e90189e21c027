"""What is seen, and what is decided."""

from dataclasses import replace

import pytest

from comfyfleet.comfy.health import Action, Look, Patience, Signs, Stop, decide, decide_blind, look_for
from comfyfleet.comfy.model import (
    Absent,
    Cancelled,
    Completed,
    Failed,
    FailureClass,
    Finished,
    HistoryEntry,
    HistoryMessage,
    Outcome,
    Pending,
    Prompt,
    QueueState,
    Returned,
    Running,
)
from comfyfleet.comfy.verdict import ReturnReason

PROMPT = Prompt({"3": {"class_type": "SaveImage", "inputs": {}}}, "p")
PICTURE = {"3": {"images": [{"filename": "a.png", "subfolder": "", "type": "output"}]}}
PATIENCE = Patience()
NOW_S = 1000.0
CALM = Signs(now_s=NOW_S, submitted_at_s=900.0, seen=True)


def ended(*kinds: str, outputs: dict[str, object] | None = None) -> HistoryEntry:
    shown = PICTURE if outputs is None else outputs
    return HistoryEntry("p", None, None, tuple(HistoryMessage(kind, {}) for kind in kinds), shown)  # type: ignore[arg-type]


SUCCESS, ERROR, INTERRUPTED = ended("execution_success"), ended("execution_error"), ended("execution_interrupted")
UNHEARD = replace(CALM, seen=False, submit_ambiguous=True)

DECISIONS = [
    # what the look found, what else is known, what follows
    (Finished(SUCCESS), CALM, Action.COMPLETE_JOB, "finished"),
    (Finished(ERROR), CALM, Action.FAIL_JOB, "service_error"),
    (Finished(INTERRUPTED), CALM, Action.RETURN_TO_QUEUE, "interrupted"),
    (Finished(ended()), CALM, Action.RETURN_TO_QUEUE, "unproven"),
    (Finished(INTERRUPTED), replace(CALM, stop=Stop.CANCEL), Action.FAIL_JOB, "cancelled"),
    (Finished(INTERRUPTED), replace(CALM, stop=Stop.DEADLINE), Action.FAIL_JOB, "timeout"),
    (Finished(SUCCESS), replace(CALM, stop=Stop.CANCEL), Action.COMPLETE_JOB, "finished"),
    (Finished(SUCCESS), replace(CALM, stop=Stop.DEADLINE), Action.COMPLETE_JOB, "finished"),
    (Finished(ERROR), replace(CALM, stop=Stop.DEADLINE), Action.FAIL_JOB, "service_error"),
    (Pending(3), CALM, Action.CONTINUE_MONITORING, "waiting"),
    (Running(), CALM, Action.CONTINUE_MONITORING, "running"),
    (Running(), replace(CALM, silent=True, socket_dropped=True), Action.CONTINUE_MONITORING, "running"),
    (Running(), replace(CALM, stop=Stop.DEADLINE, stopping_since_s=971), Action.CONTINUE_MONITORING, "running"),
    (Running(), replace(CALM, stop=Stop.DEADLINE, stopping_since_s=970), Action.FAIL_JOB, "timeout"),
    (
        Running(),
        replace(CALM, stop=Stop.DEADLINE, stopping_since_s=970, silent=True),
        Action.FAIL_JOB,
        "service_error",
    ),
    (Running(), replace(CALM, stop=Stop.CANCEL, stopping_since_s=970, silent=True), Action.FAIL_JOB, "cancelled"),
    (Absent(), CALM, Action.CONTINUE_MONITORING, "absent once"),
    (Absent(), replace(CALM, absent_since_s=998.1), Action.CONTINUE_MONITORING, "absent once"),
    (Absent(), replace(CALM, absent_since_s=998), Action.RETURN_TO_QUEUE, "service_job_not_found"),
    (Absent(), replace(CALM, absent_since_s=998, socket_dropped=True), Action.RETURN_TO_QUEUE, "service_job_not_found"),
    (Absent(), replace(CALM, socket_dropped=True), Action.CONTINUE_MONITORING, "absent once"),
    (Absent(), replace(CALM, stop=Stop.CANCEL), Action.FAIL_JOB, "cancelled"),
    (Absent(), replace(CALM, stop=Stop.DEADLINE), Action.FAIL_JOB, "timeout"),
    (Absent(), replace(CALM, heard_end=SUCCESS), Action.COMPLETE_JOB, "finished"),
    (Absent(), replace(CALM, heard_end=ERROR), Action.FAIL_JOB, "service_error"),
    (Absent(), replace(UNHEARD, submitted_at_s=971), Action.CONTINUE_MONITORING, "submission unanswered"),
    (Absent(), replace(UNHEARD, submitted_at_s=970), Action.RETURN_TO_QUEUE, "service_job_not_found"),
    (
        Absent(),
        replace(UNHEARD, submitted_at_s=971, stop=Stop.CANCEL),
        Action.CONTINUE_MONITORING,
        "submission unanswered",
    ),
    (Absent(), replace(UNHEARD, submitted_at_s=970, stop=Stop.CANCEL), Action.FAIL_JOB, "cancelled"),
    (Absent(), replace(UNHEARD, seen=True, absent_since_s=998), Action.RETURN_TO_QUEUE, "service_job_not_found"),
]


@pytest.mark.parametrize(("found", "signs", "action", "reason"), DECISIONS)
def test_what_is_seen_decides(
    found: Pending | Running | Finished | Absent, signs: Signs, action: Action, reason: str
) -> None:
    decision = decide(Look(found), signs, PROMPT, PATIENCE)
    assert (decision.action, decision.reason) == (action, reason)
    assert (decision.outcome is None) == (action is Action.CONTINUE_MONITORING)


def test_the_second_round_comes_two_seconds_after_the_first() -> None:
    assert decide(Look(Absent()), CALM, PROMPT, PATIENCE).look_again_in_s == 2.0
    early = decide(Look(Absent()), replace(CALM, absent_since_s=999.5), PROMPT, PATIENCE)
    assert early.look_again_in_s == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("idle_since_s", "action"), [(None, "continue_monitoring"), (941, "continue_monitoring"), (940, "fail_job")]
)
def test_a_prompt_that_waits_while_nothing_runs_for_a_minute_has_no_executor(
    idle_since_s: float | None, action: str
) -> None:
    decision = decide(Look(Pending(0), executor_idle=True), replace(CALM, idle_since_s=idle_since_s), PROMPT, PATIENCE)
    assert decision.action == action
    assert decision.outcome is None or isinstance(decision.outcome, Failed)


BLIND = [
    (CALM, 119.0, None),
    (CALM, 120.0, Returned(ReturnReason.UNREACHABLE)),
    (replace(CALM, heard_end=SUCCESS), 9.0, None),
    (replace(CALM, heard_end=INTERRUPTED), 10.0, Returned(ReturnReason.INTERRUPTED)),
    (replace(CALM, stop=Stop.CANCEL, stopping_since_s=971), 29.0, None),
    (replace(CALM, stop=Stop.CANCEL, stopping_since_s=970), 30.0, Cancelled()),
    (
        replace(CALM, stop=Stop.DEADLINE, stopping_since_s=970),
        30.0,
        Failed(FailureClass.TIMEOUT, "The deadline has passed."),
    ),
    (replace(CALM, refused_since_s=997.1), 30.0, None),
    (replace(CALM, refused_since_s=997), 3.0, Returned(ReturnReason.SERVER_GONE)),
    (replace(CALM, refused_since_s=997, heard_end=INTERRUPTED), 3.0, Returned(ReturnReason.INTERRUPTED)),
    (replace(CALM, refused_since_s=997, stop=Stop.CANCEL, stopping_since_s=999), 3.0, Cancelled()),
]


@pytest.mark.parametrize(("signs", "blind_s", "outcome"), BLIND)
def test_a_server_that_does_not_answer_is_waited_for_and_then_left(
    signs: Signs, blind_s: float, outcome: Outcome | None
) -> None:
    assert decide_blind(signs, PROMPT, PATIENCE, blind_s=blind_s).outcome == outcome


def test_a_prompt_whose_end_was_heard_completes_without_an_answer() -> None:
    decision = decide_blind(replace(CALM, heard_end=SUCCESS), PROMPT, PATIENCE, blind_s=10.0)
    assert isinstance(decision.outcome, Completed)


class Books:
    def __init__(self, queue: QueueState, entry: HistoryEntry | None) -> None:
        self.asked: list[str] = []
        self._queue, self._entry = queue, entry

    async def queue(self) -> QueueState:
        self.asked.append("queue")
        return self._queue

    async def history(self, prompt_id: str) -> HistoryEntry | None:
        self.asked.append("history")
        return self._entry


@pytest.mark.parametrize(
    ("queue", "entry", "look"),
    [
        (QueueState(("p",), ()), None, Look(Running())),
        (QueueState(("x",), ("y", "p")), None, Look(Pending(1))),
        (QueueState((), ("p",)), None, Look(Pending(0), executor_idle=True)),
        (QueueState(("x",), ()), SUCCESS, Look(Finished(SUCCESS))),
        (QueueState((), ()), None, Look(Absent())),
        (QueueState(("p",), ()), SUCCESS, Look(Running())),  # an older run's entry under the same id
    ],
)
async def test_a_look_reads_the_queue_and_then_the_history(
    queue: QueueState, entry: HistoryEntry | None, look: Look
) -> None:
    books = Books(queue, entry)
    assert await look_for(books, "p") == look
    assert books.asked in (["queue"], ["queue", "history"])
