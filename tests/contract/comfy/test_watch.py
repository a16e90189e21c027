"""Every way a prompt can go on a server, and the one outcome it must end in."""

import asyncio
from collections.abc import Callable

import pytest

from comfyfleet.comfy.messages import Executed, ExecutionError, ExecutionSuccess, Heard, Status, Unknown
from comfyfleet.comfy.model import (
    Cancelled,
    Checked,
    Completed,
    Failed,
    FailureClass,
    Preview,
    Progress,
    Queued,
    Returned,
)
from comfyfleet.comfy.verdict import ReturnReason
from comfyfleet.comfy.watch import Attempt
from tests.contract.comfy.fake_comfy import PICTURE, FakeComfy, Job, a_prompt
from tests.contract.comfy.watching import Arrange, Seen, watch_job, watch_to_the_end
from tests.virtual_time import run_virtually

MESSAGES_OF_A_RUN = 29


def test_a_plain_run_tells_progress_and_previews_and_completes() -> None:
    seen = watch_job(Job(a_prompt()))
    assert isinstance(seen.outcome, Completed)
    assert [file.filename for file in seen.outcome.outputs] == ["a_00001_.png"]
    assert seen.outcome.node_timings_s == pytest.approx({"1": 1, "2": 2, "3": 1}, abs=0.01)
    assert seen.fractions[-1] == 1.0
    assert Preview("2", "image/jpeg", b"\xff\xd8") in seen.updates
    sampling = [each for each in seen.updates if isinstance(each, Progress) and each.node_class == "KSampler"]
    assert [each.step for each in sampling if each.step] == [1, 2, 3, 4]
    assert sampling[-1].steps == 4
    assert seen.took_s < 5


def test_a_healthy_run_costs_the_server_a_look_at_each_end_and_no_more() -> None:
    seen = watch_job(Job(a_prompt()))
    assert set(seen.server.asked) == {"history"}
    assert len(seen.server.asked) <= 4


def test_an_instant_cached_answer_that_nobody_heard_is_found_at_once() -> None:
    async def cached(server: FakeComfy, attempt: Attempt) -> None:
        server.silent_from = 0
        server.enqueue(Job(attempt.prompt, cached=True))
        await asyncio.sleep(0.01)

    seen = watch_job(Job(a_prompt()), cached)
    assert isinstance(seen.outcome, Completed)
    assert seen.took_s < 0.1


def test_a_prompt_that_nobody_hears_begin_is_found_running_by_the_first_look() -> None:
    async def unheard(server: FakeComfy, attempt: Attempt) -> None:
        server.silent_from = 0
        server.enqueue(Job(attempt.prompt, node_s=10.0))

    seen = watch_job(Job(a_prompt()), unheard)
    begun = [each for each in seen.updates if isinstance(each, Progress) and each.fraction < 1.0]
    assert begun == [Progress(0.0, nodes_total=3)], "once: it is not known how far it is"
    assert isinstance(seen.outcome, Completed)


def test_success_is_said_two_seconds_before_the_history_is_written() -> None:
    seen = watch_job(Job(a_prompt(), history_late_s=2.0))
    assert isinstance(seen.outcome, Completed)
    assert seen.took_s < 8


def dies_when(when: Callable[[FakeComfy], bool], *, back_after_s: float = 1e9) -> Arrange:
    """Killed with the first message after which that is true. Its port refuses until it is back, and then it knows of
    nothing."""

    async def arrange(server: FakeComfy, attempt: Attempt) -> None:
        say = server._say

        def die(message: Heard) -> None:
            say(message)
            if not server.refuses and when(server):
                server.refuses = True
                server.restart(down_s=back_after_s)

        server._say = die  # type: ignore[method-assign]
        server.enqueue(Job(attempt.prompt))

    return arrange


def in_the_middle(server: FakeComfy) -> bool:
    return len(server.sent) == MESSAGES_OF_A_RUN // 2


def with_its_last_node(server: FakeComfy) -> bool:
    return isinstance(server.sent[-1], Executed)


