"""Times that people read are rounded, and one place says them."""

import ast
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comfyfleet.cli import tables
from comfyfleet.kernel.durations import seconds_text
from comfyfleet.kernel.errors import FleetError, LimitReached

SOURCE = Path(__file__).parents[3] / "src" / "comfyfleet"
# A limit and what is just above it must not read the same; ComfyUI's own line of its log.
EXACT = {"kernel/durations.py", "media/films.py", "engine/run_prompt.py", "engine/nodes/audio.py"}
UNIT = r"(s|seconds|ms|min|minutes|h|hours)\b"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.01, "under 0.1 s"),
        (0.345678, "0.3 s"),
        (4.0, "4 s"),
        (4.25, "4.2 s"),
        (9.96, "10 s"),
        (12.345678, "12 s"),
        (90, "90 s"),
        (119.4, "119 s"),
        (119.6, "2 min"),
        (300, "5 min"),
        (3_600, "60 min"),
        (7_200, "2 h"),
        (9_000, "2.5 h"),
        (86_400, "24 h"),
        (129_600, "1.5 days"),
        (86_400 * 30, "30 days"),
        (-12.3, "12 s"),
    ],
)
def test_a_time_is_as_exact_as_a_reader_needs(seconds: float, text: str) -> None:
    assert seconds_text(seconds) == text


@given(st.floats(0, 1e9))
def test_no_time_has_more_than_one_decimal(seconds: float) -> None:
    assert re.fullmatch(r"(under )?\d+(\.\d)? (s|min|h|days?)", seconds_text(seconds))


def test_an_error_says_its_times_in_words_and_keeps_the_fact() -> None:
    class Late(FleetError):
        text = "Not within {limit_s:time} of {name!r}."

    late = Late(limit_s=12.345678, name="x")
    assert late.message == "Not within 12 s of 'x'."
    assert late.facts["limit_s"] == 12.345678
    assert LimitReached(retry_after_s=600).message.endswith("Try again in 10 min.")


def test_a_table_rounds_ages_and_instants(capsys: pytest.CaptureFixture[str]) -> None:
    at = datetime(2026, 11, 18, 22, 20, 33, 17_715, tzinfo=UTC)
    tables.print_facts({"at": at.astimezone()})
    assert capsys.readouterr().out.split(maxsplit=1)[1].strip() == "2026-11-18 22:20:33 UTC"
    now = datetime.now(UTC)
    assert tables.ago(now - timedelta(seconds=12.7)) == "12 s ago"
    assert tables.ago(now - timedelta(hours=3, seconds=1)) == "3 h ago"
    assert tables.ago(now + timedelta(minutes=30, seconds=1)) == "in 30 min"
    assert tables.ago(None) is None


def handmade(text: str) -> Iterator[tuple[int, str]]:
    """Values before a unit of time that were put there by hand: in f-strings, and in texts of errors."""
    nodes = list(ast.walk(ast.parse(text)))
    for node in nodes:
        if isinstance(node, ast.JoinedStr) and any(is_handmade(*each) for each in pairwise(node.values)):
            yield node.lineno, ast.unparse(node)
    for node in nodes:
        said = node.value if isinstance(node, ast.Constant) else None
        if isinstance(said, str) and re.search(rf"\{{\w+(![rs])?(:[^}}]*)?\}} {UNIT}", said):
            yield node.lineno, said  # type: ignore[attr-defined]


def is_handmade(value: ast.expr, after: ast.expr) -> bool:
    if not isinstance(value, ast.FormattedValue) or not isinstance(after, ast.Constant):
        return False
    return bool(re.match(rf" {UNIT}", str(after.value))) and not is_ready(value.value)


def is_ready(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "seconds_text"


def test_no_other_place_puts_a_unit_behind_a_number() -> None:
    found = [
        (name, line, text[:100])
        for path in sorted(SOURCE.rglob("*.py"))
        if (name := path.relative_to(SOURCE).as_posix()) not in EXACT
        for line, text in handmade(path.read_text())
    ]
    assert found == []


@pytest.mark.parametrize("text", ['f"took {took_s:.3f} s"', '"took {took_s} s"', 'f"{a}{b:g} min"', 'x = "{ms} ms"'])
def test_the_search_sees_what_is_handmade(text: str) -> None:
    assert list(handmade(text))
    assert not list(handmade('f"took {seconds_text(took_s)} so far"'))
