"""Does what an effect sets fit the properties of its workflow? Asked when it is made, published and used. Pure."""

from collections.abc import Mapping, Sequence
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
