"""Primitive nodes: a value drawn as a node of its own, which the interface writes into the widgets that it feeds.

Only into those linked to it directly: a widget behind a reroute keeps the value that it has.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

from comfyfleet.comfy.errors import Unconvertible
from comfyfleet.comfy.graph.definitions import InputDefinition, NodeDefinition
from comfyfleet.comfy.graph.interface import DrawnNode, Level, LinkId, Slot
from comfyfleet.comfy.graph.promoted import PRIMITIVE
from comfyfleet.comfy.graph.widgets import NodeWidgets

WidgetsOf = Callable[[Level, DrawnNode], NodeWidgets | None]


def primitive_values(level: Level, widgets_of: WidgetsOf) -> Mapping[str, dict[str, Any]]:
    """By node and name of the widget."""
    found: dict[str, dict[str, Any]] = {}
    for node in level.nodes.values():
        if node.type == PRIMITIVE:
            for target, slot, value in _written(level, node, widgets_of):
                found.setdefault(target.id, {})[slot.name] = value
    return found


def _written(level: Level, node: DrawnNode, widgets_of: WidgetsOf) -> list[tuple[DrawnNode, Slot, Any]]:
    links = node.outputs[0].links if node.outputs else ()
    targets = [found for link in links if (found := _target(level, link)) is not None]
    drawn = [
        (target, slot, widgets) for target, slot in targets if (widgets := _drawn(level, target, slot, widgets_of))
    ]
    # Its own widget is made after the first input that it feeds; without that it holds nothing.
    if not drawn or _target(level, links[0]) != drawn[0][:2]:
        return []
    values = node.widgets_values if isinstance(node.widgets_values, list) else []
    _, slot, widgets = drawn[0]
    value = values[0] if values else widgets.values.get(slot.name)
    if node.properties.get("Run widget replace on values") is True and isinstance(value, str) and "%" in value:
        raise Unconvertible(
            "writes other nodes' values into its own when a run starts. Use 'Export (API)'", node=node.id
        )
    return [(target, slot, value) for target, slot, _ in drawn]


def _target(level: Level, link_id: LinkId) -> tuple[DrawnNode, Slot] | None:
    link = level.links.get(link_id)
    node = level.nodes.get(link.target) if link is not None else None
    slot = next((each for each in node.inputs if each.link == link_id), None) if node is not None else None
    return (node, slot) if node is not None and slot is not None else None


def _drawn(level: Level, node: DrawnNode, slot: Slot, widgets_of: WidgetsOf) -> NodeWidgets | None:
    widgets = widgets_of(level, node)
    return widgets if widgets is not None and slot.name in widgets.names else None


def put_in(definition: NodeDefinition, given: Mapping[str, Any]) -> dict[str, Any]:
    """As the widgets take what is written into them: numbers in their steps."""
    widgets = {each.name: each for each in definition.inputs}
    return {name: _stepped(widgets.get(name), value) for name, value in given.items()}


def _stepped(widget: InputDefinition | None, value: Any) -> Any:
    if widget is None or isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    match widget.widget_type:
        case "INT":
            return _in_steps(value, widget.number("step", 0) or 1, widget.number("min", 0))
        case "FLOAT":
            return _rounded(value, widget)
        case _:
            return value


def _in_steps(value: float, step: float, lowest: float) -> float:
    if step == 1:
        return value if isinstance(value, int) else _nearest(value)
    offset = math.fmod(lowest, step)
    found = _nearest((value - offset) / step) * step + offset
    return int(found) if found == int(found) else found


def _rounded(value: float, widget: InputDefinition) -> float:
    step = widget.number("step", 0.5)
    digits = max(0, -math.floor(math.log10(step))) if step > 0 else 0
    to = widget.number("round", 0) or (10.0**-digits if digits else 0)
    if not to:
        return value
    found = round(_nearest(value / to) * to, digits)
    found = min(max(found, widget.number("min", 0)), widget.number("max", 2048))
    return int(found) if found == int(found) else found


def _nearest(value: float) -> int:
    """Halves go up, as the browser rounds them."""
    return math.floor(value + 0.5)
