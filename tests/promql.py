"""What an expression of PromQL names: metrics, their labels, and the labels that it groups and joins by."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import promql_parser

from comfyfleet.bootstrap import build_house
from comfyfleet.settings import Settings
from tools import metrics_page

# A histogram's series; `instance` and `job` come from Prometheus.
SUFFIXES = ("_bucket", "_count", "_sum")
OF_PROMETHEUS = frozenset({"instance", "job", "le"})
# Counted by the client library for each process.
OF_PROCESS = ("process_cpu_seconds_total", "process_resident_memory_bytes")
# Grafana fills these in; any duration will do to parse them.
GRAFANA = {"$__rate_interval": "5m", "$__interval": "5m", "$__range": "1h"}


@dataclass
class NamedInQuery:
    """`selected`: each metric with the labels that it is selected by. `grouped`: labels of `by` and `on`."""

    selected: list[tuple[str, frozenset[str]]] = field(default_factory=list)
    grouped: set[str] = field(default_factory=set)


async def all_labels(home: Path) -> dict[str, set[str]]:
    """Of every metric that the control plane or a worker has."""
    house = build_house(Settings(home=home))
    try:
        return {name: set(labels) for name, _, labels, _ in metrics_page.everything(house)}
    finally:
        await house.close()


def read_query(expression: str) -> NamedInQuery:
    """Raises ValueError for what is no PromQL."""
    for name, text in GRAFANA.items():
        expression = expression.replace(name, text)
    found = NamedInQuery()
    for node in _walk(promql_parser.parse(expression)):
        if isinstance(node, promql_parser.VectorSelector):
            labels = frozenset(each.name for each in node.matchers.matchers)
            found.selected.append((node.name, labels))
        modifier = getattr(node, "modifier", None)
        for labels in (getattr(modifier, "labels", None), getattr(getattr(modifier, "matching", None), "labels", None)):
            found.grouped.update(labels or ())
    return found


def unknown_in(expression: str, known: Mapping[str, set[str]]) -> list[str]:
    """What the expression names and no registry has. `known`: labels of each metric."""
    query, found, present = read_query(expression), [], set(OF_PROMETHEUS)
    for name, labels in query.selected:
        base = base_of(name, known)
        if base is None:
            found.append(name)
            continue
        present |= known[base]
        found += [f"{name}{{{each}}}" for each in sorted(labels - known[base] - OF_PROMETHEUS)]
    return found + sorted(query.grouped - present)


def metrics_in(expression: str, known: Mapping[str, set[str]]) -> set[str]:
    return {base for name, _ in read_query(expression).selected if (base := base_of(name, known)) is not None}


def base_of(name: str, known: Mapping[str, set[str]]) -> str | None:
    """The metric that a series belongs to."""
    return next((each for each in (name, *(name.removesuffix(end) for end in SUFFIXES)) if each in known), None)


def _walk(node: Any) -> Iterator[Any]:
    yield node
    for name in ("lhs", "rhs", "expr", "vector_selector", "param"):
        inner = getattr(node, name, None)
        if isinstance(inner, promql_parser.Expr | promql_parser.VectorSelector):
            yield from _walk(inner)
    args = getattr(node, "args", None) or ()
    for each in args:
        yield from _walk(each)
