"""May a user's words end up as the name of a file that the server opens? Pure.

A file property is fine: the worker puts its own name there. A text is not: it could name any file of the server.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from comfyfleet.comfy.graph import ObjectInfo, find_definition, find_placeholders, links_of, names_server_file
from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.workflows.properties import Property, PropertyType

ADVICE = "make it an image or video property, or a choice of names that may be opened"


def check_files(
    graph: Mapping[str, Any], properties: Sequence[Property], object_info: ObjectInfo | None = None
) -> None:
    """For a new version. Raises InvalidInput."""
    for prop, (node, name) in list_named_files(graph, properties, object_info):
        at = properties.index(prop)
        problem = f"a text must not name a file: it goes to {name!r} of node {node!r}; {ADVICE}"
        raise InvalidInput(f"properties[{at}]", problem)


def check_given(graph: Mapping[str, Any], properties: Sequence[Property], given: Collection[str]) -> None:
    """For an order of a version that was registered before such were refused. Raises InvalidInput."""
    for prop, _ in list_named_files(graph, [each for each in properties if each.name in given]):
        raise InvalidInput(f"properties.{prop.name}", "names a file of the server, which only operators may choose")


def list_named_files(
    graph: Mapping[str, Any], properties: Sequence[Property], object_info: ObjectInfo | None = None
) -> list[tuple[Property, tuple[str, str]]]:
    """The texts that name files, each with the input that it goes to: of a node that opens it, or of one whose result
    goes on to such a node by links."""
    texts = [each for each in properties if each.type is PropertyType.TEXT]
    files = set(_file_inputs(graph, object_info)) if texts else set()
    if not files:
        return []
    before, placeholders = _nodes_before(graph, files), find_placeholders(graph)
    found = []
    for prop in texts:
        by_node = [(str(prop.node), str(prop.input_name))]
        targets = by_node if prop.placeholder is None else placeholders.get(prop.placeholder, ())
        named = next((each for each in targets if each in files or each[0] in before), None)
        if named is not None:
            found.append((prop, named))
    return found


def _file_inputs(graph: Mapping[str, Any], object_info: ObjectInfo | None) -> Iterator[tuple[str, str]]:
    for node, said in graph.items():
        class_type = str(said["class_type"])
        definition = find_definition(object_info, class_type) if object_info is not None else None
        known = {each.name: each for each in definition.inputs} if definition else {}
        for name in said["inputs"]:
            if names_server_file(class_type, name, known.get(name)):
                yield node, name


def _nodes_before(graph: Mapping[str, Any], files: Collection[tuple[str, str]]) -> set[str]:
    """Those whose results reach a file's name."""
    fresh = {source for node, name, source in _links(graph) if (node, name) in files}
    found: set[str] = set()
    while fresh:
        found |= fresh
        fresh = {source for node, _, source in _links(graph) if node in fresh} - found
    return found


def _links(graph: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    return ((node, name, source) for node, said in graph.items() for name, source, _ in links_of(said))
