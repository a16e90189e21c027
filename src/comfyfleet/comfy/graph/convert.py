"""From the interface's format to the API format, as ComfyUI's own interface does it when it queues a prompt.

Only where that can be exact: everything the browser would have to know, `object_info` says, or we refuse.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from comfyfleet.comfy.errors import InvalidGraph, MissingNodeClass, Unconvertible
from comfyfleet.comfy.graph.definitions import AUTOGROW, NodeDefinition, ObjectInfo, find_definition
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
from comfyfleet.comfy.graph.primitives import primitive_values, put_in
from comfyfleet.comfy.graph.promoted import PRIMITIVE, PromotedWidgets
from comfyfleet.comfy.graph.widgets import NodeWidgets, read_widgets

REROUTE = "Reroute"
DRAWN_ONLY = frozenset(["Note", "MarkdownNote", "Label (rgthree)", "Bookmark (rgthree)", PRIMITIVE, REROUTE])
BROWSER_ONLY = frozenset(["SetNode", "GetNode", "Reroute (rgthree)"])


@dataclass(frozen=True, slots=True)
class Source:
    """What feeds an input in the end: an output of a node that runs."""

    node: str
    slot: int


@dataclass(frozen=True, slots=True)
class Constant:
    """Or a value, from a subgraph's own widget."""

    value: Any


Origin: TypeAlias = Source | Constant | None


@dataclass(frozen=True, slots=True)
class Place:
    """One use of a level. A subgraph used twice has two, and its nodes run twice, under two ids."""

    level: Level
    prefix: str = ""
    outer: "Place | None" = None
    node: DrawnNode | None = None

    def path_of(self, node: DrawnNode) -> str:
        return f"{self.prefix}{node.id}"

    @property
    def depth(self) -> int:
        return 0 if self.outer is None else 1 + self.outer.depth


@dataclass(frozen=True, slots=True)
class Spot:
    """An output that is looked at on the way back, and the type that the input in front of it takes."""

    place: Place
    node: str
    slot: int
    wanted: str


