"""May a user's words end up as the name of a file that the server opens? Pure.

A file property is fine: the worker puts its own name there. A text is not: it could name any file of the server.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

from comfyfleet.comfy.graph import ObjectInfo, find_definition, find_placeholders, links_of, names_server_file
from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.workflows.properties import Property, PropertyType

# By class of node: the inputs by which it opens files, as definitions say.
FileInputs: TypeAlias = Mapping[str, frozenset[str]]
NOTHING_REPORTED: FileInputs = MappingProxyType({})
ADVICE = "make it an image or video property, or a choice of names that may be opened"


def check_files(
    graph: Mapping[str, Any], properties: Sequence[Property], reported: FileInputs = NOTHING_REPORTED
) -> None:
    """For a new version. Raises InvalidInput."""
    for prop, (node, name) in list_named_files(graph, properties, reported):
        at = properties.index(prop)
        problem = f"a text must not name a file: it goes to {name!r} of node {node!r}; {ADVICE}"
        raise InvalidInput(f"properties[{at}]", problem)


def check_given(
    graph: Mapping[str, Any],
    properties: Sequence[Property],
    given: Collection[str],
    reported: FileInputs = NOTHING_REPORTED,
) -> None:
    """For an order of a version that was registered before it was known what its nodes open. Raises InvalidInput."""
    for prop, _ in list_named_files(graph, [each for each in properties if each.name in given], reported):
        raise InvalidInput(f"properties.{prop.name}", "names a file of the server, which only operators may choose")


def list_named_files(
    graph: Mapping[str, Any], properties: Sequence[Property], reported: FileInputs = NOTHING_REPORTED
) -> list[tuple[Property, tuple[str, str]]]:
    """The texts that name files, each with the input that it goes to: of a node that opens it, or of one whose result
    goes on to such a node by links.
    """
    texts = [each for each in properties if each.type is PropertyType.TEXT]
    files = set(_file_inputs(graph, reported)) if texts else set()
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


def list_file_inputs(definitions: Sequence[ObjectInfo]) -> FileInputs:
    """Where one of several servers opens a file by an input, it is a file's."""
    found: dict[str, frozenset[str]] = {}
    for object_info in definitions:
        for class_type in object_info:
            if names := frozenset(_flagged(class_type, object_info)):
                found[class_type] = found.get(class_type, frozenset()) | names
    return found


def _flagged(class_type: str, object_info: ObjectInfo) -> Iterator[str]:
    definition = find_definition(object_info, class_type)
    for each in definition.inputs if definition else ():
        if names_server_file(class_type, each.name, each):
            yield each.name


def _file_inputs(graph: Mapping[str, Any], reported: FileInputs) -> Iterator[tuple[str, str]]:
    for node, said in graph.items():
        class_type = str(said["class_type"])
        for name in said["inputs"]:
            if name in reported.get(class_type, ()) or names_server_file(class_type, name):
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
