"""What a user may set of a workflow: typed properties, their places in the graph, and the values they take. Pure."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Self, TypeAlias

from comfyfleet.kernel.errors import InvalidInput

Scalar: TypeAlias = str | int | float | bool
PROPERTIES_MAX = 200
TEXT_CHARS_MAX = 200_000
CHOICES_MAX = 5_000
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,99}")
FIELD_CHARS_MAX = {"label": 200, "description": 2_000, "placeholder": 100, "node": 100, "input_name": 200}
FLAGS = ("required", "multiline", "is_primary_input")
MEASURES = ("minimum", "maximum", "step")
SEED_MAX = 2**64 - 1
NUMBER_MAX = 1e300
RANDOM = "random"
# What every program that reads JSON can hold.
EXACT_MAX = 2**53 - 1


class PropertyType(StrEnum):
    TEXT = "text"
    NUMBER = "number"
    INTEGER = "integer"
    BOOLEAN = "boolean"
    CHOICE = "choice"
    IMAGE = "image"
    VIDEO = "video"
    SEED = "seed"


MEDIA = frozenset({PropertyType.IMAGE, PropertyType.VIDEO})
NUMERIC = frozenset({PropertyType.NUMBER, PropertyType.INTEGER, PropertyType.SEED})


@dataclass(frozen=True, slots=True)
class Property:
    """Goes to a placeholder `{{name}}` in the graph, or to one input of one node."""

    name: str
    type: PropertyType
    label: str = ""
    description: str = ""
    default: Scalar | None = None
    required: bool = False
    minimum: float | None = None
    maximum: float | None = None
    step: float | None = None
    choices: tuple[Scalar, ...] | None = None
    multiline: bool = False
    placeholder: str | None = None
    node: str | None = None
    input_name: str | None = None
    is_primary_input: bool = False

    @property
    def is_media(self) -> bool:
        return self.type in MEDIA

    def as_json(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value is not None}

    @classmethod
    def from_json(cls, said: Mapping[str, Any], *, where: str = "properties") -> Self:
        """As somebody wrote it. Raises InvalidInput, which names the field."""
        known = {name for name in cls.__dataclass_fields__}
        if unknown := sorted(set(said) - known):
            raise InvalidInput(f"{where}.{unknown[0]}", "is not a field of a property")
        try:
            kind = PropertyType(said.get("type", ""))
        except ValueError:
            raise InvalidInput(f"{where}.type", f"must be one of {', '.join(PropertyType)}") from None
        _check_kinds(said, where)
        choices = said.get("choices")
        made = cls(**{**said, "type": kind, "choices": tuple(choices) if choices is not None else None})
        made._check(where)
        return made

    def _check(self, where: str) -> None:
        if (self.placeholder is None) == (self.node is None) or (self.node is None) != (self.input_name is None):
            raise InvalidInput(where, "needs either a placeholder, or a node and an input_name")
        if (self.type is PropertyType.CHOICE) != bool(self.choices) or len(self.choices or ()) > CHOICES_MAX:
            raise InvalidInput(f"{where}.choices", f"are for a choice, which needs 1 to {CHOICES_MAX} of them")
        if self.minimum is not None and self.maximum is not None and self.minimum > self.maximum:
            raise InvalidInput(f"{where}.minimum", "is larger than the maximum")
        if self.is_primary_input and not self.is_media:
            raise InvalidInput(f"{where}.is_primary_input", "is for an image or a video")
        if self.default is None or (self.type is PropertyType.SEED and self.default == RANDOM):
            return
        if self.is_media:
            _text(self.default, f"{where}.default")
        else:
            check_value(self, self.default, where=f"{where}.default")


def _check_kinds(said: Mapping[str, Any], where: str) -> None:
    """What a file or a row holds could be anything."""
    if not isinstance(said.get("name"), str) or not NAME.fullmatch(said["name"]):
        raise InvalidInput(f"{where}.name", "must begin with a letter and hold letters, digits, '_', '.' and '-'")
    for name, chars_max in FIELD_CHARS_MAX.items():
        if said.get(name) is not None and len(_text(said[name], f"{where}.{name}")) > chars_max:
            raise InvalidInput(f"{where}.{name}", f"has more than {chars_max} characters")
    for name in FLAGS:
        if not isinstance(said.get(name, False), bool):
            raise InvalidInput(f"{where}.{name}", "must be true or false")
    for name in MEASURES:
        if said.get(name) is not None and not _is_number(said[name]):
            raise InvalidInput(f"{where}.{name}", "must be a number")
    if said.get("choices") is not None:
        _check_choices(said["choices"], f"{where}.choices")


def _check_choices(choices: object, where: str) -> None:
    if not isinstance(choices, (list, tuple)) or not all(map(_is_scalar, choices)):
        raise InvalidInput(where, "must be a list of texts, numbers, true and false")
    for choice in choices:
        if isinstance(choice, str):
            _text(choice, where)


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return math.isfinite(value) if isinstance(value, float) else abs(value) <= SEED_MAX


def _is_scalar(value: object) -> bool:
    return isinstance(value, (str, bool)) or _is_number(value)


def read_properties(said: Sequence[Mapping[str, Any]]) -> tuple[Property, ...]:
    if len(said) > PROPERTIES_MAX:
        raise InvalidInput("properties", f"there are more than {PROPERTIES_MAX}")
    found = tuple(Property.from_json(each, where=f"properties[{at}]") for at, each in enumerate(said))
    seen: set[object] = set()
    for each in found:
        for mark in (each.name, (each.placeholder, each.node, each.input_name)):
            if mark in seen:
                raise InvalidInput("properties", f"{each.name!r} is there twice, or goes where another one goes")
            seen.add(mark)
    if sum(each.is_primary_input for each in found) > 1:
        raise InvalidInput("properties", "only one of them can be the primary input")
    return found


def check_value(prop: Property, value: object, *, where: str) -> Scalar:
    """The value as the graph takes it. Raises InvalidInput, which names the field and what it takes."""
    match prop.type:
        case PropertyType.TEXT:
            return _text(value, where)
        case PropertyType.BOOLEAN:
            if not isinstance(value, bool):
                raise InvalidInput(where, "must be true or false")
            return value
        case PropertyType.CHOICE:
            return _choice(prop, value, where)
        case PropertyType.NUMBER | PropertyType.INTEGER | PropertyType.SEED:
            return _number(prop, value, where)
        case PropertyType.IMAGE | PropertyType.VIDEO:
            raise InvalidInput(where, "is a file: name it by its id")


def _text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise InvalidInput(where, "must be text")
    if len(value) > TEXT_CHARS_MAX:
        raise InvalidInput(where, f"has more than {TEXT_CHARS_MAX} characters")
    if "\x00" in value:
        raise InvalidInput(where, "must not hold NUL characters")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidInput(where, "holds half a character") from None
    return value


def _choice(prop: Property, value: object, where: str) -> Scalar:
    for choice in prop.choices or ():
        # 1 and True are equal in Python, and two different things to a graph.
        if type(choice) is type(value) and choice == value:
            return choice
    some = ", ".join(repr(each) for each in (prop.choices or ())[:10])
    raise InvalidInput(where, f"must be one of {some}{' …' if len(prop.choices or ()) > 10 else ''}")


def _number(prop: Property, value: object, where: str) -> int | float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InvalidInput(where, "must be a number")
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidInput(where, "must be a number that JSON has")
    if prop.type is not PropertyType.NUMBER and isinstance(value, float):
        if not value.is_integer():
            raise InvalidInput(where, "must be a whole number")
        value = int(value)
    low, high = _bounds(prop)
    if not low <= value <= high:
        shown = (f"{low:g}", f"{high:g}") if prop.type is PropertyType.NUMBER else (str(low), str(high))
        raise InvalidInput(where, f"must be from {shown[0]} to {shown[1]}")
    return value


def _bounds(prop: Property) -> tuple[float, float]:
    """Never wider than the type: a largest seed that went through a float is one too many."""
    lowest, highest = {
        PropertyType.NUMBER: (-NUMBER_MAX, NUMBER_MAX),
        PropertyType.INTEGER: (-EXACT_MAX, EXACT_MAX),
        PropertyType.SEED: (0, SEED_MAX),
    }[prop.type]
    return (
        lowest if prop.minimum is None else max(lowest, prop.minimum),
        highest if prop.maximum is None else min(highest, prop.maximum),
    )
