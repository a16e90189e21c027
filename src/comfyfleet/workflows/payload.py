"""Defaults, then the effect's overrides, then what the user said: the graph that a worker will run. Pure.

What the effect fixes wins over what the user said; the user may not even say it.

Values go into the graph as data. A file's place is left open: its name on the server is known only there, so the
asset says where it goes, and the worker puts it there.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from comfyfleet.comfy.graph import bind_values, find_placeholders
from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.workflows.model import Version
from comfyfleet.workflows.properties import RANDOM, Property, PropertyType, Scalar, check_value

KINDS = {PropertyType.IMAGE: ("image/",), PropertyType.VIDEO: ("video/", "image/gif")}
CALLED = {PropertyType.IMAGE: "an image", PropertyType.VIDEO: "a video"}


@dataclass(frozen=True, slots=True)
class MediaObject:
    """A file in the store: a user's, or an effect's own."""

    path: str
    media_type: str
    size_bytes: int
    content_hash: str | None = None  # SHA-256 of its bytes, where somebody has read them
    is_users_own: bool = False


@dataclass(frozen=True, slots=True)
class Asset:
    """An object that the graph needs, and the inputs its name goes to. A worker keeps none that is the user's own: what
    its owner deletes must be gone."""

    name: str
    path: str
    media_type: str
    size_bytes: int
    content_hash: str | None
    is_users_own: bool
    is_primary_input: bool
    targets: tuple[tuple[str, str], ...]

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "path": self.path,
            "media_type": self.media_type,
            "size_bytes": self.size_bytes,
            "content_hash": self.content_hash,
            "is_users_own": self.is_users_own,
            "is_primary_input": self.is_primary_input,
            "targets": [{"node": node, "input_name": name} for node, name in self.targets],
        }


@dataclass(frozen=True, slots=True)
class Chosen:
    """Every property with the value it ends up with; files by whose they are."""

    values: dict[str, Scalar]
    files: dict[str, UUID]  # the user's own, by file id
    effect_assets: dict[str, str]  # the effect's, by its asset's name

    def brings(self, name: str) -> bool:
        return name in self.files or name in self.effect_assets


@dataclass(frozen=True, slots=True)
class Payload:
    """All that a worker needs of a workflow, but for the signed URLs, which are made when the job is leased."""

    graph: dict[str, Any]
    properties: dict[str, Scalar]
    assets: tuple[Asset, ...]
    output_node: str | None

    def as_json(self) -> dict[str, Any]:
        return {
            "workflow": self.graph,
            "properties": self.properties,
            "assets": [each.as_json() for each in self.assets],
            "output_node_id": self.output_node,
        }


def build_payload(
    version: Version,
    graph: Mapping[str, Any],
    chosen: Chosen,
    *,
    files: Mapping[UUID, MediaObject],
    effect_assets: Mapping[str, MediaObject],
) -> Payload:
    """`files`: those that `chosen` names, each already known to be the user's own. Raises InvalidInput."""
    return Payload(
        graph=fill_graph(graph, version.properties, chosen),
        properties=chosen.values,
        assets=list_assets(graph, version.properties, chosen, files=files, effect_assets=effect_assets),
        output_node=version.output_node,
    )


def choose(
    properties: Sequence[Property],
    overrides: Mapping[str, Any],
    given: Mapping[str, Any],
    *,
    fixed: Collection[str],
    random_seed: int,
) -> Chosen:
    """`fixed`: the overrides that a user cannot set; the others stand in where the user says nothing.

    Raises InvalidInput.
    """
    by_name = {each.name: each for each in properties}
    for name in given:
        if name not in by_name:
            known = ", ".join(sorted(set(by_name) - set(fixed))) or "none"
            raise InvalidInput(f"properties.{name}", f"is not a property of this effect (it has: {known})")
        if name in fixed:
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
        if given.get(prop.name) is not None:
            chosen.files[prop.name] = _file_id(given[prop.name], where)
        elif prop.name in overrides:
            chosen.effect_assets[prop.name] = str(overrides[prop.name])
        elif prop.required or prop.is_primary_input:
            raise InvalidInput(where, f"is needed: name {CALLED[prop.type]}")
        elif prop.default is not None:
            # The file that the graph names already, on the server itself.
            chosen.values[prop.name] = prop.default
        return
    value = next((each for each in (given.get(prop.name), overrides.get(prop.name)) if each is not None), prop.default)
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
    """The graph with every value in its place. Where a file goes there is an empty text until the worker knows:
    what the graph named there before must not be taken for it."""
    placeholders = find_placeholders(graph)
    values: dict[str, Any] = {}
    inputs: dict[tuple[str, str], Any] = {}
    for prop in properties:
        value = "" if chosen.brings(prop.name) else chosen.values.get(prop.name)
        if prop.placeholder is None:
            if value is not None:
                inputs[str(prop.node), str(prop.input_name)] = value
        elif prop.placeholder in placeholders:
            values[prop.placeholder] = "" if value is None else value
    return bind_values(graph, values, inputs)


def list_assets(
    graph: Mapping[str, Any],
    properties: Sequence[Property],
    chosen: Chosen,
    *,
    files: Mapping[UUID, MediaObject],
    effect_assets: Mapping[str, MediaObject],
) -> tuple[Asset, ...]:
    """The primary input first. Raises InvalidInput for a file of the wrong kind, or one that is not there."""
    found = []
    for prop in sorted(properties, key=lambda each: not each.is_primary_input):
        if not chosen.brings(prop.name):
            continue
        where = f"properties.{prop.name}"
        held = _held(prop, chosen, files, effect_assets)
        if held is None:
            raise InvalidInput(where, "there is no such file")
        require_kind(prop, held.media_type, where=where)
        found.append(
            Asset(
                name=prop.name,
                path=held.path,
                media_type=held.media_type,
                size_bytes=held.size_bytes,
                content_hash=held.content_hash,
                is_users_own=held.is_users_own,
                is_primary_input=prop.is_primary_input,
                targets=targets_of(graph, prop),
            )
        )
    return tuple(found)


def _held(
    prop: Property, chosen: Chosen, files: Mapping[UUID, MediaObject], effect_assets: Mapping[str, MediaObject]
) -> MediaObject | None:
    if prop.name in chosen.effect_assets:
        return effect_assets.get(chosen.effect_assets[prop.name])
    return files.get(chosen.files[prop.name])


def require_kind(prop: Property, media_type: str, *, where: str) -> None:
    if not media_type.startswith(KINDS[prop.type]):
        raise InvalidInput(where, f"is {media_type}, and this takes {CALLED[prop.type]}")


def targets_of(graph: Mapping[str, Any], prop: Property) -> tuple[tuple[str, str], ...]:
    """The inputs that a property's value goes to."""
    if prop.placeholder is not None:
        return tuple(find_placeholders(graph).get(prop.placeholder, ()))
    return ((str(prop.node), str(prop.input_name)),)
