"""Which part of a prompt's time each node takes: the mean of its past times, else what nodes of its kind usually take.

Kept by structure hash, so by workflow version. A sampler is remembered by the seconds of one step: a graph that asks
for ten times as many steps takes ten times as long there.
"""

import math
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from comfyfleet.comfy.model import Completed, Graph

WORKFLOWS_MAX = 200
NODES_MAX = 1_000
# A mean of this many: a server that has become faster is believed within a day.
RUNS_MAX = 20
STEPS_USUAL = 20.0
STEPS_MAX = 10_000.0
LINKS_FOLLOWED_MAX = 8
# In sampling steps. Only the first run of a workflow on this machine is weighed by these.
USUAL = (("loader", 1.0), ("upscale", 2.0), ("decode", 2.0), ("encode", 0.5), ("save", 0.5), ("preview", 0.5))
USUAL_OTHER = 0.2
WEIGHT_MIN = 1e-6


@dataclass(frozen=True, slots=True)
class PastTime:
    """`seconds`: the mean; of a sampler, for one step."""

    seconds: float
    runs: int

    def and_also(self, seconds: float) -> "PastTime":
        runs = min(self.runs + 1, RUNS_MAX)
        return PastTime(self.seconds + (seconds - self.seconds) / runs, runs)


Past = Mapping[str, PastTime]


class NodeTimes:
    """Of the workflows that ran last, `WORKFLOWS_MAX` of them."""

    def __init__(self) -> None:
        self._past: OrderedDict[str, Past] = OrderedDict()

    def weights(self, structure_hash: str, graph: Graph) -> dict[str, float]:
        return node_weights(graph, self._past.get(structure_hash, {}))

    def learn(self, structure_hash: str, graph: Graph, done: Completed) -> Past | None:
        """What is known now; None where this run tells nothing new."""
        if not done.node_timings_s or len(graph) > NODES_MAX:
            return None
        past = dict(self._past.get(structure_hash, {}))
        for node, seconds in _of_the_graph(graph, done.node_timings_s).items():
            each_s = max(0.0, seconds) / _size(graph, node)
            past[node] = past.get(node, PastTime(0.0, 0)).and_also(each_s)
        self.keep(structure_hash, past)
        return past

    def keep(self, structure_hash: str, past: Past) -> None:
        self._past[structure_hash] = past
        self._past.move_to_end(structure_hash)
        while len(self._past) > WORKFLOWS_MAX:
            self._past.popitem(last=False)


def node_weights(graph: Graph, past: Past) -> dict[str, float]:
    """In seconds where its past is known, in sampling steps where nothing is. A node that has no past of its own, for
    it was always cached, is weighed as its kind beside those that have one."""
    known = {node: past[node].seconds * _size(graph, node) for node in graph if node in past}
    usual = {node: _usual(graph, node) for node in graph}
    known_s, known_steps = sum(known.values()), sum(usual[node] for node in known)
    step_s = known_s / known_steps if known_s > 0 else 1.0
    if known_s <= 0:
        known = {}
    return {node: max(known.get(node, usual[node] * step_s), WEIGHT_MIN) for node in graph}


def _of_the_graph(graph: Graph, timings_s: Mapping[str, float]) -> dict[str, float]:
    """A node that was made at run time ("7.0.0.3") counts for its maker."""
    found: dict[str, float] = {}
    for node, seconds in timings_s.items():
        owner = node if node in graph else node.partition(".")[0]
        if owner in graph:
            found[owner] = found.get(owner, 0.0) + seconds
    return found


def _usual(graph: Graph, node: str) -> float:
    if _is_sampler(graph, node):
        return _size(graph, node)
    name = _class_of(graph, node).lower()
    return next((steps for word, steps in USUAL if word in name), USUAL_OTHER)


def _size(graph: Graph, node: str) -> float:
    return _steps_of(graph, node) if _is_sampler(graph, node) else 1.0


def _is_sampler(graph: Graph, node: str) -> bool:
    """One that only names a sampler for another node (`KSamplerSelect`) is fed by nobody."""
    fed = any(_source(value) is not None for value in _inputs_of(graph, node).values())
    return fed and "sampler" in _class_of(graph, node).lower()


def _steps_of(graph: Graph, node: str) -> float:
    """Its own, or those of the schedule that it is fed."""
    inputs = _inputs_of(graph, node)
    steps = _number(graph, inputs.get("steps"))
    schedule: Any = inputs.get("sigmas")
    for _ in range(LINKS_FOLLOWED_MAX):
        source = _source(schedule)
        if steps is not None or source is None:
            break
        steps = _number(graph, _inputs_of(graph, source).get("steps"))
        schedule = _inputs_of(graph, source).get("sigmas")
    if steps is None:
        return STEPS_USUAL
    first = _number(graph, inputs.get("start_at_step")) or 0.0
    last = _number(graph, inputs.get("end_at_step"))
    return min(max(min(steps, steps if last is None else last) - first, 1.0), STEPS_MAX)


def _number(graph: Graph, value: Any) -> float | None:
    """Written there, or in the node that it is linked to."""
    source = _source(value)
    if source is not None:
        value = _inputs_of(graph, source).get("value")
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)
    return float(min(value, STEPS_MAX)) if is_number else None


def _source(value: Any) -> str | None:
    is_link = isinstance(value, list | tuple) and len(value) == 2 and isinstance(value[0], str)
    return value[0] if is_link else None


def _class_of(graph: Graph, node: str) -> str:
    entry = graph.get(node)
    found = entry.get("class_type") if isinstance(entry, Mapping) else None
    return found if isinstance(found, str) else ""


def _inputs_of(graph: Graph, node: str) -> Mapping[str, Any]:
    entry = graph.get(node)
    found = entry.get("inputs") if isinstance(entry, Mapping) else None
    return found if isinstance(found, Mapping) else {}