Step: TypeAlias = tuple[str, str, int, str]  # place, node, slot, the type that is wanted


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
        self.widgets: dict[tuple[str, str], NodeWidgets | None] = {}
        self.origins: dict[Step, Origin] = {}  # found once, for all who ask

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
        self.promoted = PromotedWidgets(self.workflow, self._widgets)
        levels = (self.workflow.root, *self.workflow.subgraphs.values())
        self.primitives = {level.id: primitive_values(level, self._widgets) for level in levels}
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
                if node.type in self.workflow.subgraphs:
                    # Off, it takes its nodes with it; inside another one each of them says for itself.
                    if not node.is_off or place.outer is not None:
                        waiting.append(self._inside(place, node))
                elif not node.is_off and node.type not in DRAWN_ONLY:
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
            self.places[path] = Place(level, f"{path}:", place, node)
        return self.places[path]

    # ── what one node gets ──────────────────────────────────────────────────────────────────

    def _api_node(self, place: Place, node: DrawnNode) -> dict[str, Any]:
        definition = self._definition(node.type)
        path = place.path_of(node)
        widgets = self._widgets(place.level, node)
        if definition is None or widgets is None:
            raise MissingNodeClass({node.type: path})
        found = {slot.name: self._origin_of(place, node, slot, path) for slot in self._own_slots(node, widgets)}
        links = {name: _as_input(origin) for name, origin in found.items() if origin is not None}
        replaced = put_in(definition, self.primitives[place.level.id].get(node.id, {}))
        try:
            sent = widgets.sent(replaced, set(links))
        except Unconvertible as problem:  # said of the place where it runs, not of the definition
            raise Unconvertible(problem.problem, node=path, input_name=problem.input_name) from None
        for name in sorted(replaced.keys() & widgets.branching):
            if sent[name] != widgets.values.get(name):
                raise Unconvertible("takes its choice from a primitive node", node=path, input_name=name)
        inputs = {name: _boxed(value, definition.widget_type_of(name)) for name, value in sent.items()}
        title = node.title or definition.title
        return {"inputs": inputs | links, "class_type": node.type, "_meta": {"title": title}}

    def _own_slots(self, node: DrawnNode, widgets: NodeWidgets) -> Iterator[Slot]:
        """The interface drops an input that a file draws as a widget, where the class has no such widget any more."""
        definition = self._definition(node.type)
        defined = {each.name for each in definition.inputs} if definition else set()
        for slot in node.inputs:
            if slot.name in defined or not slot.is_widget or slot.name in widgets.names or _has_grown(slot, definition):
                yield slot

    def _definition(self, class_type: str) -> NodeDefinition | None:
        if class_type not in self.definitions:
            self.definitions[class_type] = find_definition(self.object_info, class_type)
        return self.definitions[class_type]

    def _widgets(self, level: Level, node: DrawnNode) -> NodeWidgets | None:
        key = (level.id, node.id)
        if key not in self.widgets:
            definition = self._definition(node.type)
            path = node.id if not level.id else f"{level.id}:{node.id}"
            self.widgets[key] = read_widgets(node, definition, path=path) if definition else None
        return self.widgets[key]

    # ── where a link comes from ─────────────────────────────────────────────────────────────

    def _origin_of(self, place: Place, node: DrawnNode, slot: Slot, path: str) -> Origin:
        """Back along the link, through everything that only passes it on."""
        try:
            found: Spot | Origin = self._behind(place, node, slot, self._type_of(node, slot))
            trail: dict[Step, None] = {}
            while isinstance(found, Spot):
                step = (found.place.prefix, found.node, found.slot, found.wanted)
                if step in trail:
                    raise InvalidGraph("is linked in a circle")
                trail[step] = None
                found = self.origins[step] if step in self.origins else self._step(found)
            self.origins.update(dict.fromkeys(trail, found))
            return found
        except InvalidGraph as problem:
            if problem.node is not None:
                raise
            raise InvalidGraph(problem.problem, node=path, input_name=slot.name) from None

    def _step(self, spot: Spot) -> Spot | Origin:
        place, slot = spot.place, spot.slot
        if spot.node == INPUT_NODE and place.outer is not None:
            return self._from_outside(place, slot)
        node = place.level.nodes.get(spot.node)
        if node is None:
            raise InvalidGraph(f"is linked to node {place.prefix}{spot.node}, which does not exist")
        if node.mode == MUTED or node.type == PRIMITIVE:
            return None
        if node.mode == BYPASSED:
            passed = self._bypass(node, slot, spot.wanted)
            return None if passed is None else self._behind(place, node, passed, self._type_of(node, passed))
        if node.type == REROUTE:
            return self._behind(place, node, node.inputs[0], spot.wanted) if node.inputs else None
        if node.type in self.workflow.subgraphs:
            inside = self._inside(place, node)
            link = inside.level.output_links.get(slot)
            return None if link is None else Spot(inside, link.origin, link.origin_slot, spot.wanted)
        return None if node.type in DRAWN_ONLY else Source(place.path_of(node), slot)

    def _behind(self, place: Place, node: DrawnNode, slot: Slot, wanted: str) -> Spot | None:
        made = self.promoted.fed_by(place.level, node, slot)
        if made is not None:
            return Spot(place, INPUT_NODE, made, wanted)
        if slot.link is None:
            return None
        link = place.level.links.get(slot.link)
        if link is None:
            raise InvalidGraph(f"has the link {slot.link}, which does not exist")
        return Spot(place, link.origin, link.origin_slot, wanted)

    def _from_outside(self, place: Place, number: int) -> Spot | Origin:
        """From inside a subgraph to what its node is given: a link, or a value of its own."""
        outer, node = place.outer, place.node
        name = self.promoted.name_of(place.level.id, number)
        if outer is None or node is None or name is None:
            raise InvalidGraph("is linked to an input that its subgraph does not have")
        slot = next((each for each in node.inputs if each.name == name), Slot(name, "*"))
        linked = self._behind(outer, node, slot, slot.type)
        if linked is not None:
            return linked
        held = self.promoted.value(outer.level, node, name)
        return None if held is None else Constant(held[0])

    def _bypass(self, node: DrawnNode, slot: int, wanted: str) -> Slot | None:
        """A bypassed node passes on the input of the same place, or else the first of a type that fits."""
        slots = self._all_slots(node)
        made = self._made_type(node, slot)
        if wanted in ("*", ""):
            return slots[slot if 0 <= slot < len(slots) else 0] if slots else None
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
        slots: list[Slot] = []
        for each in definition.slots:
            grown = [drawn.pop(name) for name in list(drawn) if name.startswith(f"{each.name}.")]
            if each.type == AUTOGROW and grown:
                slots += grown
            else:
                slots += [drawn.pop(each.name, Slot(each.name, each.type)), *grown]
        return [replace(each, type=self._type_of(node, each)) for each in [*slots, *drawn.values()]]

    def _type_of(self, node: DrawnNode, slot: Slot) -> str:
        """The class says it; where its inputs adapt to what they are linked to, the file."""
        definition = self._definition(node.type)
        known = next((each for each in definition.inputs if each.name == slot.name), None) if definition else None
        return slot.type if known is None or known.type.startswith("COMFY_") else known.type

    def _made_type(self, node: DrawnNode, slot: int) -> str:
        definition = self._definition(node.type)
        known = definition.outputs[slot] if definition and 0 <= slot < len(definition.outputs) else ""
        if known and not known.startswith("COMFY_"):
            return known
        return node.outputs[slot].type if 0 <= slot < len(node.outputs) else "*"


def _has_grown(slot: Slot, definition: NodeDefinition | None) -> bool:
    """One of a row of inputs that grows as it is linked, which the class names once."""
    inputs = definition.inputs if definition else ()
    return any(each.type == AUTOGROW and slot.name.startswith(f"{each.name}.") for each in inputs)


def _as_input(origin: Source | Constant) -> Any:
    return [origin.node, origin.slot] if isinstance(origin, Source) else _boxed(origin.value)


def _boxed(value: Any, widget_type: str = "") -> Any:
    """A bare list would be taken for a link; the server opens this box."""
    if not isinstance(value, list):
        return value
    return {"__type__": "CURVE", "__value__": value} if widget_type == "CURVE" else {"__value__": value}


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
