"""The values that a node of the interface's format holds, by the names that the server gives them.

The file has them as a bare list. Which is which follows from the class's inputs in order; what the interface adds of
its own (what to do with a seed after a run, an upload button) stands between them and goes to no server.
"""

from collections.abc import Iterator
from typing import Any

from comfyfleet.comfy.errors import Unconvertible
from comfyfleet.comfy.graph.definitions import DYNAMIC_COMBO, InputDefinition, NodeDefinition
from comfyfleet.comfy.graph.interface import DrawnNode

AFTER_A_RUN = frozenset(["fixed", "increment", "increment-wrap", "decrement", "randomize"])
DRAWN_ONLY = (None, "", "image")


def widget_values(node: DrawnNode, definition: NodeDefinition, *, path: str) -> dict[str, Any]:
    """As the interface would send them; Unconvertible where list and class do not fit each other."""
    given = node.widgets_values
    if isinstance(given, dict):
        return _by_name(given, definition)
    values = list(given) if isinstance(given, list) else []
    linked = {slot.name for slot in node.inputs if slot.link is not None}
    reader = _Reader(values, linked, path)
    found = dict(reader.read(definition.widgets))
    reader.refuse_rest(definition)
    return {name: value for name, value in found.items() if value is not None}


def _by_name(given: dict[str, Any], definition: NodeDefinition) -> dict[str, Any]:
    known = {each.name: given.get(each.name, each.default) for each in definition.widgets}
    return {name: value for name, value in known.items() if value is not None}


class _Reader:
    def __init__(self, values: list[Any], linked: set[str], path: str) -> None:
        self.values = values
        self.linked = linked
        self.path = path
        self.next = 0

    def read(self, widgets: tuple[InputDefinition, ...]) -> Iterator[tuple[str, Any]]:
        for widget in widgets:
            value = self._take(widget)
            yield widget.name, value
            if widget.has_control:
                self._skip_control(widget)
            if widget.type == DYNAMIC_COMBO:
                yield from self.read(self._branch(widget, value))

    def refuse_rest(self, definition: NodeDefinition) -> None:
        rest = self.values[self.next :]
        uploads = any(each.is_upload for each in definition.inputs)
        # Pictures and buttons that the interface draws follow what the class has. Anything else means that the file
        # knows another version of the class, and then nobody can say which value is which.
        if definition.widgets and not uploads and any(each not in DRAWN_ONLY for each in rest):
            raise Unconvertible(
                f"holds {len(self.values)} values where the server's {definition.class_type} takes {self.next}",
                node=self.path,
            )

    def _take(self, widget: InputDefinition) -> Any:
        if self.next >= len(self.values):
            return widget.default
        value = self.values[self.next]
        self.next += 1
        if widget.name not in self.linked and not _fits(value, widget):
            problem = f"holds {_shown(value)} where the server's class takes {widget.type}"
            raise Unconvertible(problem, node=self.path, input_name=widget.name)
        return value

    def _skip_control(self, widget: InputDefinition) -> None:
        rest = self.values[self.next :]
        if rest and isinstance(rest[0], str) and rest[0] in AFTER_A_RUN:
            # A choice that steps through its list has a filter for that list behind it.
            self.next += 2 if widget.type == "COMBO" and rest[1:2] == [""] else 1

    def _branch(self, widget: InputDefinition, value: Any) -> tuple[InputDefinition, ...]:
        for key, inputs in widget.branches():
            if key == value:
                return tuple(each for each in inputs if each.is_widget)
        if widget.name in self.linked or value is None:
            return ()
        problem = f"holds {_shown(value)}, which the server's class does not offer"
        raise Unconvertible(problem, node=self.path, input_name=widget.name)


def _fits(value: Any, widget: InputDefinition) -> bool:
    if value is None:
        return True
    match widget.type:
        case "INT":
            return not isinstance(value, bool) and (
                isinstance(value, int) or (isinstance(value, float) and value.is_integer())
            )
        case "FLOAT":
            return isinstance(value, (int, float)) and not isinstance(value, bool)
        case "BOOLEAN":
            return isinstance(value, bool)
        case "STRING" | "MARKDOWN" | "TEXTAREA" | "COMFY_DYNAMICCOMBO_V3":
            return isinstance(value, str)
        case _:
            return True


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:39]}…"