def with_its_end(server: FakeComfy) -> bool:
    return isinstance(server.sent[-1], ExecutionSuccess)


def test_a_server_whose_port_refuses_is_gone_within_seconds() -> None:
    seen = watch_job(Job(a_prompt()), dies_when(in_the_middle))
    assert seen.outcome == Returned(ReturnReason.SERVER_GONE)
    assert seen.took_s < 8


def test_a_server_that_restarts_quickly_is_told_by_its_own_answer() -> None:
    seen = watch_job(Job(a_prompt()), dies_when(in_the_middle, back_after_s=1.5))
    assert seen.outcome == Returned(ReturnReason.SERVER_RESTARTED)
    assert seen.took_s < 10


@pytest.mark.parametrize("when", [with_its_last_node, with_its_end])
def test_what_had_finished_is_complete_though_its_server_is_gone(when: Callable[[FakeComfy], bool]) -> None:
    seen = watch_job(Job(a_prompt()), dies_when(when))
    assert isinstance(seen.outcome, Completed)
    assert [file.filename for file in seen.outcome.outputs] == ["a_00001_.png"]
    assert seen.took_s < 10


def test_a_cancel_does_not_wait_for_a_server_that_is_gone() -> None:
    async def arrange(server: FakeComfy, attempt: Attempt) -> None:
        await dies_when(in_the_middle)(server, attempt)
        server.later(3.0, attempt.ask_cancel)

    seen = watch_job(Job(a_prompt()), arrange)
    assert isinstance(seen.outcome, Cancelled)
    assert seen.took_s < 8


def test_success_without_outputs_is_no_success() -> None:
    seen = watch_job(Job(a_prompt(), outputs={}))
    assert isinstance(seen.outcome, Failed)
    assert seen.outcome.failure is FailureClass.EXECUTION_ERROR
    assert seen.outcome.node == "3"


def test_a_history_that_forgets_is_replaced_by_what_was_heard() -> None:
    seen = watch_job(Job(a_prompt(), history_kept=False))
    assert isinstance(seen.outcome, Completed)
    assert [file.filename for file in seen.outcome.outputs] == ["a_00001_.png"]


def test_a_history_that_forgets_what_nobody_heard_is_a_lost_prompt() -> None:
    async def deaf(server: FakeComfy, attempt: Attempt) -> None:
        server.silent_from = 0
        server.enqueue(Job(attempt.prompt, history_kept=False))

    seen = watch_job(Job(a_prompt()), deaf)
    assert seen.outcome == Returned(ReturnReason.LOST)
    assert seen.updates[-1] == Checked("return_to_queue", "service_job_not_found", recovers=True)


def test_an_error_that_nobody_heard_is_a_service_error_with_the_servers_own_response() -> None:
    async def deaf(server: FakeComfy, attempt: Attempt) -> None:
        server.silent_from = 0
        error = ExecutionError(attempt.prompt.prompt_id, "2", "KSampler", "no such sampler", "ValueError")
        server.enqueue(Job(attempt.prompt, error=error))

    seen = watch_job(Job(a_prompt()), deaf)
    assert isinstance(seen.outcome, Failed)
    assert seen.updates[-1] == Checked("fail_job", "service_error", recovers=True)
    assert seen.outcome.response is not None
    assert seen.outcome.response["status"]["messages"][-1][0] == "execution_error"


def test_what_was_heard_to_its_end_is_no_recovery() -> None:
    seen = watch_job(Job(a_prompt()))
    ended = [each for each in seen.updates if isinstance(each, Checked) and each.action == "complete_job"]
    assert ended == [Checked("complete_job", "finished")]
    assert isinstance(seen.outcome, Completed)
    assert seen.outcome.response is not None
    assert set(seen.outcome.response) == {"status", "outputs", "meta"}


def test_one_look_that_finds_nothing_loses_nothing() -> None:
    async def blinking(server: FakeComfy, attempt: Attempt) -> None:
        server.silent_from = 0
        server.blank_from_s, server.blank_until_s = 30.5, 32.0
        server.enqueue(Job(attempt.prompt, node_s=20))

    seen = watch_job(Job(a_prompt()), blinking)
    assert isinstance(seen.outcome, Completed)


