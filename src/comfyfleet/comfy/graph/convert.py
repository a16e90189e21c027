"""From the interface's format to the API format, as ComfyUI's own interface does it when it queues a prompt.

Only where that can be exact: everything the browser would have to know, `object_info` says, or we refuse.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from comfyfleet.comfy.errors import InvalidGraph, MissingNodeClass, Unconvertible
from comfyfleet.comfy.graph.definitions import NodeDefinition, ObjectInfo, find_definition
from comfyfleet.comfy.graph.interface import (
    BYPASSED,
    INPUT_NODE,
    MUTED,
    DrawnNode,
    DrawnWorkflow,
    Level,
    Slot,
    read_interface,
)
from comfyfleet.comfy.graph.limits import LIMITS, GraphLimits
from comfyfleet.comfy.graph.widgets import widget_values

PRIMITIVE = "PrimitiveNode"
REROUTE = "Reroute"
DRAWN_ONLY = frozenset(["Note", "MarkdownNote", "Label (rgthree)", "Bookmark (rgthree)", PRIMITIVE, REROUTE])
BROWSER_ONLY = frozenset(["SetNode", "GetNode", "Reroute (rgthree)"])
HOPS_MAX = 1_000  # of one link, through reroutes and subgraphs


@dataclass(frozen=True, slots=True)
class Source:
    """What feeds an input in the end: an output of a node that runs."""

    node: str
    slot: int


@dataclass(frozen=True, slots=True)
class Constant:
    """Or a value, from a primitive node or from a subgraph's own widget."""

    value: Any


Origin: TypeAlias = Source | Constant | None


@dataclass(frozen=True, slots=True)
class Place:
    """One use of a level. A subgraph used twice has two, and its nodes run twice, under two ids."""

    level: Level
    prefix: str = ""
    outer: "Place | None" = None
    node: DrawnNode | None = None
    promoted: Mapping[str, Any] = field(default_factory=dict)

    def path_of(self, node: DrawnNode) -> str:
        return f"{self.prefix}{node.id}"

    @property
    def depth(self) -> int:
        return 0 if self.outer is None else 1 + self.outer.depth


@dataclass(frozen=True, slots=True)
class Spot:
    """An output that is looked at on the way back."""

    place: Place
    node: str
    slot: int


def convert_workflow(
    workflow: Mapping[str, Any], object_info: ObjectInfo, *, limits: GraphLimits = LIMITS
) -> dict[str, Any]:
    """The graph in API format. MissingNodeClass names what the server lacks, Unconvertible what cannot be exact."""
    return _Converter(read_interface(workflow), object_info, limits).convert()


class _Converter:
    def __init__(self, workflow: DrawnWorkflow, object_info: ObjectInfo, limits: GraphLimits) -> None:
        self.workflow = workflow
        self.object_info = object_info
        self.limits = limits
        self.places: dict[str, Place] = {}
        self.definitions: dict[str, NodeDefinition | None] = {}

    def convert(self) -> dict[str, Any]:
        if self.workflow.links_by_magic:
            raise Unconvertible("Links of 'Use Everywhere' are made in the browser. Use 'Export (API)' there.")
        running = list(self._running(Place(self.workflow.root)))
        missing: dict[str, str] = {}
        for place, node in running:
            if self._definition(node.type) is None:
                missing.setdefault(node.type, place.path_of(node))
        if missing:
            raise MissingNodeClass(missing)
        graph = {place.path_of(node): self._api_node(place, node) for place, node in running}
        return _without_dead_links(graph)

    # ── which nodes run ─────────────────────────────────────────────────────────────────────

    def _running(self, root: Place) -> Iterator[tuple[Place, DrawnNode]]:
        count = 0
        waiting = [root]
        while waiting:
            place = waiting.pop(0)
            for node in place.level.nodes.values():
                count += 1
                if count > self.limits.nodes:
                    raise InvalidGraph(f"The workflow has more than {self.limits.nodes} nodes.")
                if node.is_off or node.type in DRAWN_ONLY:
                    continue
                if node.type in self.workflow.subgraphs:
                    waiting.append(self._inside(place, node))
                else:
                    self._refuse_browser_only(place, node)
                    yield place, node

    def _refuse_browser_only(self, place: Place, node: DrawnNode) -> None:
        group = node.type.removeprefix("workflow>").removeprefix("workflow/")
        if group != node.type or node.type in self.workflow.group_nodes:
            problem = f"is the group node {group!r}. Convert it to a subgraph, or use 'Export (API)'"
            raise Unconvertible(problem, node=place.path_of(node))
        if node.type in BROWSER_ONLY and self._definition(node.type) is None:
            problem = f"is a {node.type}, which only a browser understands. Use 'Export (API)' there"
            raise Unconvertible(problem, node=place.path_of(node))

    def _inside(self, place: Place, node: DrawnNode) -> Place:
        path = place.path_of(node)
        if path not in self.places:
            if place.depth >= self.limits.nested_subgraphs:
                raise InvalidGraph("subgraphs are nested too deep", node=path)
            level = self.workflow.subgraphs[node.type]
            promoted = _promoted_values(node, level, path)
            self.places[path] = Place(level, f"{path}:", place, node, promoted)
        return self.places[path]

    # ── what one node gets ──────────────────────────────────────────────────────────────────

    def _api_node(self, place: Place, node: DrawnNode) -> dict[str, Any]:
        definition = self._definition(node.type)
        if definition is None:
            raise MissingNodeClass({node.type: place.path_of(node)})
        path = place.path_of(node)
        inputs = {name: _boxed(value) for name, value in widget_values(node, definition, path=path).items()}
        for slot in node.inputs:
            match self._origin_of(place, slot, path):
                case Source(origin, origin_slot):
                    inputs[slot.name] = [origin, origin_slot]
                case Constant(value):
                    inputs[slot.name] = _boxed(value)
        return {"inputs": inputs, "class_type": node.type, "_meta": {"title": node.title or definition.title}}

    def _definition(self, class_type: str) -> NodeDefinition | None:
        if class_type not in self.definitions:
            self.definitions[class_type] = find_definition(self.object_info, class_type)
        return self.definitions[class_type]

    # ── where a link comes from ─────────────────────────────────────────────────────────────

    def _origin_of(self, place: Place, slot: Slot, path: str) -> Origin:
        """Back along the link, through everything that only passes it on."""
        try:
            found: Spot | Origin = _behind(place, slot)
            for _ in range(HOPS_MAX):
                if not isinstance(found, Spot):
                    return found
                found = self._step(found, slot.type)
            raise InvalidGraph("is linked in a circle, or through too many reroutes")
        except InvalidGraph as problem:
            if problem.node is not None:
                raise
            raise InvalidGraph(problem.problem, node=path, input_name=slot.name) from None

    def _step(self, spot: Spot, wanted: str) -> Spot | Origin:
        place, slot = spot.place, spot.slot
        if spot.node == INPUT_NODE and place.outer is not None:
            return _from_outside(place, slot)
        node = place.level.nodes.get(spot.node)
        if node is None:
            raise InvalidGraph(f"is linked to node {place.prefix}{spot.node}, which does not exist")
        if node.type == PRIMITIVE:
            return _primitive_value(node)
        if node.mode == MUTED:
            return None
        if node.mode == BYPASSED:
            return _behind(place, self._bypass(node, slot, wanted))
        if node.type == REROUTE:
            return _behind(place, node.inputs[0] if node.inputs else None)
        if node.type in self.workflow.subgraphs:
            inside = self._inside(place, node)
            link = inside.level.link_to_output(slot)
            return None if link is None else Spot(inside, link.origin, link.origin_slot)
        return None if node.type in DRAWN_ONLY else Source(place.path_of(node), slot)

    def _bypass(self, node: DrawnNode, slot: int, wanted: str) -> Slot | None:
        """A bypassed node passes on the input of the same place, or else the first of a type that fits."""
        slots = self._all_slots(node)
        made = node.outputs[slot].type if 0 <= slot < len(node.outputs) else "*"
        if wanted in ("*", ""):
            return slots[slot if slot < len(slots) else 0] if slots else None
        fitting = [each for each in slots if _joins(each.type, made) and _joins(each.type, wanted)]
        if 0 <= slot < len(slots) and slots[slot] in fitting:
            return slots[slot]
        exact = next((each for each in slots if each.type == wanted), None)
        return exact or next(iter(fitting), None)

    def _all_slots(self, node: DrawnNode) -> list[Slot]:
        """A file leaves out widgets without a link; places count with them."""
        definition = self._definition(node.type)
        if definition is None:
            return list(node.inputs)
        drawn = {each.name: each for each in node.inputs}
        defined = [drawn.pop(each.name, Slot(each.name, each.type)) for each in definition.slots]
        return [*defined, *drawn.values()]


