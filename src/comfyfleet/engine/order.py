"""Which node runs next. As in ComfyUI: an output as soon as it can, then what stands just before one."""

from collections.abc import Callable

from comfyfleet.engine.graphs import Graph, links_of


class Order:
    def __init__(self, graph: Graph, *, is_output: Callable[[str], bool], is_cached: Callable[[str], bool]) -> None:
        self._graph = graph
        self._is_output = is_output
        self._is_cached = is_cached
        self._waiting: dict[str, set[str]] = {}  # node → what it still waits for, in the order they were found
        self._blocking: dict[str, dict[str, None]] = {}

    def add(self, wanted: str) -> None:
        """A node and all it needs that is not cached."""
        stack = [wanted]
        while stack:
            node_id = stack.pop()
            if node_id in self._waiting:
                continue
            self._waiting[node_id] = set()
            self._blocking.setdefault(node_id, {})
            for _, source, _ in links_of(self._graph[node_id]):
                if not self._is_cached(source):
                    stack.append(source)
                    self._waiting[node_id].add(source)
                    self._blocking.setdefault(source, {})[node_id] = None

    def next(self) -> str | None:
        ready = [node_id for node_id, needs in self._waiting.items() if not needs]
        if not ready:
            return None
        for distance in range(3):
            for node_id in ready:
                if self._leads_to_output(node_id, distance):
                    return node_id
        return ready[0]

    def done(self, node_id: str) -> None:
        del self._waiting[node_id]
        for blocked in self._blocking.pop(node_id):
            self._waiting[blocked].discard(node_id)

    def _leads_to_output(self, node_id: str, distance: int) -> bool:
        if distance == 0:
            return self._is_output(node_id)
        return any(self._leads_to_output(blocked, distance - 1) for blocked in self._blocking.get(node_id, ()))
