"""Is this a graph that a server could run? Each problem names its node and its input."""

from collections.abc import Iterator, Mapping
from typing import Any

from comfyfleet.comfy.errors import InvalidGraph, MissingNodeClass
from comfyfleet.comfy.graph.definitions import NodeDefinition, ObjectInfo, find_definition
from comfyfleet.comfy.graph.limits import LIMITS, GraphLimits
from comfyfleet.comfy.model import Graph

SIDES = ("width", "height")


def check_graph(graph: Graph, *, object_info: ObjectInfo | None = None, limits: GraphLimits = LIMITS) -> None:
    """Raise the first problem. With `object_info` also those that only that server would find."""
    for problem in find_problems(graph, object_info=object_info, limits=limits):
        raise problem


def find_problems(
    graph: Graph, *, object_info: ObjectInfo | None = None, limits: GraphLimits = LIMITS
) -> Iterator[InvalidGraph]:
    shapeless = list(_shape_problems(graph, limits))
    yield from shapeless
    if shapeless:
        return
    yield from _link_problems(graph)
    yield from _cycles(graph)
    yield from _size_problems(graph, limits)
    if object_info is not None:
        yield from _server_problems(graph, object_info)


def is_link(value: Any) -> bool:
    """[node, slot], as ComfyUI tells a link from a value."""
    return (
        isinstance(value, list)
        and len(value) == 2
        and isinstance(value[0], str)
        and isinstance(value[1], (int, float))
        and not isinstance(value[1], bool)
    )


def links_of(node: Mapping[str, Any]) -> Iterator[tuple[str, str, int]]:
    """Input, origin, slot."""
    for name, value in node["inputs"].items():
        if is_link(value):
            yield name, value[0], value[1]


def _shape_problems(graph: Graph, limits: GraphLimits) -> Iterator[InvalidGraph]:
    if not graph:
        yield InvalidGraph("The graph has no nodes.")
    if len(graph) > limits.nodes:
        yield InvalidGraph(f"The graph has {len(graph)} nodes; {limits.nodes} are allowed.")
        return
    for node_id, node in graph.items():
        if not isinstance(node, Mapping):
            yield InvalidGraph("is no object with 'class_type' and 'inputs'", node=node_id)
        elif not isinstance(node.get("class_type"), str) or not node["class_type"]:
            yield InvalidGraph("has no 'class_type'", node=node_id)
        elif not isinstance(node.get("inputs"), Mapping):
            yield InvalidGraph("has no 'inputs'", node=node_id)
        elif "" in node["inputs"]:
            yield InvalidGraph("has an input without a name", node=node_id)
        elif len(node["inputs"]) > limits.inputs_per_node:
            yield InvalidGraph(f"has more than {limits.inputs_per_node} inputs", node=node_id)


def _link_problems(graph: Graph) -> Iterator[InvalidGraph]:
    for node_id, node in graph.items():
        for name, origin, slot in links_of(node):
            if origin not in graph:
                yield InvalidGraph(f"is linked to node {origin}, which does not exist", node=node_id, input_name=name)
            elif slot < 0 or slot != int(slot):
                yield InvalidGraph(f"is linked to output {slot}, which cannot be", node=node_id, input_name=name)


def _cycles(graph: Graph) -> Iterator[InvalidGraph]:
    """Take away what waits for nothing, until nothing goes: what is left waits for itself."""
    waits_for = {
        node_id: {origin for _, origin, _ in links_of(node) if origin in graph} for node_id, node in graph.items()
    }
    consumers: dict[str, list[str]] = {node_id: [] for node_id in graph}
    for node_id, origins in waits_for.items():
        for origin in origins:
            consumers[origin].append(node_id)
    free = [node_id for node_id, origins in waits_for.items() if not origins]
    while free:
        done = free.pop()
        del waits_for[done]
        for consumer in consumers[done]:
            waits_for[consumer].discard(done)
            if not waits_for[consumer]:
                free.append(consumer)
    if waits_for:
        yield _cycle_problem(graph, waits_for)


def _cycle_problem(graph: Graph, waits_for: Mapping[str, set[str]]) -> InvalidGraph:
    """Everything left waits for something left: following that must come back to a node it has seen."""
    path: dict[str, None] = {}
    node_id = min(waits_for)
    while node_id not in path:
        path[node_id] = None
        node_id = min(waits_for[node_id])
    walked = list(path)
    circle = walked[walked.index(node_id) :]
    origin = circle[1] if len(circle) > 1 else node_id
    name = next(name for name, found, _ in links_of(graph[node_id]) if found == origin)
    shown = " → ".join([*circle[:10], "…"] if len(circle) > 10 else [*circle, node_id])
    return InvalidGraph(f"closes a circle of links: {shown}", node=node_id, input_name=name)


def _size_problems(graph: Graph, limits: GraphLimits) -> Iterator[InvalidGraph]:
    for node_id, node in graph.items():
        pixels: int | float = 1
        for name in (*SIDES, "batch_size"):
            value = node["inputs"].get(name)
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                continue
            if abs(value) > limits.side_pixels:
                problem = f"{value} is an absurd size; {limits.side_pixels} is the most"
                yield InvalidGraph(problem, node=node_id, input_name=name)
            pixels *= max(value, 1)
        if pixels > limits.pixels:
            yield InvalidGraph(f"asks for {pixels:.0f} pixels; {limits.pixels} are the most", node=node_id)


def _server_problems(graph: Graph, object_info: ObjectInfo) -> Iterator[InvalidGraph]:
    definitions: dict[str, NodeDefinition] = {}
    missing: dict[str, str] = {}
    for node_id, node in graph.items():
        found = find_definition(object_info, node["class_type"])
        if found is None:
            missing.setdefault(node["class_type"], node_id)
        else:
            definitions[node_id] = found
    if missing:
        yield MissingNodeClass(missing)
    for node_id, definition in definitions.items():
        yield from _input_problems(graph, node_id, definition, definitions)


def _input_problems(
    graph: Graph, node_id: str, definition: NodeDefinition, definitions: Mapping[str, NodeDefinition]
) -> Iterator[InvalidGraph]:
    node = graph[node_id]
    for name, origin, slot in links_of(node):
        if origin in definitions and slot >= len(definitions[origin].outputs):
            problem = f"is linked to output {slot} of node {origin}, which has {len(definitions[origin].outputs)}"
            yield InvalidGraph(problem, node=node_id, input_name=name)
    for each in definition.inputs:
        # The inputs of a type that grows stand under names of their own.
        if each.required and each.name not in node["inputs"] and not each.type.startswith("COMFY_"):
            yield InvalidGraph("is required and not given", node=node_id, input_name=each.name)
