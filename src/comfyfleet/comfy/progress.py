"""How far a prompt is: the weight of its nodes that are done over that of all that have to run, with the current
node's steps as a part of its own weight.

Three dialects are heard: `progress_state` (since 0.3.45; all nodes, twice a node), and the older `executing` and
`progress`, one node at a time. They tell the same story, and the fraction never falls. It is 1 at the end only.
"""

from collections.abc import Mapping

from comfyfleet.comfy.messages import (
    Executed,
    Executing,
    ExecutionCached,
    ExecutionError,
    ExecutionInterrupted,
    ExecutionSuccess,
    Heard,
    NodeState,
    ProgressState,
    ProgressStep,
)
from comfyfleet.comfy.model import Graph, Progress
from comfyfleet.comfy.node_times import node_weights

FINISHED = "finished"
RUNNING = "running"
# The last message of a node is not the end: that is told by the server.
BEFORE_THE_END = 0.99


class Progression:
    """Of one prompt, from its messages alone. `weights`: what part each node has, in any unit."""

    def __init__(self, graph: Graph, weights: Mapping[str, float] | None = None) -> None:
        self._graph = graph
        self._weights = weights if weights is not None else node_weights(graph, {})
        self._cached: set[str] = set()
        self._done: set[str] = set()
        self._node: str | None = None
        self._step: float | None = None
        self._steps: float | None = None
        self._states_heard = False
        self._last = Progress(0.0, nodes_total=len(graph))
        self._timings = Timings()

    @property
    def last(self) -> Progress:
        """As far as is known."""
        return self._last

    @property
    def node(self) -> str | None:
        return self._node

    @property
    def all_done(self) -> bool:
        """Every node of the graph: nothing is left to run."""
        return bool(self._graph) and self._done.issuperset(self._graph)

    @property
    def timings_s(self) -> Mapping[str, float]:
        """Of each node that ran while we listened."""
        return self._timings.ended_s

    def hear(self, message: Heard, *, now_s: float) -> Progress | None:
        """The new progress; None when nothing has moved."""
        match message:
            case ExecutionCached(nodes=nodes):
                self._done.update(nodes)
                self._cached.update(nodes)
            case ProgressState(nodes=nodes):
                self._hear_states(nodes)
            case Executing(node=node):
                self._hear_executing(node, now_s)
            case ProgressStep(value=value, max=steps, node=node):
                self._at(node or self._node)
                self._step, self._steps = value, steps
            case Executed(node=node):
                self._done.add(node)
            case ExecutionSuccess() | ExecutionError() | ExecutionInterrupted():
                self._timings.turn_to(None, now_s)
                return None
            case _:
                return None
        return self._moved()

    def finish(self) -> Progress | None:
        """Nodes that lead to no output never ran: the end is the end."""
        self._node = self._step = self._steps = None
        done = Progress(1.0, nodes_done=len(self._graph), nodes_total=len(self._graph))
        return self._tell(done)

    def _hear_states(self, nodes: Mapping[str, NodeState]) -> None:
        self._states_heard = True
        for node, state in nodes.items():
            if state.state == FINISHED:
                self._done.add(node)
            elif state.state == RUNNING:
                self._done.discard(node)  # a loop runs its nodes again
                self._at(node)
                self._step, self._steps = state.value, state.max

    def _hear_executing(self, node: str | None, now_s: float) -> None:
        if not self._states_heard and self._node is not None and node != self._node:
            self._done.add(self._node)
        self._timings.turn_to(node, now_s)
        self._at(node)

    def _at(self, node: str | None) -> None:
        if node != self._node:
            self._node, self._step, self._steps = node, None, None

    def _moved(self) -> Progress | None:
        total = len(self._graph)
        done = sum(1 for node in self._graph if node in self._done)
        # Nodes made at run time ("7.0.0.3") do not count: their maker, which stands in the graph, ends after them.
        counts = self._node in self._graph and self._node not in self._done
        return self._tell(
            Progress(
                max(self._last.fraction, self._fraction(counts=counts)),
                node=self._node,
                node_class=self._class_of(self._node),
                # A bar of one step says nothing: nodes without steps of their own have it.
                step=self._step if (self._steps or 0) > 1 else None,
                steps=self._steps if (self._steps or 0) > 1 else None,
                nodes_done=max(done, self._last.nodes_done),
                nodes_total=total,
            )
        )

    def _fraction(self, *, counts: bool) -> float:
        """What is cached takes no time: it is no part of the way."""
        to_run = {node: self._weights.get(node, 0.0) for node in self._graph if node not in self._cached}
        total = sum(to_run.values())
        if total <= 0:
            return 0.0
        done = sum(weight for node, weight in to_run.items() if node in self._done)
        here = to_run.get(self._node, 0.0) * self._part() if counts and self._node is not None else 0.0
        return min((done + here) / total, BEFORE_THE_END)

    def _part(self) -> float:
        if self._step is None or not self._steps or self._steps <= 0:
            return 0.0
        return min(max(self._step / self._steps, 0.0), 1.0)

    def _class_of(self, node: str | None) -> str | None:
        if node is None:
            return None
        entry = self._graph.get(node) or self._graph.get(node.partition(".")[0])
        found = entry.get("class_type") if isinstance(entry, Mapping) else None
        return found if isinstance(found, str) else None

    def _tell(self, progress: Progress) -> Progress | None:
        if progress == self._last:
            return None
        self._last = progress
        return progress


class Timings:
    """From one `executing` to the next. A node that ran twice has the sum."""

    def __init__(self) -> None:
        self.ended_s: dict[str, float] = {}
        self._node: str | None = None
        self._since_s = 0.0

    def turn_to(self, node: str | None, now_s: float) -> None:
        if self._node is not None:
            self.ended_s[self._node] = self.ended_s.get(self._node, 0.0) + now_s - self._since_s
        self._node, self._since_s = node, now_s
