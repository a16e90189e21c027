"""`--set` and `--input` of the command line, put into a graph. Pure but for looking whether a file is there."""

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from comfyfleet.comfy.errors import InvalidGraph
from comfyfleet.comfy.graph import (
    GraphInput,
    InputType,
    ObjectInfo,
    Value,
    bind_values,
    find_placeholders,
    list_inputs,
)
from comfyfleet.comfy.model import Graph
from comfyfleet.kernel.errors import InvalidInput

Place: TypeAlias = tuple[str, str]  # node, input
RANDOM = "random"
SEEDS = 2**32
YES, NO = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


class UnknownName(InvalidInput):
    """No placeholder, no node.input and no input that we would call so."""

    code = "unknown_name"


@dataclass(frozen=True, slots=True)
class Given:
    """A graph with its values in it, and the files that are still to be put on a server."""

    graph: dict[str, Any]
    files: dict[Place, Path] = field(default_factory=dict)


def parse_pairs(given: Sequence[str], *, option: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not equals or not name.strip():
            raise InvalidInput(option, f"{each!r} is not name=value")
        if name.strip() in pairs:
            raise InvalidInput(option, f"{name.strip()!r} is given twice")
        pairs[name.strip()] = value
    return pairs


def bind_given(
    graph: Graph, sets: Mapping[str, str], files: Mapping[str, str], *, object_info: ObjectInfo | None = None
) -> Given:
    """Each name is a placeholder, a `node.input`, or what `comfyfleet comfy inspect` calls an input."""
    known = _Names(graph, object_info)
    values: dict[str, Value] = {}
    inputs: dict[Place, Value] = {}
    for name, text in sets.items():
        if name in known.placeholders:
            values[name] = typed(name, text, known.of_placeholder(name))
        else:
            place = known.place(name)
            current = graph[place[0]]["inputs"].get(place[1])
            inputs[place] = typed(name, text, known.at(place), current=current)
    placed: dict[Place, Path] = {}
    for name, given in files.items():
        path = _existing(name, given)
        if name in known.placeholders:
            values[name] = path.name
            placed |= dict.fromkeys(known.whole_places(name), path)
        else:
            placed[known.place(name)] = path
    _refuse_unbound(known.placeholders, values)
    bound = bind_values(graph, values, {**inputs, **{place: path.name for place, path in placed.items()}})
    return Given(bound, placed)


def _refuse_unbound(placeholders: Mapping[str, Sequence[Place]], values: Mapping[str, Value]) -> None:
    for name, places in placeholders.items():
        if name not in values:
            node, input_name = places[0]
            how = f"give it with --set {name}=… or --input {name}=FILE"
            raise InvalidGraph(f"waits for a value for {{{{{name}}}}}: {how}", node=node, input_name=input_name)


class _Names:
    def __init__(self, graph: Graph, object_info: ObjectInfo | None) -> None:
        self._graph = graph
        self._inputs = list_inputs(graph, object_info)
        self.placeholders = find_placeholders(graph)

    def of_placeholder(self, name: str) -> GraphInput | None:
        return next((each for each in self._inputs if each.placeholder == name), None)

    def at(self, place: Place) -> GraphInput | None:
        return next((each for each in self._inputs if (each.node, each.input_name) == place), None)

    def whole_places(self, name: str) -> list[Place]:
        for node, input_name in self.placeholders[name]:
            if not str(self._graph[node]["inputs"][input_name]).strip().startswith("{{"):
                raise InvalidInput(name, f"stands inside a text of node {node}, where no file can go")
        return self.placeholders[name]

    def place(self, name: str) -> Place:
        node, dot, input_name = name.partition(".")
        if dot and node in self._graph:
            return node, input_name
        found = next((each for each in self._inputs if each.name == name), None)
        if found is None:
            listed = sorted({*self.placeholders, *(each.name for each in self._inputs)})
            raise UnknownName(name, f"the workflow has no input of that name. It has: {', '.join(listed) or 'none'}")
        return found.node, found.input_name


def typed(name: str, text: str, known: GraphInput | None, *, current: object = None) -> Value:
    """The text as the input wants it: numbers as numbers where a number stands, words as words."""
    kind = known.type if known is not None else None
    # A placeholder that is a whole value says nothing of its type unless the server does.
    guessed = known is not None and known.placeholder is not None and known.minimum is None and known.choices is None
    if kind is InputType.TEXT and guessed and known is not None and known.default is None and not known.multiline:
        return _json_or_text(text)
    match kind:
        case InputType.SEED if text == RANDOM:
            return secrets.randbelow(SEEDS)
        case InputType.SEED | InputType.INTEGER:
            return _number(name, text, whole=True)
        case InputType.NUMBER:
            return _number(name, text)
        case InputType.BOOLEAN:
            return _yes_or_no(name, text)
        case InputType.CHOICE:
            return next((each for each in (known.choices if known else None) or () if str(each) == text), text)
        case InputType.TEXT | InputType.IMAGE | InputType.VIDEO:
            return text
        case None:
            return text if isinstance(current, str) else _json_or_text(text)


def _number(name: str, text: str, *, whole: bool = False) -> int | float:
    try:
        return int(text) if whole else float(text)
    except ValueError:
        raise InvalidInput(name, f"{text!r} is no {'whole ' if whole else ''}number") from None


def _yes_or_no(name: str, text: str) -> bool:
    if text.lower() in YES:
        return True
    if text.lower() in NO:
        return False
    raise InvalidInput(name, f"{text!r} is neither true nor false")


def _json_or_text(text: str) -> Value:
    try:
        value: Value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value


def _existing(name: str, given: str) -> Path:
    path = Path(given).expanduser()
    if not path.is_file():
        raise InvalidInput(name, f"there is no file {given!r}")
    return path
