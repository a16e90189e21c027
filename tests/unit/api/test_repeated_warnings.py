"""A warning that comes again and again is said once, then counted; nothing else is held back."""

import subprocess
import sys
import threading
from typing import Any

import pytest
import structlog

from comfyfleet.api.repeated_warnings import RepeatedWarnings
from comfyfleet.kernel.repeats import Again, Repeats


class Time:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


class Log:
    """`lines`: what went out, the counts among it."""

    def __init__(self) -> None:
        self.time = Time()
        self.lines: list[str] = []
        self.processor = RepeatedWarnings(every_s=60.0, clock=self.time, say=self._count)

    def _count(self, again: Again[dict[str, Any]]) -> None:
        self.lines.append(f"{again.latest['event']} {again.latest.get('problem', '')} {again}")

    def say(self, event: str, method: str = "warning", **facts: Any) -> None:
        try:
            said = self.processor(None, method, {"event": event, **facts})
        except structlog.DropEvent:
            return
        self.lines.append(f"{said['event']} {said.get('problem', '')}".strip())


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Log:
    monkeypatch.setattr(RepeatedWarnings, "_wake", lambda self: None)  # the test says when time is over
    return Log()


def test_an_unreachable_server_each_second_is_two_lines_a_minute(log: Log) -> None:
    for second in range(150):
        log.say("poll.unanswered", tried=second, problem=f"no answer for {second}.5 s", request_id=str(second))
        log.time.now_s += 1
        log.processor.tell()
    log.processor.tell(at_last=True)
    assert log.lines == [
        "poll.unanswered no answer for 0.5 s",
        "poll.unanswered no answer for 59.5 s said 59 more times in the last 60 s",
        "poll.unanswered no answer for 119.5 s said 60 more times in the last 60 s",
        "poll.unanswered no answer for 149.5 s said 30 more times in the last 30 s",
    ]


def test_when_it_ends_its_count_is_said_and_a_new_one_is_news(log: Log) -> None:
    for _ in range(2):
        log.say("away", problem="x")
    for _ in range(3):
        log.time.now_s += 61
        log.processor.tell()
    log.say("away", problem="x")
    assert log.lines == ["away x", "away x said 1 more time in the last 61 s", "away x"]


def test_what_differs_in_more_than_numbers_is_said(log: Log) -> None:
    for port in (8188, 8189):
        log.say("away", problem=f"http://127.0.0.1:{port} refuses")
    log.say("away", problem="other", job="a")
    log.say("away", problem="other", job="b")
    assert len(log.lines) == 4


def test_errors_and_tracebacks_and_news_are_never_held_back(log: Log) -> None:
    for _ in range(3):
        log.say("broke", "error")
        log.say("said", "info")
        log.say("odd", exc_info=True)
    assert len(log.lines) == 9


def test_what_is_remembered_is_bounded() -> None:
    repeats: Repeats[int] = Repeats(every_s=60.0, counted_max=10)
    for number in range(1_000):
        assert repeats.admit(number, number, now_s=0.0)
    assert not repeats.admit(999, 0, now_s=1.0)
    assert repeats.admit(1, 0, now_s=1.0), "forgotten, so it is said in full"
    assert len(repeats.due(now_s=1.0, at_last=True)) == 1


def test_a_real_process_says_it_once_and_counts_the_rest_when_it_ends() -> None:
    program = """
import structlog
from comfyfleet.api import logs, repeated_warnings
logs.configure_logs("json", "info")
for second in range(5):
    structlog.get_logger().warning("server.away", problem=f"no answer for {second} s", api_key="s3cret")
structlog.get_logger().info("other")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    lines = [line for line in done.stderr.splitlines() if "server.away" in line]
    assert len(lines) == 2, done.stderr
    assert '"repeated": "said 4 more times in the last 1 s"' in lines[1]
    assert '"level": "warning"' in lines[1]
    assert "s3cret" not in done.stderr


def test_while_it_goes_on_a_thread_says_how_often() -> None:
    heard, told = threading.Event(), []

    def say(again: Again[dict[str, Any]]) -> None:
        told.append(again.count)
        heard.set()

    processor = RepeatedWarnings(every_s=0.05, say=say)
    processor(None, "warning", {"event": "away"})
    for _ in range(3):
        with pytest.raises(structlog.DropEvent):
            processor(None, "warning", {"event": "away"})
    assert heard.wait(10)
    assert told == [3]
