"""Does what an effect sets fit the properties of its workflow? Asked when it is made, published and used. Pure."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.workflows.payload import MediaObject, require_kind
from comfyfleet.workflows.properties import NAME, RANDOM, Property, PropertyType, Scalar, check_value


def check_overrides(properties: Sequence[Property], overrides: Mapping[str, Any]) -> dict[str, Scalar]:
    """Raises InvalidInput, which names the property. A file is named by the effect's asset, which may come later."""
    by_name = {each.name: each for each in properties}
    checked: dict[str, Scalar] = {}
    for name, value in overrides.items():
        where = f"overrides.{name}"
        if name not in by_name:
            raise InvalidInput(where, f"the workflow has no such property (it has: {', '.join(by_name) or 'none'})")
        checked[name] = _checked(by_name[name], value, where)
    return checked


def check_fixed(properties: Sequence[Property], overrides: Mapping[str, Any], fixed: Iterable[str]) -> frozenset[str]:
    """Raises InvalidInput for a name that the effect does not set.

    The primary input is always fixed: either the effect brings what it works on, or its user does.
    """
    named = frozenset(fixed)
    for name in sorted(named - overrides.keys()):
        raise InvalidInput("fixed", f"{name!r} is not among the overrides ({', '.join(sorted(overrides)) or 'none'})")
    return named | {each.name for each in properties if each.is_primary_input and each.name in overrides}


def open_properties(
    properties: Sequence[Property], overrides: Mapping[str, Any], fixed: Collection[str]
) -> tuple[Property, ...]:
    """What users may set. An override that is not fixed is their default; a file of the effect's own stands in for
    one that they do not bring."""
    return tuple(_opened(each, overrides) for each in properties if each.name not in fixed)


def _opened(prop: Property, overrides: Mapping[str, Any]) -> Property:
    if prop.name not in overrides:
        return prop
    return replace(prop, default=None if prop.is_media else overrides[prop.name], required=False)


def _checked(prop: Property, value: object, where: str) -> Scalar:
    if prop.is_media:
        if not isinstance(value, str) or not NAME.fullmatch(value):
            raise InvalidInput(where, "must be the name of one of the effect's assets")
        return value
    if prop.type is PropertyType.SEED and value == RANDOM:
        return RANDOM
    return check_value(prop, value, where=where)


def require_assets(
    properties: Sequence[Property], overrides: Mapping[str, Any], assets: Mapping[str, MediaObject]
) -> None:
    """Every file that the effect sets is there, and of the right kind."""
    for prop in properties:
        if prop.is_media and prop.name in overrides:
            where, name = f"overrides.{prop.name}", str(overrides[prop.name])
            if name not in assets:
                raise InvalidInput(where, f"the effect has no asset {name!r}; upload it first")
            require_kind(prop, assets[name].media_type, where=where)


def find_misfit(
    properties: Sequence[Property], overrides: Mapping[str, Any], assets: Mapping[str, MediaObject]
) -> str | None:
    """A later version of the workflow may no longer have, or no longer take, what the effect sets."""
    try:
        check_overrides(properties, overrides)
        require_assets(properties, overrides, assets)
    except InvalidInput as problem:
        return problem.message
    return None
