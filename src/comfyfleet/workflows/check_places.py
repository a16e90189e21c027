"""Do a graph and its properties fit? Every property has its place, and every placeholder its property. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from comfyfleet.comfy.graph import find_placeholders, is_link
from comfyfleet.comfy.graph.bind import PLACEHOLDER
from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.workflows.properties import Property, PropertyType


def check_places(graph: Mapping[str, Any], properties: Sequence[Property]) -> None:
    placeholders = find_placeholders(graph)
    for at, prop in enumerate(properties):
        where = f"properties[{at}]"
        if prop.placeholder is None:
            _check_input(graph, prop, where)
        else:
            _check_placeholder(graph, placeholders, prop, where)
    if unbound := sorted(set(placeholders) - {prop.placeholder for prop in properties}):
        raise InvalidInput("properties", f"nothing fills the placeholder {{{{{unbound[0]}}}}}: add a property for it")


def _check_input(graph: Mapping[str, Any], prop: Property, where: str) -> None:
    inputs = graph.get(str(prop.node), {}).get("inputs", {})
    if prop.input_name not in inputs:
        raise InvalidInput(where, f"the graph has no input {prop.input_name!r} at node {prop.node!r}")
    if is_link(inputs[prop.input_name]):
        raise InvalidInput(where, f"input {prop.input_name!r} of node {prop.node!r} comes from another node")


def _check_placeholder(
    graph: Mapping[str, Any], placeholders: Mapping[str, Sequence[tuple[str, str]]], prop: Property, where: str
) -> None:
    if prop.placeholder not in placeholders:
        raise InvalidInput(where, f"the graph has no placeholder {{{{{prop.placeholder}}}}}")
    if prop.is_media:
        for node, name in placeholders[str(prop.placeholder)]:
            # The worker puts a file's name in place of the whole input.
            value = graph[node]["inputs"][name]
            if not isinstance(value, str) or not PLACEHOLDER.fullmatch(value):
                raise InvalidInput(where, f"a file fills a whole input, and {name!r} of node {node!r} holds more")
    elif prop.default is None and not prop.required and prop.type not in (PropertyType.TEXT, PropertyType.SEED):
        raise InvalidInput(where, f"needs a default, or to be required: an empty text is no {prop.type}")
