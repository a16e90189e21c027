"""A graph from wherever it is: read within limits, told from the interface's format, checked."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from comfyfleet.comfy.errors import InterfaceFormat, InvalidGraph
from comfyfleet.comfy.graph.check import check_graph
from comfyfleet.comfy.graph.convert import convert_workflow
from comfyfleet.comfy.graph.definitions import ObjectInfo
from comfyfleet.comfy.graph.limits import LIMITS, GraphLimits

Source: TypeAlias = bytes | str | Path | Mapping[str, Any]


def load_graph(
    source: Source, *, object_info: ObjectInfo | None = None, limits: GraphLimits = LIMITS
) -> dict[str, Any]:
    """The API format, checked. A `str` is JSON text; a file is given as a Path.

    The interface's format is converted if the server's `object_info` is given, and refused if not.
    """
    workflow = read_workflow(source, limits=limits)
    if is_interface_format(workflow):
        if object_info is None:
            raise InterfaceFormat
        graph = convert_workflow(workflow, object_info, limits=limits)
    else:
        graph = _unwrapped(workflow)
    check_graph(graph, limits=limits)
    return graph


def read_workflow(source: Source, *, limits: GraphLimits = LIMITS) -> dict[str, Any]:
    """A JSON object of either format: no key twice, no NaN, no text that is too long or nested too deep."""
    if isinstance(source, Mapping):
        found: Any = dict(source)
    else:
        found = _parse(_bytes(source, limits))
    if not isinstance(found, dict):
        raise InvalidGraph("The graph must be a JSON object of nodes.")
    _refuse_absurd_values(found, limits)
    return found


def is_interface_format(workflow: Mapping[str, Any]) -> bool:
    """Its nodes are a list, and its links stand apart."""
    return isinstance(workflow.get("nodes"), list)


def _unwrapped(workflow: dict[str, Any]) -> dict[str, Any]:
    """The body of a POST /prompt holds the graph one level down."""
    inner = workflow.get("prompt")
    return inner if isinstance(inner, dict) and "class_type" not in inner else workflow


def _bytes(source: bytes | str | Path, limits: GraphLimits) -> bytes:
    if isinstance(source, Path):
        text = _read_file(source, limits)
    else:
        text = source.encode("utf-8", "surrogatepass") if isinstance(source, str) else source
    if len(text) > limits.bytes:
        raise InvalidGraph(f"The graph has more than {limits.bytes} bytes.")
    return text


def _read_file(path: Path, limits: GraphLimits) -> bytes:
    try:
        with path.open("rb") as file:
            # One more than allowed: a file that grows, or a device without an end, is not read to its end.
            return file.read(limits.bytes + 1)
    except OSError as problem:
        raise InvalidGraph(f"Cannot read {path} ({problem.strerror}).") from None


def _parse(text: bytes) -> Any:
    try:
        return json.loads(
            text.removeprefix(b"\xef\xbb\xbf").decode(),
            object_pairs_hook=_without_doubles,
            parse_constant=_refuse_constant,
            parse_float=_finite,
        )
    except RecursionError:
        raise InvalidGraph("The graph is nested too deep.") from None
    except ValueError as problem:
        raise InvalidGraph(f"The graph is not JSON: {problem}.") from None


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise InvalidGraph(f"The key {name!r} stands twice in one object.")
            seen.add(name)
    return found


def _refuse_constant(word: str) -> Any:
    raise InvalidGraph(f"{word} is no JSON number.")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise InvalidGraph(f"The number {text} is too large.")
    return value


def _refuse_absurd_values(value: Any, limits: GraphLimits) -> None:
    """Level by level and without recursion: depth is what is being measured."""
    level = [value]
    for _ in range(limits.depth):
        below: list[Any] = []
        for each in level:
            if isinstance(each, dict):
                if not all(type(key) is str for key in each):
                    raise InvalidGraph("A key is no text.")
                below += each.values()
            elif isinstance(each, list):
                below += each
            else:
                _refuse_absurd_scalar(each, limits)
        level = below
        if not level:
            return
    raise InvalidGraph(f"The graph is nested deeper than {limits.depth} levels.")


def _refuse_absurd_scalar(value: Any, limits: GraphLimits) -> None:
    match value:
        case None | bool():
            return
        case str():
            if not value.isascii() and any("\ud800" <= sign <= "\udfff" for sign in value):
                raise InvalidGraph("A text holds half a character.")
        case int():
            if abs(value) > limits.integer:
                raise InvalidGraph(f"An integer is beyond ±{limits.integer}.")
        case float():
            if not math.isfinite(value):
                raise InvalidGraph(f"{value} is no JSON number.")
        case _:
            raise InvalidGraph(f"A value of type {type(value).__name__} is no JSON.")