@pytest.mark.parametrize("index", range(MESSAGES_OF_A_RUN))
def test_the_socket_is_lost_at_any_message(index: int) -> None:
    async def dropping(server: FakeComfy, attempt: Attempt) -> None:
        server.drop_at = index
        server.enqueue(Job(attempt.prompt))

    seen = watch_job(Job(a_prompt()), dropping)
    assert isinstance(seen.outcome, Completed)
    assert len(seen.server.sent) == MESSAGES_OF_A_RUN
    assert seen.server.runs == [seen.server.runs[0]]
    assert seen.took_s < 4 + 6


@pytest.mark.parametrize("index", range(MESSAGES_OF_A_RUN))
def test_the_socket_goes_deaf_at_any_message(index: int) -> None:
    async def deaf(server: FakeComfy, attempt: Attempt) -> None:
        server.silent_from = index
        server.enqueue(Job(attempt.prompt))

    seen = watch_job(Job(a_prompt()), deaf)
    assert isinstance(seen.outcome, Completed)
    assert seen.took_s <= 4 + 31


def test_the_socket_never_comes_back() -> None:
    async def dropping(server: FakeComfy, attempt: Attempt) -> None:
        server.drop_at, server.reconnect_s = 6, float("1e9")
        server.enqueue(Job(attempt.prompt, node_s=40))

    seen = watch_job(Job(a_prompt()), dropping)
    assert isinstance(seen.outcome, Completed)
    assert seen.took_s < 160 + 6


@pytest.mark.parametrize("moment_s", [0.0, 0.5, 1.5, 3.99])
def test_a_server_restarted_in_mid_run_gives_the_prompt_back(moment_s: float) -> None:
    async def restarting(server: FakeComfy, attempt: Attempt) -> None:
        server.enqueue(Job(attempt.prompt))
        server.later(moment_s, server.restart)

    seen = watch_job(Job(a_prompt()), restarting)
    assert seen.outcome == Returned(ReturnReason.SERVER_RESTARTED)
    assert seen.took_s < 60


def test_a_server_restarted_after_success_was_heard_completes_from_the_messages() -> None:
    async def restarting(server: FakeComfy, attempt: Attempt) -> None:
        server.enqueue(Job(attempt.prompt, history_late_s=0.5))
        server.later(4.2, server.restart)

    assert isinstance(watch_job(Job(a_prompt()), restarting).outcome, Completed)


def test_a_server_that_never_comes_back_gives_the_prompt_back_before_the_deadline() -> None:
    async def dying(server: FakeComfy, attempt: Attempt) -> None:
        server.enqueue(Job(attempt.prompt))
        server.later(1.5, lambda: server.restart(down_s=1e9))

    seen = watch_job(Job(a_prompt()), dying)
    assert seen.outcome == Returned(ReturnReason.UNREACHABLE)
    assert seen.updates[-1] == Checked("return_to_queue", "unreachable", recovers=True)
    assert 120 <= seen.took_s < 150


def test_interrupted_by_someone_else_is_given_back() -> None:
    async def meddling(server: FakeComfy, attempt: Attempt) -> None:
        server.enqueue(Job(attempt.prompt))
        server.later(1.5, server.interrupt_whatever_runs)

    seen = watch_job(Job(a_prompt()), meddling)
    assert seen.outcome == Returned(ReturnReason.INTERRUPTED)


def test_removed_from_the_queue_by_someone_else_is_lost() -> None:
    async def meddling(server: FakeComfy, attempt: Attempt) -> None:
        server.enqueue(Job(a_prompt(), node_s=10))
        server.enqueue(Job(attempt.prompt))
        server.later(5, server.pending.clear)

    assert watch_job(Job(a_prompt()), meddling).outcome == Returned(ReturnReason.LOST)


