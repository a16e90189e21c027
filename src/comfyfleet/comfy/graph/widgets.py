"""The values that a node of the interface's format holds, by the names that the server gives them.

The file has them as a bare list. Which is which follows from the class's inputs in order; what the interface adds of
its own (what to do with a seed after a run, an upload button) stands between them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from comfyfleet.comfy.errors import Unconvertible
from comfyfleet.comfy.graph import browser
from comfyfleet.comfy.graph.definitions import DYNAMIC_COMBO, InputDefinition, NodeDefinition
from comfyfleet.comfy.graph.interface import DrawnNode
from comfyfleet.comfy.graph.sent_text import sent_prefix, sent_prompt

AFTER_A_RUN = frozenset(["fixed", "increment", "increment-wrap", "decrement", "randomize"])
DRAWN_ONLY = (None, "", "image")


@dataclass(frozen=True, slots=True)
class NodeWidgets:
    """What stands on one node. `problems` are raised where such a value would be sent, not where a link covers it."""

    values: Mapping[str, Any]  # of every widget that is sent, by name, as the node shows it
    names: frozenset[str]  # of every widget, with those that are not sent
    problems: Mapping[str | None, Unconvertible] = field(default_factory=dict)  # None: of the node as a whole
    branching: frozenset[str] = frozenset()  # choices that bring inputs of their own
    writers: Mapping[str, Callable[[str], str]] = field(default_factory=dict)  # change texts on their way out

    def sent(self, replaced: Mapping[str, Any], linked: set[str]) -> dict[str, Any]:
        """`replaced`: values that primitive nodes put in."""
        for name, problem in self.problems.items():
            if name is None or (name not in linked and name not in replaced):
                raise problem
        shown = {**self.values, **{name: value for name, value in replaced.items() if name in self.values}}
        return {name: value if name in linked else self._written(name, value) for name, value in shown.items()}

    def _written(self, name: str, value: Any) -> Any:
        if name not in self.writers or not isinstance(value, str):
            return value
        try:
            return self.writers[name](value)
        except Unconvertible as problem:
            raise Unconvertible(problem.problem, input_name=name) from None


def read_widgets(node: DrawnNode, definition: NodeDefinition, *, path: str) -> NodeWidgets:
    """As the interface would send them."""
    linked = frozenset(slot.name for slot in node.inputs if slot.link is not None)
    reader = _Reader(node, definition, path, linked)
    reader.read_all()
    branching = frozenset(reader.branching)
    return NodeWidgets(reader.values, frozenset(reader.names), reader.problems, branching, reader.writers)


class _Reader:
    def __init__(self, node: DrawnNode, definition: NodeDefinition, path: str, linked: frozenset[str]) -> None:
        self.definition = definition
        self.path = path
        self.linked = linked
        given = node.widgets_values
        self.by_name: dict[str, Any] | None = given if isinstance(given, dict) else None
        self.given: list[Any] = _without_forced(given, definition) if isinstance(given, list) else []
        self.next = 0
        self.values: dict[str, Any] = {}
        self.writers: dict[str, Callable[[str], str]] = {}
        self.names: set[str] = set()
        self.branching: set[str] = set()
        self.problems: dict[str | None, Unconvertible] = {}

    def read_all(self) -> None:
        for widget in browser.drawn_inputs(self.definition):
            if widget.is_widget:
                self._read(widget)
        if self.definition.class_type == browser.CUSTOM_COMBO:
            self._read_own_choices()
        self._notice_rest()

    def _read(self, widget: InputDefinition, *, nested: bool = False) -> None:
        self._read_extras(browser.extras_before(widget, self.values))
        value = self._take(widget)
        self.names.add(widget.name)
        self._read_extras(browser.extras_after(widget))
        if made := browser.MADE_IN_A_BROWSER.get(widget.widget_type):
            self._refuse(f"is {made} when a run starts. Use 'Export (API)' there, or leave the node out", widget.name)
        if browser.is_sent(widget):
            self.values[widget.name] = value
            if not nested and (writer := self._writer(widget)):
                self.writers[widget.name] = writer
        if widget.has_control:
            self._skip_control(widget)
        if widget.widget_type == DYNAMIC_COMBO:
            self.branching.add(widget.name)
            for each in self._branch(widget, value):
                self._read(each, nested=True)

    def _read_extras(self, extras: tuple[browser.Extra, ...]) -> None:
        for each in extras:
            self.names.add(each.name)
            self.next += 1
            if each.is_sent:
                self.values[each.name] = each.value

    def _read_own_choices(self) -> None:
        """The list of choices is the node's own: a widget each, and an empty one to add the next."""
        self.next += 1  # the place of the choice is counted, not kept
        options: list[Any] = []
        while not options or (options[-1] and self.next <= len(self.given)):
            options.append(self._next_or(""))
        choice = self.values.get("choice")
        if choice is None:
            choice = self.values["choice"] = next((str(each) for each in options if each), None)
        self.values["index"] = options.index(choice) if choice in options else -1
        self.values.update({f"option{place}": each for place, each in enumerate(options, 1)})
        self.names.update(self.values)

    def _next_or(self, default: Any) -> Any:
        value = self.given[self.next] if self.next < len(self.given) else default
        self.next += 1
        return value

    def _notice_rest(self) -> None:
        """The interface ignores values that no widget takes; code of a custom node may read them, and we cannot."""
        rest = self.given[self.next :]
        if not self.definition.is_core and any(each not in DRAWN_ONLY for each in rest):
            self._refuse(
                f"holds {len(self.given)} values where the server's {self.definition.class_type} takes {self.next}"
            )

    def _take(self, widget: InputDefinition) -> Any:
        if self.by_name is not None:
            return self.by_name.get(widget.name, widget.default)
        if not browser.is_saved(widget) or self.next >= len(self.given):
            return widget.default
        value = self.given[self.next]
        self.next += 1
        if not browser.keeps_value(widget):
            return widget.default
        if value is None and widget.choices:
            return widget.choices[0]
        if widget.name not in self.linked and not _fits(value, widget):
            self._refuse(f"holds {_shown(value)} where the server's class takes {widget.widget_type}", widget.name)
        return value

    def _skip_control(self, widget: InputDefinition) -> None:
        rest = self.given[self.next :]
        if rest and (rest[0] in AFTER_A_RUN if isinstance(rest[0], str) else isinstance(rest[0], bool)):
            # A choice that steps through its list has a filter for that list behind it.
            self.next += 2 if widget.widget_type == "COMBO" and rest[1:2] == [""] else 1

    def _branch(self, widget: InputDefinition, value: Any) -> tuple[InputDefinition, ...]:
        for key, inputs in widget.branches():
            if key == value:
                return tuple(each for each in inputs if each.is_widget)
        if widget.name not in self.linked and value is not None:
            self._refuse(f"holds {_shown(value)}, which the server's class does not offer", widget.name)
        return ()

    def _writer(self, widget: InputDefinition) -> Callable[[str], str] | None:
        """Of a class's own prompts and names of files; not of those in a choice's branch."""
        if widget.options.get("dynamicPrompts") is True:
            return sent_prompt
        is_prefix = widget.name == "filename_prefix" and self.definition.class_type in browser.PREFIX_WRITERS
        return sent_prefix if is_prefix else None

    def _refuse(self, problem: str, input_name: str | None = None) -> None:
        found = Unconvertible(problem, node=self.path, input_name=input_name)
        self.problems.setdefault(input_name, found)


def _without_forced(values: list[Any], definition: NodeDefinition) -> list[Any]:
    """Older files hold a value for an input that has since become a socket alone."""
    holds: list[bool] = []
    for each in definition.inputs:
        forced = bool(each.options.get("forceInput"))
        if each.is_widget or forced:
            holds += [not forced, True] if each.options.get("control_after_generate") else [not forced]
    if len(holds) != len(values) or all(holds):
        return list(values)
    return [value for value, is_kept in zip(values, holds, strict=True) if is_kept]


def _fits(value: Any, widget: InputDefinition) -> bool:
    if value is None:
        return True
    match widget.widget_type:
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
