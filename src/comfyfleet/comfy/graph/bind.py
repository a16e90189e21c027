"""Put values into a graph: as data, into the parsed graph, never into its text.

A quote, a brace or a whole graph in a prompt arrives as that text. What is put in is not looked at again, so a value
that holds `{{other}}` stays what it is; and a list is boxed, so that no value can pass for a link.
"""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from comfyfleet.comfy.errors import InvalidGraph
from comfyfleet.comfy.graph.check import is_link
from comfyfleet.comfy.model import Graph
from comfyfleet.kernel.errors import InvalidInput

Value: TypeAlias = str | int | float | bool | list[Any] | dict[str, Any] | None
PLACEHOLDER = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_.-]{0,99})\s*\}\}")


def bind_values(
    graph: Graph,
    values: Mapping[str, Value] | None = None,
    inputs: Mapping[tuple[str, str], Value] | None = None,
) -> dict[str, Any]:
    """A new graph with `values` at their placeholders and `inputs` at their (node, input).

    A placeholder that is the whole value takes the value with its type; inside a text it takes its spelling. Every
    placeholder needs a value, and every value a place: a typing error in a name is no empty prompt.
    """
    values, inputs = values or {}, inputs or {}
    _refuse_unknown(graph, values, inputs)
    bound: dict[str, Any] = {}
    for node_id, node in graph.items():
        given = {name: inputs[node_id, name] for name in node["inputs"] if (node_id, name) in inputs}
        bound[node_id] = {
            **node,
            "inputs": {
                name: _as_input(given[name], name) if name in given else _fill(value, values, node_id, name)
                for name, value in node["inputs"].items()
            },
        }
    return bound


def find_placeholders(graph: Graph) -> dict[str, list[tuple[str, str]]]:
    """Name → where it stands, as (node, input)."""
    found: dict[str, list[tuple[str, str]]] = {}
    for node_id, node in graph.items():
        for name, value in node["inputs"].items():
            if isinstance(value, str) and "{{" not in value:
                continue  # most are such, and a graph is looked through for every job
            for placeholder in dict.fromkeys(_placeholders_in(value)):
                found.setdefault(placeholder, []).append((node_id, name))
    return found


def _placeholders_in(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield from PLACEHOLDER.findall(value)
        case dict():
            for each in value.values():
                yield from _placeholders_in(each)
        case list() if not is_link(value):
            for each in value:
                yield from _placeholders_in(each)


def _refuse_unknown(graph: Graph, values: Mapping[str, Value], inputs: Mapping[tuple[str, str], Value]) -> None:
    known = find_placeholders(graph)
    for name in values:
        if name not in known:
            listed = ", ".join(sorted(known)) or "none"
            raise InvalidInput(name, f"the graph has no placeholder of that name; it has: {listed}")
    for node_id, name in inputs:
        if node_id not in graph:
            raise InvalidInput(f"{node_id}.{name}", f"the graph has no node {node_id}")
        if name not in graph[node_id]["inputs"]:
            listed = ", ".join(graph[node_id]["inputs"]) or "none"
            raise InvalidInput(f"{node_id}.{name}", f"the node has no such input; it has: {listed}")


def _fill(value: Any, values: Mapping[str, Value], node_id: str, name: str) -> Any:
    match value:
        case str():
            return _fill_text(value, values, node_id, name)
        case dict():
            return {key: _fill(each, values, node_id, name) for key, each in value.items()}
        case list() if not is_link(value):
            return [_fill(each, values, node_id, name) for each in value]
        case list():
            return list(value)
        case _:
            return value


def _fill_text(text: str, values: Mapping[str, Value], node_id: str, name: str) -> Any:
    def value_of(match: re.Match[str]) -> Value:
        if match[1] not in values:
            raise InvalidGraph(f"waits for a value for {{{{{match[1]}}}}}", node=node_id, input_name=name)
        return values[match[1]]

    if whole := PLACEHOLDER.fullmatch(text):
        return _as_input(value_of(whole), whole[1])
    return PLACEHOLDER.sub(lambda match: _spelled(value_of(match), match[1]), text)


def _as_input(value: Value, name: str) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidInput(name, f"{value} is no number that JSON has")
    return {"__value__": list(value)} if isinstance(value, (list, tuple)) else value


def _spelled(value: Value, name: str) -> str:
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float() if math.isfinite(value):
            return f"{value:.0f}" if value.is_integer() and abs(value) < 2**53 else repr(value)
        case _:
            raise InvalidInput(name, "stands inside a text, where only text, numbers and yes or no can go")