@pytest.mark.parametrize("moment_s", [0.0, 0.5, 1.6, 3.5])
def test_our_own_cancel_is_cancelled(moment_s: float) -> None:
    async def cancelling(server: FakeComfy, attempt: Attempt) -> None:
        server.enqueue(Job(attempt.prompt))
        server.later(moment_s, attempt.ask_cancel)

    seen = watch_job(Job(a_prompt()), cancelling)
    assert seen.outcome == Cancelled()
    assert seen.server.running is None
    assert seen.took_s < moment_s + 3


def test_a_cancel_while_it_waits_takes_it_off_the_queue() -> None:
    async def cancelling(server: FakeComfy, attempt: Attempt) -> None:
        server.enqueue(Job(a_prompt(), node_s=100))
        server.enqueue(Job(attempt.prompt))
        server.later(5, attempt.ask_cancel)

    seen = watch_job(Job(a_prompt()), cancelling)
    assert seen.outcome == Cancelled()
    assert seen.server.pending == []
    assert seen.server.interrupted_ids == []
    assert seen.took_s < 6


def test_a_cancel_that_comes_after_the_end_does_not_undo_it() -> None:
    async def cancelling(server: FakeComfy, attempt: Attempt) -> None:
        server.enqueue(Job(attempt.prompt, history_late_s=1.0))
        server.later(4.5, attempt.ask_cancel)

    assert isinstance(watch_job(Job(a_prompt()), cancelling).outcome, Completed)


def test_whoever_decides_first_has_decided() -> None:
    attempt = Attempt(a_prompt())
    assert attempt.decide(Cancelled()) == Cancelled()
    assert attempt.decide(Completed(())) == Cancelled()
    assert not attempt.ask_cancel()


def test_a_dead_executor_is_a_server_fault_at_the_deadline() -> None:
    seen = watch_job(Job(a_prompt(), hangs=True), deadline_s=600)
    assert isinstance(seen.outcome, Failed)
    assert seen.outcome.failure is FailureClass.SERVER_FAULT
    assert 600 <= seen.took_s < 640
    assert set(seen.server.interrupted_ids) == {seen.server.runs[0]}


def test_an_executor_that_takes_nothing_any_more_is_noticed_long_before_the_deadline() -> None:
    async def dead(server: FakeComfy, attempt: Attempt) -> None:
        server.executor_alive = False
        server.enqueue(Job(attempt.prompt))

    seen = watch_job(Job(a_prompt()), dead)
    assert isinstance(seen.outcome, Failed)
    assert seen.outcome.failure is FailureClass.SERVER_FAULT
    assert 60 <= seen.took_s < 75


def test_twenty_silent_minutes_of_loading_are_kept() -> None:
    seen = watch_job(Job(a_prompt(), silent_s=1200))
    assert isinstance(seen.outcome, Completed)
    assert 35 <= seen.server.asked.count("queue") <= 45  # one look in 30 s


def test_the_deadline_ends_a_run_that_still_speaks_as_a_timeout() -> None:
    seen = watch_job(Job(a_prompt(), node_s=100), deadline_s=150)
    assert isinstance(seen.outcome, Failed)
    assert seen.outcome.failure is FailureClass.TIMEOUT
    assert seen.server.running is None
    assert 150 <= seen.took_s < 185


def test_the_deadline_of_one_that_still_waits_takes_it_off_the_queue() -> None:
    async def waiting(server: FakeComfy, attempt: Attempt) -> None:
        server.enqueue(Job(a_prompt(), node_s=1000))
        server.enqueue(Job(attempt.prompt))

    seen = watch_job(Job(a_prompt()), waiting, deadline_s=100)
    assert isinstance(seen.outcome, Failed)
    assert seen.outcome.failure is FailureClass.TIMEOUT
    assert seen.server.pending == []
    assert seen.server.running is not None
    assert 100 <= seen.took_s < 101


def test_a_run_that_ends_with_the_deadline_is_completed_and_not_timed_out() -> None:
    seen = watch_job(Job(a_prompt(), history_late_s=1.0), deadline_s=4.1)
    assert isinstance(seen.outcome, Completed)


