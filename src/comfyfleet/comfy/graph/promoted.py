"""Widgets of a subgraph's inside that stand on its node, and the values that they hold there.

An input of a subgraph that leads to a widget shows that widget on every node of the subgraph, each with a value of its
own. Files of a while ago name such widgets in a list of their own (`proxyWidgets`) without an input; the interface
makes the inputs when it opens them, and so does this. What an input feeds takes that value, also where a second link
of it leads to a plain socket.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from comfyfleet.comfy.errors import Unconvertible
from comfyfleet.comfy.graph.interface import INPUT_NODE, DrawnNode, DrawnWorkflow, Level, LinkId, Slot
from comfyfleet.comfy.graph.widgets import NodeWidgets

PRIMITIVE = "PrimitiveNode"
NESTED_NAME = re.compile(r"\s*(\d+)\s*:\s*(.+)")
Host = tuple[str, str]  # level, node: a node that stands for a subgraph
Target = tuple[str, str]  # node, input


class _Hole:
    """No value: the widget inside keeps its own."""


HOLE = _Hole()


@dataclass(frozen=True, slots=True)
class Proxy:
    """An entry of the old list."""

    node: str
    widget: str
    value: Any


class PromotedWidgets:
    """The values by (level, node of a subgraph) and name of the input."""

    def __init__(self, workflow: DrawnWorkflow, widgets_of: Callable[[Level, DrawnNode], NodeWidgets | None]) -> None:
        self._workflow = workflow
        self._widgets_of = widgets_of
        self._inputs = {key: [each.name for each in level.inputs] for key, level in workflow.subgraphs.items()}
        self._feeds = {key: _feeds(level) for key, level in workflow.subgraphs.items()}
        self._values: dict[Host, dict[str, Any]] = {}
        self._fed: dict[tuple[str, str, str], int] = {}  # level, node, input → the input of the subgraph made for it
        self._bypassed: dict[Host, str] = {}  # primitive nodes that an input has replaced
        for level in (*_inner_first(workflow), workflow.root):
            self._configure(level)

    def name_of(self, subgraph: str, place: int) -> str | None:
        names = self._inputs[subgraph]
        return names[place] if 0 <= place < len(names) else None

    def value(self, level: Level, node: DrawnNode, name: str) -> tuple[Any] | None:
        """In a tuple: None is a value, too."""
        held = self._values.get((level.id, node.id), {})
        return (held[name],) if name in held else None

    def fed_by(self, level: Level, node: DrawnNode, slot: Slot) -> int | None:
        """The input of the subgraph that was made for this input of a node inside."""
        return self._fed.get((level.id, node.id, slot.name))

    # ── as the interface opens a file ───────────────────────────────────────────────────────

    def _configure(self, level: Level) -> None:
        hosts = [node for node in level.nodes.values() if node.type in self._workflow.subgraphs]
        for node in hosts:
            self._values[level.id, node.id] = dict(self._own_values(node))
        for node in hosts:
            self._migrate(level, node)

    def _own_values(self, node: DrawnNode) -> Iterator[tuple[str, Any]]:
        """One value for each input that leads to a widget, in order; what the file lacks, the widget inside has."""
        values = node.widgets_values or []
        if not isinstance(values, list):
            raise Unconvertible("does not hold its subgraph's values as a list", node=node.id)
        kept = dict(_quarantined(node))
        place = 0
        for number, name in enumerate(self._inputs[node.type]):
            source = self._source_value(node.type, number)
            if source is None:
                continue
            own = values[place] if place < len(values) else source[0]
            yield name, kept.get(name, own)
            place += 1
        # Without the old list every value belongs to an input: one too many means that the file knows another subgraph.
        if any(each is not None for each in values[place:]) and "proxyWidgets" not in node.properties:
            problem = f"holds {len(values)} values where its subgraph's inputs take {place}"
            raise Unconvertible(problem, node=node.id)

    def _source_value(self, subgraph: str, number: int) -> tuple[Any] | None:
        """The value of the first widget that the input leads to."""
        level = self._workflow.subgraphs[subgraph]
        for target in self._feeds[subgraph][number]:
            if (found := self._widget_value(level, target)) is not None:
                return found
        return None

    def _widget_value(self, level: Level, target: Target) -> tuple[Any] | None:
        node = level.nodes.get(target[0])
        if node is None:
            return None
        if node.type in self._workflow.subgraphs:
            return self.value(level, node, target[1])
        widgets = self._widgets_of(level, node)
        if widgets is not None and target[1] in widgets.names:
            return (widgets.values.get(target[1]),)
        # A class that the server lacks, or an input that grew: the file says whether it is drawn.
        drawn = next((each for each in node.inputs if each.name == target[1]), None)
        is_known = widgets is not None and "." not in target[1]
        return (None,) if drawn is not None and drawn.is_widget and not is_known else None

    # ── the old list ────────────────────────────────────────────────────────────────────────

    def _migrate(self, level: Level, host: DrawnNode) -> None:
        values = self._values[level.id, host.id]
        primitives: dict[str, list[Proxy]] = {}
        for proxy in list(self._proxies(host)):
            name = self._linked_input(host.type, proxy) or self._bypassed.get((host.type, proxy.node))
            if proxy.node == "-1":
                name = proxy.widget
            inside = self._workflow.subgraphs[host.type].nodes.get(proxy.node)
            if name is not None:
                if proxy.value is not HOLE and name in values:
                    values[name] = proxy.value
            elif inside is not None and inside.type == PRIMITIVE:
                primitives.setdefault(inside.id, []).append(proxy)
            elif inside is not None and self._widget_value(self._inside(host), (inside.id, proxy.widget)) is not None:
                self._promote(level, host, proxy, [(inside.id, proxy.widget)])
        for node_id, group in primitives.items():
            self._replace_primitive(level, host, node_id, group)

    def _proxies(self, host: DrawnNode) -> Iterator[Proxy]:
        entries = host.properties.get("proxyWidgets")
        if not isinstance(entries, list) or not all(map(_is_entry, entries)):
            return
        values = host.widgets_values if isinstance(host.widgets_values, list) else []
        for place, (node, widget, *_) in enumerate(entries):
            value = values[place] if place < len(values) and values[place] is not None else HOLE
            yield Proxy(node, self._own_name(host.type, node, widget), value)

    def _own_name(self, subgraph: str, node: str, widget: str) -> str:
        """Nested widgets were once named after the nodes on the way, as in `12: 7: seed`."""
        while not self._is_there(subgraph, node, widget) and (found := NESTED_NAME.fullmatch(widget)):
            widget = found[2]
        return widget

    def _is_there(self, subgraph: str, node_id: str, widget: str) -> bool:
        level = self._workflow.subgraphs[subgraph]
        return node_id in level.nodes and self._widget_value(level, (node_id, widget)) is not None

    def _linked_input(self, subgraph: str, proxy: Proxy) -> str | None:
        """The input that leads to this widget first."""
        for number, name in enumerate(self._inputs[subgraph]):
            if self._first_source(subgraph, number) == (proxy.node, proxy.widget):
                return name
        return None

    def _first_source(self, subgraph: str, number: int) -> Target | None:
        level = self._workflow.subgraphs[subgraph]
        for node_id, name in self._feeds[subgraph][number]:
            node = level.nodes.get(node_id)
            is_host = node is not None and node.type in self._workflow.subgraphs
            if is_host or self._widget_value(level, (node_id, name)) is not None:
                return node_id, name
        return None

    def _replace_primitive(self, level: Level, host: DrawnNode, node_id: str, group: Sequence[Proxy]) -> None:
        """What a primitive node inside fed is fed by an input instead, with the value on the subgraph's node."""
        inside = self._inside(host)
        primitive = inside.nodes[node_id]
        targets = list(_targets(inside, primitive))
        if not targets or len({each.widget for each in group}) > 1:
            return
        made = self._promote(level, host, group[0], targets, named=primitive.title or group[0].widget)
        self._bypassed[host.type, node_id] = made
        if (given := next((each.value for each in group if each.value is not HOLE), HOLE)) is not HOLE:
            self._values[level.id, host.id][made] = given

    def _promote(
        self, level: Level, host: DrawnNode, proxy: Proxy, targets: list[Target], *, named: str | None = None
    ) -> str:
        """A new input of the subgraph, on every node of it."""
        subgraph = host.type
        name = _unique(named or proxy.widget, self._inputs[subgraph])
        for target in targets:
            for feeds in self._feeds[subgraph]:
                feeds[:] = [each for each in feeds if each != target]
            self._fed[subgraph, *target] = len(self._inputs[subgraph])
        self._inputs[subgraph].append(name)
        self._feeds[subgraph].append(targets)
        source = self._source_value(subgraph, len(self._inputs[subgraph]) - 1)
        for (level_id, node_id), values in self._values.items():
            there = self._level(level_id).nodes[node_id]
            if there.type == subgraph and source is not None:
                values[name] = source[0]
        if proxy.value is not HOLE:
            self._values[level.id, host.id][name] = proxy.value
        return name

    def _inside(self, host: DrawnNode) -> Level:
        return self._workflow.subgraphs[host.type]

    def _level(self, level_id: str) -> Level:
        return self._workflow.subgraphs[level_id] if level_id else self._workflow.root


