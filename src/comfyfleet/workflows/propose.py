"""What a graph seems to want from its users: properties that a person only has to confirm. Pure."""

from collections.abc import Mapping
from typing import Any

from comfyfleet.comfy.graph import GraphInput, ObjectInfo, list_classes, list_inputs, list_models, list_outputs
from comfyfleet.workflows.model import Requirements
from comfyfleet.workflows.properties import Property, PropertyType


def propose_properties(graph: Mapping[str, Any], object_info: ObjectInfo | None = None) -> tuple[Property, ...]:
    """Every input that a user could set. The first picture or film is the primary input."""
    found = [_property(each) for each in list_inputs(dict(graph), object_info)]
    first = next((each.name for each in found if each.is_media), None)
    return tuple(_as_primary(each) if each.name == first else each for each in found)


def propose_output_node(graph: Mapping[str, Any], object_info: ObjectInfo | None = None) -> str | None:
    """The one that saves, if there is exactly one such; else somebody has to say."""
    found = list_outputs(dict(graph), object_info)
    saving = [each for each in found if "Preview" not in each.class_type] or list(found)
    return saving[0].node if len(saving) == 1 else None


def find_requirements(graph: Mapping[str, Any]) -> Requirements:
    return Requirements(
        node_classes=tuple(sorted(list_classes(dict(graph)))),
        weights=tuple(sorted({each.name for each in list_models(dict(graph))})),
    )


def _property(found: GraphInput) -> Property:
    kind = PropertyType(found.type.value)
    numeric = kind in (PropertyType.NUMBER, PropertyType.INTEGER, PropertyType.SEED)
    return Property(
        name=found.name,
        type=kind,
        label=found.label,
        default=None if kind in (PropertyType.IMAGE, PropertyType.VIDEO) else found.default,
        required=found.default is None,
        minimum=found.minimum if numeric else None,
        maximum=found.maximum if numeric else None,
        step=found.step if numeric else None,
        choices=found.choices if kind is PropertyType.CHOICE else None,
        multiline=found.multiline,
        placeholder=found.placeholder,
        node=None if found.placeholder is not None else found.node,
        input_name=None if found.placeholder is not None else found.input_name,
    )


def _as_primary(prop: Property) -> Property:
    return Property(
        **{**{name: getattr(prop, name) for name in Property.__dataclass_fields__}, "is_primary_input": True}
    )
