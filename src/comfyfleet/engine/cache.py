"""What the nodes of the last prompt made, kept by what they were made from.

The key of a node is a signature of its class, its values and the signatures of all above it: not its id, not who
asked. Only what the newest prompt could use is kept.
"""

import hashlib
import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from comfyfleet.engine.folders import Folders
from comfyfleet.engine.graphs import Graph, is_link, upstream_first
from comfyfleet.engine.registry import Registry


@dataclass(frozen=True, slots=True)
class Kept:
    """The values of each output slot (a list: one for each run of the node), and what the client was shown."""

    slots: tuple[list[Any], ...]
    ui: Mapping[str, Any] | None
    meta: Mapping[str, Any] | None


class Cache:
    def __init__(self) -> None:
        self._kept: dict[str, Kept] = {}
        self._signatures: dict[str, str] = {}

    def turn_to(self, graph: Graph, registry: Registry, folders: Folders) -> None:
        """From here on ids are those of this prompt; what it cannot use is dropped."""
        self._signatures = sign(graph, registry, folders)
        usable = set(self._signatures.values())
        self._kept = {signature: kept for signature, kept in self._kept.items() if signature in usable}

    def get(self, node_id: str) -> Kept | None:
        return self._kept.get(self._signatures.get(node_id, ""))

    def put(self, node_id: str, kept: Kept) -> None:
        self._kept[self._signatures[node_id]] = kept

    def clear(self) -> None:
        self._kept.clear()


def sign(graph: Graph, registry: Registry, folders: Folders) -> dict[str, str]:
    signatures: dict[str, str] = {}
    seen: set[str] = set()
    for wanted in graph:
        for node_id in upstream_first(graph, wanted, seen) if wanted not in seen else ():
            signatures[node_id] = _sign_node(node_id, graph, registry, folders, signatures)
    return signatures


def _sign_node(node_id: str, graph: Graph, registry: Registry, folders: Folders, above: Mapping[str, str]) -> str:
    node = graph[node_id]
    known = registry[node["class_type"]]
    given = node.get("inputs", {})
    values: dict[str, Any] = {
        name: ["link", above.get(value[0], ""), value[1]] if is_link(value) else ["value", value]
        for name, value in given.items()
    }
    constants = {name: None if is_link(value) else value for name, value in given.items()}
    try:
        fingerprint: Any = known.fingerprint(constants, folders)
    except Exception:
        fingerprint = float("nan")  # what cannot be looked at may have changed
    if fingerprint != fingerprint:
        fingerprint = uuid.uuid4().hex
    own_id = node_id if any("UNIQUE_ID" in spec for spec in known.hidden.values() if not callable(spec)) else None
    text = json.dumps([known.name, repr(fingerprint), own_id, values], sort_keys=True, default=repr)
    return hashlib.sha256(text.encode()).hexdigest()
