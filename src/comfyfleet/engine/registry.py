"""The node classes a server knows, and how it describes them: /object_info."""

from collections.abc import Iterable, Mapping
from typing import Any

from comfyfleet.engine.folders import Folders
from comfyfleet.engine.node import Node


class Registry:
    def __init__(self, nodes: Iterable[Node]) -> None:
        self._nodes = {node.name: node for node in nodes}

    def __contains__(self, class_type: object) -> bool:
        return class_type in self._nodes

    def __getitem__(self, class_type: str) -> Node:
        return self._nodes[class_type]

    def find(self, class_type: str) -> Node | None:
        return self._nodes.get(class_type)

    def names(self) -> list[str]:
        return list(self._nodes)

    def describe_all(self, folders: Folders) -> dict[str, Any]:
        return {name: describe(node, folders) for name, node in self._nodes.items()}


def describe(node: Node, folders: Folders) -> dict[str, Any]:
    """One entry of /object_info, its keys in ComfyUI's order."""
    specs = node.input_specs(folders)
    shared = {
        "input": specs,
        "input_order": {part: list(named) for part, named in specs.items()},
        "is_input_list": node.is_input_list,
        "output": [output.type for output in node.outputs],
        "output_is_list": [output.is_list for output in node.outputs],
        "output_name": [output.name or output.type for output in node.outputs],
    }
    return shared | (_newer_facts(node) if node.newer_schema else _older_facts(node))


def _named_facts(node: Node) -> dict[str, Any]:
    return {
        "name": node.name,
        "display_name": node.display_name or node.name,
        "description": node.description,
        "python_module": node.python_module,
        "category": node.category,
        "output_node": node.output_node,
    }


def _older_facts(node: Node) -> dict[str, Any]:
    tooltips = [output.tooltip for output in node.outputs]
    return {
        **_named_facts(node),
        "has_intermediate_output": False,
        **({"output_tooltips": tooltips} if any(tooltips) else {}),
        "search_aliases": _listed(node.search_aliases),
        **_extra(node),
    }


def _newer_facts(node: Node) -> dict[str, Any]:
    return {
        "output_tooltips": [output.tooltip for output in node.outputs],
        "output_matchtypes": None,
        **_named_facts(node),
        "deprecated": False,
        "experimental": False,
        "dev_only": False,
        "api_node": False,
        "price_badge": None,
        "search_aliases": _listed(node.search_aliases) or None,
        "essentials_category": None,
        "has_intermediate_output": False,
        **_extra(node),
    }


def _listed(aliases: tuple[str, ...] | None) -> list[str] | None:
    return None if aliases is None else list(aliases)


def _extra(node: Node) -> Mapping[str, Any]:
    return node.extra_facts
