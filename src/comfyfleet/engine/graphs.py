"""The graph of a prompt as ComfyUI takes it: node id → {"class_type", "inputs"}; a link is [node id, slot]."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias, TypeGuard

Graph: TypeAlias = dict[str, Any]


def is_link(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list) and len(value) == 2 and isinstance(value[0], str) and type(value[1]) in (int, float)


def links_of(node: Mapping[str, Any]) -> Iterator[tuple[str, str, int]]:
    """(input name, node id, slot) of each link."""
    for name, value in node["inputs"].items():
        if is_link(value):
            yield name, value[0], int(value[1])


def upstream_first(graph: Mapping[str, Any], wanted: str, seen: set[str]) -> list[str]:
    """A node and all it needs that was not seen yet, each after what it needs; walks without recursion, and cycles do
    not trap it."""
    order: list[str] = []
    seen.add(wanted)
    path = [(wanted, _sources(graph, wanted))]
    while path:
        node_id, sources = path[-1]
        source = next((each for each in sources if each not in seen), None)
        if source is None:
            order.append(node_id)
            path.pop()
        else:
            seen.add(source)
            path.append((source, _sources(graph, source)))
    return order


def _sources(graph: Mapping[str, Any], node_id: str) -> Iterator[str]:
    """Only what is really there: whoever validates says what is wrong with the rest."""
    node = graph.get(node_id)
    inputs = node.get("inputs") if isinstance(node, dict) else None
    values = list(inputs.values()) if isinstance(inputs, dict) else []
    return iter([value[0] for value in values if is_link(value) and value[0] in graph])
