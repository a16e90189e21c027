"""What a graph seems to want from its users: properties that a person only has to confirm. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from comfyfleet.comfy.graph import (
    GraphInput,
    ObjectInfo,
    OutputNode,
    find_placeholders,
    list_classes,
    list_inputs,
    list_models,
    list_outputs,
)
from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.workflows.check_files import list_file_inputs, list_named_files
from comfyfleet.workflows.model import Requirements
from comfyfleet.workflows.properties import (
    FIELD_CHARS_MAX,
    NUMERIC,
    PROPERTIES_MAX,
    RANDOM,
    Property,
    PropertyType,
    check_value,
)

SAVING = ("Save", "VideoCombine")  # in the names of classes
# What an input takes is known by its name, where the placeholder in it hides the type.
BY_INPUT = {
    **dict.fromkeys(("seed", "noise_seed"), PropertyType.SEED),
    **dict.fromkeys(("steps", "width", "height", "length", "batch_size", "frames"), PropertyType.INTEGER),
    **dict.fromkeys(("cfg", "denoise", "strength", "guidance", "fps"), PropertyType.NUMBER),
}


def propose_properties(
    graph: Mapping[str, Any], object_info: ObjectInfo | None = None, *, reported: Sequence[ObjectInfo] = ()
) -> tuple[Property, ...]:
    """Every input that a user could set, and every placeholder. The first picture or film is the primary input.

    `reported`: what workers say of single classes, also where none has all of the graph.
    """
    found = [_property(each) for each in list_inputs(dict(graph), object_info)]
    found = [each for each in found if _is_sound(each)][:PROPERTIES_MAX]
    held = {each.placeholder for each in found}
    found += [_text_at(name) for name in find_placeholders(graph) if name not in held]
    # A text that names a file of the server is nothing for users; a placeholder there has to be answered for.
    known = [*reported, object_info] if object_info is not None else reported
    named = [prop for prop, _ in list_named_files(graph, found, list_file_inputs(known)) if prop.placeholder is None]
    found = [each for each in found if each not in named]
    first = next((each.name for each in found if each.is_media), None)
    return tuple(replace(each, is_primary_input=True) if each.name == first else each for each in found)


def propose_output_node(graph: Mapping[str, Any], object_info: ObjectInfo | None = None) -> str | None:
    """The one that saves, if there is exactly one such; else somebody has to say."""
    saving = list_saving_nodes(graph, object_info)
    return saving[0].node if len(saving) == 1 else None


def list_saving_nodes(graph: Mapping[str, Any], object_info: ObjectInfo | None = None) -> tuple[OutputNode, ...]:
    """Any of these may make the result; by node id."""
    found = list_outputs(dict(graph), object_info)
    # Without object_info every node that leads nowhere might be one.
    return tuple(each for each in found if _saves(each)) or found


def require_output_node(
    graph: Mapping[str, Any], output_node: str | None, object_info: ObjectInfo | None = None
) -> None:
    """Raises InvalidInput where the graph lacks the node, or where several save and none is named."""
    if output_node is not None and output_node not in graph:
        raise InvalidInput("output_node", f"the graph has no node {output_node!r}")
    saving = [each for each in list_saving_nodes(graph, object_info) if _saves(each)]
    if output_node is None and len(saving) > 1:
        named = ", ".join(f"{each.node} ({each.title})" for each in saving)
        raise InvalidInput("output_node", f"several nodes save: {named}. Name the one that makes the result")


def _saves(node: OutputNode) -> bool:
    return any(word in node.class_type for word in SAVING)


def find_requirements(graph: Mapping[str, Any]) -> Requirements:
    return Requirements(
        node_classes=tuple(sorted(list_classes(dict(graph)))),
        weights=tuple(sorted({each.name for each in list_models(dict(graph))})),
    )


def _property(found: GraphInput) -> Property:
    kind = PropertyType(found.type.value)
    if found.placeholder is not None:
        # What stands around a placeholder is the graph's, and no default.
        kind = BY_INPUT.get(found.input_name, kind) if kind is PropertyType.TEXT and found.default is None else kind
        found = replace(found, default=None)
    if kind is PropertyType.CHOICE and not found.choices:
        kind = PropertyType.TEXT
    numeric = kind in NUMERIC
    bare = Property(
        name=found.name,
        type=kind,
        label=_label(found.label),
        required=found.default is None and kind is not PropertyType.SEED,
        minimum=found.minimum if numeric else None,
        maximum=found.maximum if numeric else None,
        step=found.step if numeric else None,
        choices=found.choices if kind is PropertyType.CHOICE else None,
        multiline=found.multiline,
        placeholder=found.placeholder,
        node=None if found.placeholder is not None else found.node,
        input_name=None if found.placeholder is not None else found.input_name,
    )
    if kind is PropertyType.SEED:
        # Whoever orders twice wants two pictures, not the one that its author saw last.
        return replace(bare, default=RANDOM)
    return bare if found.default is None or bare.is_media else _with_default(bare, found.default)


def _with_default(bare: Property, value: object) -> Property:
    """What the graph holds, unless the property would refuse it: another server's list of models, say."""
    try:
        return replace(bare, default=check_value(bare, value, where="default"))
    except InvalidInput:
        return bare


def _is_sound(prop: Property) -> bool:
    """Names of nodes and inputs can be anything; a property's cannot."""
    try:
        Property.from_json(prop.as_json())
    except InvalidInput:
        return False
    return True


def _text_at(placeholder: str) -> Property:
    label = _label(placeholder.replace("_", " "))
    return Property(placeholder, PropertyType.TEXT, label=label, required=True, placeholder=placeholder)


def _label(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"[: FIELD_CHARS_MAX["label"]]
