"""Defaults, then the effect's overrides, then what the user said: the graph that a worker will run. Pure.

Values go into the graph as data. A file's place is left open: its name on the server is known only there, so the
asset says where it goes, and the worker puts it there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from comfyfleet.comfy.graph import bind_values, find_placeholders
from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.workflows.properties import Property, PropertyType, Scalar, check_value

RANDOM = "random"


@dataclass(frozen=True, slots=True)
class Asset:
    """An object that the graph needs, and the inputs its name goes to."""

    name: str
    path: str
    media_type: str
    size_bytes: int
    content_hash: str | None
    is_primary_input: bool
    targets: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Chosen:
    """Every property with the value it ends up with; files by whose they are."""

    values: dict[str, Scalar]
    files: dict[str, UUID]  # the user's own, by file id
    effect_assets: dict[str, str]  # the effect's, by its asset's name


def choose(
    properties: Sequence[Property],
    overrides: Mapping[str, Any],
    given: Mapping[str, Any],
    *,
    random_seed: int,
) -> Chosen:
    """What was overridden by the effect is the effect's: a user cannot set it. Raises InvalidInput."""
    by_name = {each.name: each for each in properties}
    for name in given:
        if name not in by_name:
            known = ", ".join(sorted(set(by_name) - set(overrides))) or "none"
            raise InvalidInput(f"properties.{name}", f"is not a property of this effect (it has: {known})")
        if name in overrides:
            raise InvalidInput(f"properties.{name}", "is set by the effect, and cannot be changed")
    chosen = Chosen({}, {}, {})
    for prop in properties:
        _choose_one(prop, overrides, given, chosen, random_seed)
    return chosen


def _choose_one(
    prop: Property, overrides: Mapping[str, Any], given: Mapping[str, Any], chosen: Chosen, random_seed: int
) -> None:
    where = f"properties.{prop.name}"
    if prop.is_media:
        if prop.name in overrides:
            chosen.effect_assets[prop.name] = str(overrides[prop.name])
        elif given.get(prop.name) is not None:
            chosen.files[prop.name] = _file_id(given[prop.name], where)
        elif prop.required or prop.is_primary_input:
            raise InvalidInput(where, f"is needed: name {'an image' if prop.type is PropertyType.IMAGE else 'a video'}")
        elif prop.default is not None:
            # The file that the graph names already, on the server itself.
            chosen.values[prop.name] = prop.default
        return
    value = overrides.get(prop.name, given.get(prop.name))
    if value is None:
        value = prop.default
    if prop.type is PropertyType.SEED and (value is None or value == RANDOM):
        value = random_seed
    if value is None:
        if prop.required:
            raise InvalidInput(where, "is needed")
        return
    chosen.values[prop.name] = check_value(prop, value, where=where)


def _file_id(value: object, where: str) -> UUID:
    try:
        return UUID(str(value))
    except ValueError:
        raise InvalidInput(where, "must be the id of a file") from None


def fill_graph(graph: Mapping[str, Any], properties: Sequence[Property], chosen: Chosen) -> dict[str, Any]:
    """The graph with every value in its place. Where a file goes there is an empty text until the worker knows."""
    placeholders = find_placeholders(graph)
    values: dict[str, Any] = {}
    inputs: dict[tuple[str, str], Any] = {}
    for prop in properties:
        value = chosen.values.get(prop.name, "" if prop.is_media else None)
        if prop.placeholder is not None:
            if prop.placeholder in placeholders:
                values[prop.placeholder] = "" if value is None else value
        elif value is not None and (not prop.is_media or prop.name in chosen.values):
            inputs[str(prop.node), str(prop.input_name)] = value
    return bind_values(graph, values, inputs)


def targets_of(graph: Mapping[str, Any], prop: Property) -> tuple[tuple[str, str], ...]:
    """The inputs that a property's value goes to."""
    if prop.placeholder is not None:
        return tuple(find_placeholders(graph).get(prop.placeholder, ()))
    return ((str(prop.node), str(prop.input_name)),)
