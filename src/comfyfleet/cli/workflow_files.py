"""Graphs and properties from files, and the question whether the properties are the right ones."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from comfyfleet.cli.late import Late
from comfyfleet.cli.tables import print_table
from comfyfleet.kernel.errors import InvalidInput

if TYPE_CHECKING:
    from comfyfleet import workflows
    from comfyfleet.workflows import Property, ReadyGraph, check_places
else:
    check_places = Late("comfyfleet.workflows.check_places")
    workflows = Late("comfyfleet.workflows")

SHOWN_CHARS = 40


def read_graph_file(path: Path) -> bytes:
    return read_bytes("graph", path, bytes_max=workflows.GRAPH_BYTES_MAX)


def agreed(
    graph: Mapping[str, Any],
    given: Path | None,
    *,
    before: Sequence[Property],
    ready: ReadyGraph,
    is_yes: bool,
    as_json: bool,
) -> tuple[Property, ...]:
    """What the file says; else those of the version before, if they fit; else a proposal. Only a file needs no yes."""
    if given is not None:
        return read_properties_file(given)
    proposed = tuple(before) if before and _fit(graph, before) else _proposed(graph, ready)
    if is_yes or not proposed:
        return proposed
    if as_json:
        raise InvalidInput("properties", "nobody can be asked with --json: add --yes, or --properties FILE")
    print_properties(proposed)
    try:
        is_right = typer.confirm("May users set these?", default=True)
    except typer.Abort:
        is_right = False
    if not is_right:
        raise InvalidInput("properties", "not confirmed. Write your own: --properties FILE; or take these: --yes")
    return proposed


def _proposed(graph: Mapping[str, Any], ready: ReadyGraph) -> tuple[Property, ...]:
    return workflows.propose_properties(graph, ready.object_info, reported=ready.reported)


def agreed_output(graph: Mapping[str, Any], given: str | None, *, before: str | None, is_asked: bool) -> str | None:
    """The node named; else that of the version before; else the one that saves. Of several, a person says which."""
    if given is not None:
        return given
    if before is not None and before in graph:
        return before
    if (proposed := workflows.propose_output_node(graph)) is not None:
        return proposed
    try:
        workflows.require_output_node(graph, None)
    except InvalidInput as several:
        if not is_asked:
            raise InvalidInput("output_node", f"{several.problem}: --output-node NODE") from None
        return _asked_output(graph)
    return None


def _asked_output(graph: Mapping[str, Any]) -> str:
    saving = workflows.list_saving_nodes(graph)
    columns = {"node": lambda each: each.node, "class": lambda each: each.class_type, "title": lambda each: each.title}
    print_table("Nodes that save", saving, columns)
    known = [each.node for each in saving]
    while True:
        try:
            answer: str = typer.prompt("Which one makes the result? Its node", default=known[0])
        except typer.Abort:
            raise InvalidInput("output_node", "not answered. Name it: --output-node NODE") from None
        if answer in known:
            return answer
        typer.echo(f"Nodes that save: {', '.join(known)}.")


def read_properties_file(path: Path) -> tuple[Property, ...]:
    try:
        said = json.loads(read_bytes("properties", path, bytes_max=workflows.GRAPH_BYTES_MAX))
    except (ValueError, RecursionError):
        raise InvalidInput("properties", f"{path} is not JSON") from None
    if not isinstance(said, list) or not all(isinstance(each, dict) for each in said):
        raise InvalidInput("properties", f"{path} must hold a list of objects")
    return workflows.read_properties(said)


def read_bytes(field: str, path: Path, *, bytes_max: int) -> bytes:
    try:
        with path.open("rb") as file:
            found = file.read(bytes_max + 1)
    except OSError as problem:
        raise InvalidInput(field, f"cannot read {path} ({problem.strerror})") from None
    if len(found) > bytes_max:
        raise InvalidInput(field, f"{path} has more than {bytes_max} bytes")
    return found


def print_properties(properties: Sequence[Property]) -> None:
    columns = {
        "property": lambda each: each.name,
        "type": lambda each: each.type,
        "default": lambda each: _short(each.default),
        "range": _range,
        "goes to": lambda each: f"{{{{{each.placeholder}}}}}" if each.placeholder else f"{each.node}.{each.input_name}",
        "": lambda each: "primary input" if each.is_primary_input else "required" if each.required else "",
    }
    print_table("What users may set", properties, columns)


def _range(prop: Property) -> str | None:
    if prop.choices:
        return _short(" | ".join(map(str, prop.choices)))
    if prop.minimum is None and prop.maximum is None:
        return None
    return (
        f"{'' if prop.minimum is None else f'{prop.minimum:g}'} – {'' if prop.maximum is None else f'{prop.maximum:g}'}"
    )


def _short(value: object) -> str | None:
    if value is None:
        return None
    text = " ".join(str(value).split())
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}…"


def _fit(graph: Mapping[str, Any], properties: Sequence[Property]) -> bool:
    try:
        check_places.check_places(graph, properties)
    except InvalidInput:
        return False
    return True