def test_the_deadline_holds_when_the_server_is_gone() -> None:
    async def dying(server: FakeComfy, attempt: Attempt) -> None:
        server.enqueue(Job(attempt.prompt))
        server.later(1.5, lambda: server.restart(down_s=1e9))

    seen = watch_job(Job(a_prompt()), dying, deadline_s=60)
    assert isinstance(seen.outcome, Failed)
    assert seen.outcome.failure is FailureClass.TIMEOUT
    assert seen.took_s < 110


def test_waiting_on_the_server_is_no_inactivity_and_its_place_is_told() -> None:
    async def waiting(server: FakeComfy, attempt: Attempt) -> None:
        for _ in range(3):
            server.enqueue(Job(a_prompt(), node_s=100))
        server.enqueue(Job(attempt.prompt))

    seen = watch_job(Job(a_prompt()), waiting)
    assert isinstance(seen.outcome, Completed)
    assert [each.position for each in seen.updates if isinstance(each, Queued)] == [2, 1, 0]


def test_an_error_has_its_class_and_its_node() -> None:
    prompt = a_prompt()
    error = ExecutionError(prompt.prompt_id, "2", "KSampler", "Allocation on device", "torch.OutOfMemoryError")
    seen = watch_job(Job(prompt, error=error))
    assert isinstance(seen.outcome, Failed)
    assert (seen.outcome.failure, seen.outcome.node, seen.outcome.node_class) == (
        FailureClass.OUT_OF_MEMORY,
        "2",
        "KSampler",
    )


def test_garbage_instead_of_answers_does_not_end_a_run_that_speaks() -> None:
    async def garbling(server: FakeComfy, attempt: Attempt) -> None:
        server.answers_garbage = True
        server.enqueue(Job(attempt.prompt, node_s=100))

    assert isinstance(watch_job(Job(a_prompt()), garbling).outcome, Completed)


def test_garbage_and_silence_give_the_prompt_back() -> None:
    async def garbling(server: FakeComfy, attempt: Attempt) -> None:
        server.answers_garbage, server.silent_from = True, 0
        server.enqueue(Job(attempt.prompt, node_s=1000))

    seen = watch_job(Job(a_prompt()), garbling)
    assert seen.outcome == Returned(ReturnReason.UNREACHABLE)


def test_a_request_that_hangs_is_left_after_five_seconds() -> None:
    async def slow(server: FakeComfy, attempt: Attempt) -> None:
        server.latency_s = 1e6
        server.later(31, lambda: setattr(server, "latency_s", 0.01))
        server.silent_from = 0
        server.enqueue(Job(attempt.prompt))

    seen = watch_job(Job(a_prompt()), slow)
    assert isinstance(seen.outcome, Completed)
    assert seen.took_s < 50


def test_what_others_say_does_not_count_as_a_word_of_ours() -> None:
    """A monitor node that broadcasts every second would otherwise hide a lost end until the deadline."""

    async def chatting(server: FakeComfy, attempt: Attempt) -> None:
        feed = server.feed(attempt.prompt.prompt_id)
        server.silent_from = 5
        server.enqueue(Job(attempt.prompt))
        for second in range(300):
            server.later(second, feed.put, Unknown("crystools.monitor"))
            server.later(second, feed.put, Status(7))

    seen = watch_job(Job(a_prompt()), chatting)
    assert isinstance(seen.outcome, Completed)
    assert seen.took_s <= 35


def test_an_empty_queue_is_a_reason_to_look_at_once() -> None:
    async def deaf(server: FakeComfy, attempt: Attempt) -> None:
        server.silent_from = 5
        server.enqueue(Job(attempt.prompt))
        server.later(10, server.feed(attempt.prompt.prompt_id).put, Status(0))

    seen = watch_job(Job(a_prompt()), deaf)
    assert isinstance(seen.outcome, Completed)
    assert seen.took_s == pytest.approx(10, abs=0.3)


