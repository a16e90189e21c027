"""How far each node of the running prompt is: the content of `progress_state`."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class ProgressState:
    prompt_id: str
    _nodes: dict[str, dict[str, Any]] = field(default_factory=dict)

    def start(self, node_id: str) -> None:
        self._set(node_id, 0.0, 1.0, "running")

    def step(self, node_id: str, value: float, steps: float) -> None:
        self._set(node_id, value, steps, "running")

    def finish(self, node_id: str) -> None:
        steps = self._nodes.get(node_id, {}).get("max", 1)
        self._set(node_id, steps, steps, "finished")

    def fail(self, node_id: str) -> None:
        self._nodes[node_id] |= {"state": "error"}

    def facts_of(self, node_id: str) -> dict[str, Any]:
        return {
            "node_id": node_id,
            "prompt_id": self.prompt_id,
            "display_node_id": node_id,
            "parent_node_id": None,
            "real_node_id": node_id,
        }

    def as_message(self) -> dict[str, Any]:
        return {"prompt_id": self.prompt_id, "nodes": self._nodes}

    def _set(self, node_id: str, value: float, steps: float, state: str) -> None:
        self._nodes[node_id] = {"value": value, "max": steps, "state": state, **self.facts_of(node_id)}
