"""Whose a line of a server's log is."""

from datetime import UTC, datetime, timedelta

import pytest

from comfyfleet.comfy.log_lines import LogLines, clean_lines
from comfyfleet.comfy.messages import ExecutionStart, ExecutionSuccess, LogEntry

NOW_S = 1_800_000_000.0


def entry(at_s: float, words: str = "loaded", *, zone_h: float = 0.0) -> LogEntry:
    local = datetime.fromtimestamp(at_s, UTC).replace(tzinfo=None) + timedelta(hours=zone_h)
    return LogEntry(local.isoformat(), words)


def two_prompts() -> LogLines:
    """The first ran from 10 s to 5 s ago, the second runs since 3 s."""
    lines = LogLines()
    lines.note(ExecutionStart("first", int((NOW_S - 10) * 1000)))
    lines.note(ExecutionSuccess("first", int((NOW_S - 5) * 1000)))
    lines.note(ExecutionStart("second", int((NOW_S - 3) * 1000)))
    return lines


@pytest.mark.parametrize("zone_h", [0, 2, -7, 5.75])
@pytest.mark.parametrize(
    ("ago_s", "owner"), [(11.0, None), (9.0, "first"), (4.0, None), (3.0, "second"), (0.1, "second")]
)
def test_a_line_is_of_the_prompt_that_ran_when_it_was_written(ago_s: float, owner: str | None, zone_h: float) -> None:
    """Lines come late: what the second prompt hears may have been written for the first, or for somebody else's."""
    assert two_prompts().owner_of(entry(NOW_S - ago_s, zone_h=zone_h), now_s=NOW_S) == owner


def test_the_line_that_sums_a_prompt_up_comes_after_its_end() -> None:
    late = entry(NOW_S - 4.9, "Prompt executed in 5.00 seconds")
    assert two_prompts().owner_of(late, now_s=NOW_S) == "first"
    assert two_prompts().owner_of(entry(NOW_S - 4.9, "another client's"), now_s=NOW_S) is None


def test_a_line_without_a_time_is_nobodys() -> None:
    assert two_prompts().owner_of(LogEntry("yesterday", "x"), now_s=NOW_S) is None


def test_colours_bars_and_long_lines_are_made_readable() -> None:
    assert clean_lines("\x1b[32m[INFO]\x1b[0m got prompt\n\n") == ["[INFO] got prompt"]
    assert clean_lines(" 40%|####      | 8/20 [00:01<00:02]\r 45%|####     | 9/20\n") == []
    assert clean_lines("x" * 900) == ["x" * 500]
