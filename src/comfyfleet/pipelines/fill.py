"""What a step's effect is given: the step's own values, with the run's variables in their places. Pure."""

import hashlib
import re
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from comfyfleet.pipelines.model import SeedPolicy, Step
from comfyfleet.workflows import Property, PropertyType
from comfyfleet.workflows.effects import Offer

VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
# `{{name}}` is the text `{name}`.
PLACE = re.compile(r"\{\{|\}\}|\{([A-Za-z_][A-Za-z0-9_]{0,99})\}")
SEED_BITS = 53  # whole numbers that every JSON reader keeps


def is_plain(text: str) -> bool:
    """PostgreSQL keeps no NUL, and half a surrogate pair cannot be encoded at all."""
    return "\x00" not in text and not any("\ud800" <= letter <= "\udfff" for letter in text)


def named_variables(text: str) -> set[str]:
    return {found.group(1) for found in PLACE.finditer(text) if found.group(1)}


def fill_value(value: Any, variables: Mapping[str, Any]) -> Any:
    """A text that is nothing but one variable becomes that variable's value, whatever its type."""
    if not isinstance(value, str):
        return value
    whole = PLACE.fullmatch(value)
    if whole is not None and whole.group(1) in variables:
        return variables[whole.group(1)]
    return PLACE.sub(lambda found: _put(found, variables), value)


def _put(found: re.Match[str], variables: Mapping[str, Any]) -> str:
    name = found.group(1)
    if name is None:
        return found.group()[0]
    return str(variables[name]) if name in variables else found.group()


def fill_properties(step: Step, variables: Mapping[str, Any], offer: Offer) -> dict[str, Any]:
    """A variable that is called like a property goes there by itself, unless the step says otherwise."""
    known = {each.name for each in offer.properties if not each.is_primary_input}
    by_name = {name: variables[name] for name in step.variables if name in known and name in variables}
    return by_name | {name: fill_value(value, variables) for name, value in step.properties.items()}


def draw_seed(policy: SeedPolicy, run_seed: int, *, position: int, place: UUID, ordinal: int) -> int:
    """The same for the same place in the tree, however often it is asked for."""
    if policy == "fixed":
        return run_seed
    said = f"{run_seed}:{position}:{place}:{ordinal}".encode()
    return int.from_bytes(hashlib.sha256(said).digest()[:8], "big") >> (64 - SEED_BITS)


def add_seeds(properties: dict[str, Any], offer: Offer, seed: int) -> tuple[dict[str, Any], int | None]:
    """For every seed that the effect leaves open and the step does not set; and the one that it runs with."""
    open_ones = [each for each in offer.properties if each.type is PropertyType.SEED]
    added = {each.name: _within(each, seed) for each in open_ones if each.name not in properties}
    whole = {**properties, **added}
    used = [whole[each.name] for each in open_ones if type(whole[each.name]) is int]
    return whole, used[0] if used and used[0] < 2**63 else None


def _within(prop: Property, seed: int) -> int:
    lowest = int(prop.minimum) if prop.minimum is not None else 0
    highest = int(prop.maximum) if prop.maximum is not None else 2**SEED_BITS - 1
    return lowest + seed % max(highest - lowest + 1, 1)
