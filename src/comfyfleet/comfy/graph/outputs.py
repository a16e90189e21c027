"""Which nodes of a graph make its results."""

from dataclasses import dataclass

from comfyfleet.comfy.graph.check import links_of
from comfyfleet.comfy.graph.definitions import ObjectInfo, find_definition
from comfyfleet.comfy.model import Graph
from comfyfleet.comfy.node_order import node_order


@dataclass(frozen=True, slots=True)
class OutputNode:
    node: str
    class_type: str
    title: str
    is_preview: bool  # goes to the temp folder, which the server empties


def list_outputs(graph: Graph, object_info: ObjectInfo | None = None) -> tuple[OutputNode, ...]:
    """Kept results first, then by node id.

    The server knows for sure; without it, a node that is linked to and from nowhere else is.
    """
    consumed = {origin for node in graph.values() for _, origin, _ in links_of(node)}
    found = []
    for node_id, node in graph.items():
        class_type = str(node["class_type"])
        definition = find_definition(object_info, class_type) if object_info is not None else None
        if definition.is_output if definition else node_id not in consumed:
            found.append(OutputNode(node_id, class_type, title_of(node), is_preview(class_type)))
    return tuple(sorted(found, key=lambda each: (each.is_preview, node_order(each.node))))


def is_preview(class_type: str) -> bool:
    return class_type.startswith("Preview") or class_type == "MaskPreview"


def title_of(node: object) -> str:
    """As people named it in the interface; else its class."""
    if not isinstance(node, dict):
        return ""
    meta = node.get("_meta")
    title = meta.get("title") if isinstance(meta, dict) else None
    return title if isinstance(title, str) and title.strip() else str(node.get("class_type", ""))