@pytest.mark.parametrize("enqueued_after_s", [0.0, 1.0, 20.0, 29.5])
def test_a_post_without_an_answer_that_arrived_late_is_followed_and_not_posted_again(enqueued_after_s: float) -> None:
    async def late(server: FakeComfy, attempt: Attempt) -> None:
        server.later(enqueued_after_s, server.enqueue, Job(attempt.prompt))

    seen = watch_job(Job(a_prompt()), late, submit_ambiguous=True)
    assert isinstance(seen.outcome, Completed)
    assert len(seen.server.runs) == 1


def test_a_post_without_an_answer_that_never_arrives_is_deleted_before_it_is_given_back() -> None:
    async def never(server: FakeComfy, attempt: Attempt) -> None:
        pass

    prompt = a_prompt()
    seen = watch_job(Job(prompt), never, submit_ambiguous=True)
    assert seen.outcome == Returned(ReturnReason.NEVER_QUEUED)
    assert seen.server.deleted_ids == [prompt.prompt_id]
    assert 30 <= seen.took_s < 35


def test_a_prompt_queued_twice_under_one_id_gives_one_result_and_the_second_is_taken_off() -> None:
    async def twice(server: FakeComfy, attempt: Attempt) -> None:
        server.enqueue(Job(attempt.prompt))
        server.enqueue(Job(a_prompt(), node_s=0.5))
        server.enqueue(Job(attempt.prompt))

    seen = watch_job(Job(a_prompt()), twice, submit_ambiguous=True)
    assert isinstance(seen.outcome, Completed)
    assert seen.server.runs.count(seen.server.runs[0]) == 1


def _two_in_a_row(*, deadline_s: float, interrupt_late_s: float = 0.0) -> tuple[Seen, Seen]:
    async def main() -> tuple[Seen, Seen]:
        server = FakeComfy()
        server.interrupt_late_s = interrupt_late_s
        first, second = Attempt(a_prompt()), Attempt(a_prompt())
        for attempt in (first, second):
            server.feed(attempt.prompt.prompt_id)
            server.enqueue(Job(attempt.prompt))
        try:
            return await asyncio.gather(
                watch_to_the_end(server, first, deadline_s=deadline_s), watch_to_the_end(server, second)
            )
        finally:
            await server.close()

    return run_virtually(main())


@pytest.mark.parametrize("deadline_ms", range(3900, 4060, 4))
def test_our_interruption_does_not_hit_the_next_job(deadline_ms: int) -> None:
    first, second = _two_in_a_row(deadline_s=deadline_ms / 1000)
    assert isinstance(second.outcome, Completed)
    assert isinstance(first.outcome, Completed) or first.outcome == Failed(
        FailureClass.TIMEOUT, "The deadline has passed."
    )


def test_an_interruption_that_the_server_lets_slip_to_the_next_job_is_not_blamed_on_it() -> None:
    hit = 0
    for deadline_ms in range(3900, 4060, 8):
        _, second = _two_in_a_row(deadline_s=deadline_ms / 1000, interrupt_late_s=0.05)
        hit += second.outcome == Returned(ReturnReason.INTERRUPTED)
        assert isinstance(second.outcome, Completed) or second.outcome == Returned(ReturnReason.INTERRUPTED)
    assert hit  # the race is really there


def test_a_lost_interruption_is_repeated() -> None:
    """The flag is reset when the executor starts a prompt: sent at that moment, it is gone."""

    async def losing(server: FakeComfy, attempt: Attempt) -> None:
        server.enqueue(Job(attempt.prompt, node_s=5))
        server.later(1, attempt.ask_cancel)
        for moment_ms in range(1000, 1500, 1):
            server.later(moment_ms / 1000, setattr, server, "_interrupt_flag", False)

    seen = watch_job(Job(a_prompt()), losing)
    assert seen.outcome == Cancelled()
    assert len(seen.server.interrupted_ids) > 1


def test_files_of_every_output_node_come_with_the_outcome() -> None:
    outputs = {"3": {**PICTURE, "animated": [True]}, "9": {"text": ["a", "b"]}}
    seen = watch_job(Job(a_prompt(), outputs=outputs))
    assert isinstance(seen.outcome, Completed)
    assert [(file.node, file.key) for file in seen.outcome.outputs] == [("3", "images"), ("9", "text"), ("9", "text")]
