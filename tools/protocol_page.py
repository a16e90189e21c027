"""The tables of docs/reference/worker-protocol.md, from the structs that both sides of the wire are made of."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec.inspect import Field, type_info

from comfyfleet.api.worker import ENDPOINTS

BEGIN = "<!-- Made by `make snapshots` from wire/worker_v1.py. Do not edit between these marks. -->"
END = "<!-- End of what was made. -->"
NAMES = {
    "BoolType": "true or false",
    "DictType": "object",
    "FloatType": "number",
    "IntType": "whole number",
    "RawType": "JSON, as it was stored",
    "StrType": "text",
    "UUIDType": "uuid",
}
# The parts that a struct is made of, and whether the server says them.
Parts = dict[type[msgspec.Struct], bool]


def page(path: Path) -> str:
    """The page as it stands, with the tables between the marks written anew."""
    before, _, rest = path.read_text().partition(BEGIN)
    made = "\n".join(tables())
    return f"{before}{BEGIN}\n\n{made}\n{END}{rest.partition(END)[2]}"


def tables() -> Iterator[str]:
    parts: Parts = {}
    for name, endpoint in ENDPOINTS.items():
        yield from [f"### `{name}`", "", endpoint.summary, *_sheet(endpoint.request, parts, replies=False)]
        yield from ["The reply:", *_sheet(endpoint.reply, parts, replies=True)]
    told: Parts = {}
    while left := sorted(parts.keys() - told.keys(), key=lambda part: part.__name__):
        told[left[0]] = parts[left[0]]
        yield from [f"### {left[0].__name__}", *_sheet(left[0], parts, replies=parts[left[0]])]


def _sheet(kind: type[msgspec.Struct], parts: Parts, *, replies: bool) -> Iterator[str]:
    """What must be said stands first. A reply says everything."""
    yield from ["", *([kind.__doc__, ""] if kind.__doc__ else [])]
    yield from ["| field | |", "|---|---|"] if replies else ["| field | | if left out |", "|---|---|---|"]
    fields: list[Field] = list(type_info(kind).fields)  # type: ignore[attr-defined]  # a struct has them
    for field in sorted(fields, key=lambda field: not field.required):
        said = f"| `{field.name}` | {_words(field.type, parts, replies=replies)} |"
        yield said if replies else f"{said} {_default(field)} |"
    yield ""


def _default(field: Field) -> str:
    if field.required:
        return "refused"
    made = field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
    return f"`{msgspec.json.encode(made).decode()}`"


def _words(kind: Any, parts: Parts, *, replies: bool) -> str:
    match type(kind).__name__:
        case "UnionType":
            kept = [each for each in kind.types if type(each).__name__ != "NoneType"]
            return f"{', '.join(_words(each, parts, replies=replies) for each in kept)}; or null"
        case "ListType":
            size = _between(kind.min_length, kind.max_length)
            return f"list{f' ({size})' if size else ''} of {_words(kind.item_type, parts, replies=replies)}"
        case "StructType":
            parts[kind.cls] = replies
            return f"[{kind.cls.__name__}](#{kind.cls.__name__.lower()})"
        case "LiteralType":
            return ", ".join(f"`{value}`" for value in kind.values)
        case "StrType":
            size, pattern = _between(kind.min_length, kind.max_length), kind.pattern
            return "text" + (f", {size} characters" if size else "") + (f", `{pattern}`" if pattern else "")
        case "BytesType":
            return f"base64, {_between(kind.min_length, kind.max_length)} bytes"
        case name:
            size = _between(getattr(kind, "ge", None), getattr(kind, "le", None))
            return NAMES[name] + (f", {size}" if size else "")


def _between(low: object, high: object) -> str:
    if low is None:
        return "" if high is None else f"at most {high}"
    return f"at least {low}" if high is None else f"{low} to {high}"