def _feeds(level: Level) -> list[list[Target]]:
    slots: dict[tuple[str, LinkId], str] = {}
    for node in level.nodes.values():
        for slot in node.inputs:
            if slot.link is not None:
                slots.setdefault((node.id, slot.link), slot.name)
    return [list(_fed_by_input(level, each, slots)) for each in level.inputs]


def _fed_by_input(level: Level, given: Slot, slots: Mapping[tuple[str, LinkId], str]) -> Iterator[Target]:
    for link_id in given.links:
        link = level.links[link_id]
        name = slots.get((link.target, link_id))
        if name is not None and link.origin == INPUT_NODE:
            yield link.target, name


def _targets(level: Level, node: DrawnNode) -> Iterator[Target]:
    """What the first output of a node feeds."""
    for link_id in node.outputs[0].links if node.outputs else ():
        link = level.links.get(link_id)
        target = level.nodes.get(link.target) if link is not None else None
        slot = next((each for each in target.inputs if each.link == link_id), None) if target is not None else None
        if target is not None and slot is not None:
            yield target.id, slot.name


def _inner_first(workflow: DrawnWorkflow) -> list[Level]:
    """Definitions before those that use them. Those in a circle stay as the file has them."""
    done: dict[str, Level] = {}
    waiting = dict(workflow.subgraphs)
    while waiting:
        ready = [key for key, level in waiting.items() if not _uses(level) & waiting.keys()] or list(waiting)
        done |= {key: waiting.pop(key) for key in ready}
    return list(done.values())


def _uses(level: Level) -> set[str]:
    return {node.type for node in level.nodes.values()}


def _quarantined(node: DrawnNode) -> Iterator[tuple[str, Any]]:
    """Values that the interface could not place when it last opened the file; the first of a name counts."""
    entries = node.properties.get("proxyWidgetErrorQuarantine")
    for each in reversed(entries) if isinstance(entries, list) else ():
        entry: Any = each.get("originalEntry") if isinstance(each, Mapping) else None
        if _is_entry(entry) and entry[0] == "-1" and each.get("hostValue") is not None:
            yield entry[1], each["hostValue"]


def _is_entry(given: Any) -> bool:
    return isinstance(given, list) and len(given) in (2, 3) and all(isinstance(each, str) for each in given)


def _unique(name: str, taken: Sequence[str]) -> str:
    made, number = name, 1
    while made in taken:
        made, number = f"{name}_{number}", number + 1
    return made