def _behind(place: Place, slot: Slot | None) -> Spot | None:
    if slot is None or slot.link is None:
        return None
    link = place.level.links.get(slot.link)
    if link is None:
        raise InvalidGraph(f"has the link {slot.link}, which does not exist")
    return Spot(place, link.origin, link.origin_slot)


def _from_outside(place: Place, slot: int) -> Spot | Origin:
    """From inside a subgraph to what its node is given: a link, or a value of its own."""
    outer, node = place.outer, place.node
    if outer is None or node is None or not 0 <= slot < len(place.level.inputs):
        raise InvalidGraph("is linked to an input that its subgraph does not have")
    name = place.level.inputs[slot].name
    linked = _behind(outer, next((each for each in node.inputs if each.name == name), None))
    if linked is None and place.promoted.get(name) is not None:
        return Constant(place.promoted[name])
    return linked


def _promoted_values(node: DrawnNode, level: Level, path: str) -> dict[str, Any]:
    """The values that a subgraph's node holds for widgets inside: one for each input that leads to a widget."""
    values = node.widgets_values
    if not values:
        return {}
    if node.proxied_widgets:
        # Between two formats, some versions wrote both; which of them counted depended on what was opened last.
        raise Unconvertible("holds widgets of its subgraph in two ways. Open and save it in a newer ComfyUI", node=path)
    names = [
        each.name
        for slot, each in enumerate(level.inputs)
        if any(target.is_widget for target in level.targets_of_input(slot))
    ]
    if not isinstance(values, list) or len(values) != len(names):
        problem = f"holds {len(values)} values where its subgraph has {len(names)} widgets to set"
        raise Unconvertible(problem, node=path)
    return dict(zip(names, values, strict=True))


def _primitive_value(node: DrawnNode) -> Constant | None:
    values = node.widgets_values
    return Constant(values[0]) if isinstance(values, list) and values else None


def _boxed(value: Any) -> Any:
    """A bare list would be taken for a link; the server opens this box."""
    return {"__value__": value} if isinstance(value, list) else value


def _joins(one: str, other: str) -> bool:
    """As the interface lets two slots be joined: any type, or one in common of those listed."""
    if "*" in (one, other) or "" in (one, other):
        return True
    return not set(one.lower().split(",")).isdisjoint(other.lower().split(","))


def _without_dead_links(graph: dict[str, Any]) -> dict[str, Any]:
    """A link to a node that does not run is no link."""
    for node in graph.values():
        dead = [name for name, value in node["inputs"].items() if isinstance(value, list) and value[0] not in graph]
        for name in dead:
            del node["inputs"][name]
    return graph
