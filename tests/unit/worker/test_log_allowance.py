"""How much of a log is passed on."""

from comfyfleet.worker.log_allowance import BYTES_MAX, LEFT_OUT, LINES_A_SECOND, LINES_MAX, LogAllowance


def admitted(lines: list[str], *, a_second: int) -> list[str]:
    allowance = LogAllowance()
    told = [allowance.admit(line, now_s=number // a_second) for number, line in enumerate(lines)]
    return [each for each in told if each is not None]


def test_a_quiet_log_goes_through() -> None:
    assert admitted(["a", "b"], a_second=1) == ["a", "b"]


def test_a_burst_loses_lines_and_the_next_second_is_heard_again() -> None:
    told = admitted(["x"] * 100 + ["later"], a_second=100)
    assert told == ["x"] * LINES_A_SECOND + ["later"]


def test_past_the_limit_it_is_said_once_and_over() -> None:
    told = admitted(["x"] * 1_000, a_second=10)
    assert (len(told), told[-1], told.count(LEFT_OUT)) == (LINES_MAX + 1, LEFT_OUT, 1)
    heavy = admitted(["é" * 500] * 200, a_second=10)
    assert sum(len(each.encode()) for each in heavy[:-1]) <= BYTES_MAX
    assert heavy[-1] == LEFT_OUT
