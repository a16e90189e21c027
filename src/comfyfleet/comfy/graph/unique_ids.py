"""Node ids that are unique in the whole file, as the interface makes them when it opens one.

Definitions of subgraphs number their nodes on their own, so two of them may use the same number. The interface gives
the later one a new number, and that number stands in the prompt.
"""

from collections.abc import Iterator, Mapping
from typing import Any

Ids = dict[str, Any]  # old id, as text → new id


def with_unique_ids(workflow: Mapping[str, Any]) -> Mapping[str, Any]:
    """The same workflow where ids clash nowhere, else a changed copy."""
    definitions = (workflow.get("definitions") or {}).get("subgraphs") or []
    renumbered = _Numbers(workflow).renumber(definitions)
    if not any(renumbered.values()):
        return workflow
    subgraphs = [_renumbered(each, renumbered) for each in definitions]
    nodes = [_with_proxies(node, renumbered) for node in workflow["nodes"]]
    return {**workflow, "nodes": nodes, "definitions": {**workflow["definitions"], "subgraphs": subgraphs}}


class _Numbers:
    """Takes the next number above all that the file has given out, in the order of the file."""

    def __init__(self, workflow: Mapping[str, Any]) -> None:
        self.taken = {str(node["id"]) for node in workflow["nodes"] if _is_number(node["id"])}
        state = workflow.get("state")
        kept = state.get("lastNodeId") if isinstance(state, Mapping) else None
        last = workflow.get("last_node_id", kept)
        self.last = last if _is_number(last) else 0

    def renumber(self, definitions: list[Any]) -> dict[str, Ids]:
        return {str(each["id"]): dict(self._clashes(each.get("nodes") or [])) for each in definitions}

    def _clashes(self, nodes: list[Any]) -> Iterator[tuple[str, int]]:
        own: set[str] = set()
        for node in nodes:
            found = str(node["id"])
            # Twice in one definition is no clash of definitions: the reader refuses it.
            if found in self.taken and found not in own:
                yield found, self._next()
            else:
                self.taken.add(found)
                self.last = max(self.last, int(found)) if found.isdecimal() else self.last
            own.add(found)

    def _next(self) -> int:
        self.last += 1
        while str(self.last) in self.taken:
            self.last += 1
        self.taken.add(str(self.last))
        return self.last


def _is_number(given: Any) -> bool:
    return isinstance(given, int) and not isinstance(given, bool)


def _renumbered(definition: Mapping[str, Any], renumbered: Mapping[str, Ids]) -> dict[str, Any]:
    ids = renumbered[str(definition["id"])]
    nodes = [
        _with_proxies({**node, "id": ids.get(str(node["id"]), node["id"])}, renumbered) for node in definition["nodes"]
    ]
    return {**definition, "nodes": nodes, "links": [_relinked(each, ids) for each in definition.get("links") or []]}


def _relinked(link: Any, ids: Ids) -> Any:
    if not isinstance(link, Mapping):
        return link
    ends = {name: ids.get(str(link.get(name)), link.get(name)) for name in ("origin_id", "target_id")}
    return {**link, **ends}


def _with_proxies(node: Mapping[str, Any], renumbered: Mapping[str, Ids]) -> Mapping[str, Any]:
    """A node of a subgraph names widgets by the ids of the nodes inside."""
    ids = renumbered.get(str(node.get("type")))
    properties = node.get("properties")
    proxied = properties.get("proxyWidgets") if isinstance(properties, Mapping) else None
    if not ids or not isinstance(proxied, list) or not isinstance(properties, Mapping):
        return node
    changed = [[str(ids.get(str(each[0]), each[0])), *each[1:]] if _is_entry(each) else each for each in proxied]
    return {**node, "properties": {**properties, "proxyWidgets": changed}}


def _is_entry(given: Any) -> bool:
    return isinstance(given, list) and bool(given)
