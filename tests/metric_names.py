"""The naming rules of Prometheus over a real exposition, for who has no promtool; and where promtool is."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
NOT_BASE_UNITS = (
    "ms",
    "milliseconds",
    "minutes",
    "hours",
    "days",
    "kib",
    "mib",
    "mb",
    "gb",
    "percent",
    "milli",
    "micro",
)
RESERVED = {"job", "instance", "__name__"}
HISTOGRAM_LABELS = {"le", "quantile"}


def find_promtool() -> str:
    """Where `tools/system-packages` has put it, or the system's. Without one the test is skipped, and says so."""
    unpacked = Path(__file__).parents[1] / ".promtool" / "usr" / "bin" / "promtool"
    found = str(unpacked) if unpacked.exists() else shutil.which("promtool")
    if found is None:
        pytest.skip("promtool is missing: run tools/system-packages, or install prometheus")
    return found


def problems_of(text: str) -> list[str]:
    families = list(text_string_to_metric_families(text))
    names = [family.name for family in families]
    repeated = [f"{name}: twice" for name in {each for each in names if names.count(each) > 1}]
    # The parser gives counters their `_total`, whether they had it or not.
    counters = re.findall(r"^# TYPE (\S+) counter$", text, re.MULTILINE)
    repeated += [f"{name}: a counter without _total" for name in counters if not name.endswith("_total")]
    return repeated + [f"{family.name}: {problem}" for family in families for problem in _problems(family)]


def _problems(family: Metric) -> Iterator[str]:
    rules = {
        "not lower_snake_case": not NAME.fullmatch(family.name),
        "no help text": not family.documentation,
        f"a {family.type}": family.type not in ("counter", "gauge", "histogram"),
        "_total, and no counter": family.type != "counter" and family.name.endswith("_total"),
        "not in base units": any(part in NOT_BASE_UNITS for part in family.name.split("_")),
        "a suffix that histograms use": family.name.endswith(("_count", "_sum", "_bucket")),
    }
    yield from (problem for problem, holds in rules.items() if holds)
    for sample in family.samples:
        labels = set(sample.labels) - (HISTOGRAM_LABELS if family.type == "histogram" else set())
        if labels & (RESERVED | HISTOGRAM_LABELS):
            yield f"a reserved label in {sorted(labels)}"
        if any(not NAME.fullmatch(label) for label in labels):
            yield f"a label that is not lower_snake_case in {sorted(labels)}"
