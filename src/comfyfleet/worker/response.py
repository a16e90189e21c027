"""A server's own response to an attempt, cut to what is worth keeping. Pure."""

from collections.abc import Mapping
from typing import Any

import msgspec

RESPONSE_BYTES_MAX = 32 * 1024
TEXT_CHARS_MAX = 4_000
ITEMS_MAX = 100
DEPTH_MAX = 12


def cut_response(response: Mapping[str, Any]) -> dict[str, Any]:
    """At most `RESPONSE_BYTES_MAX` as JSON. What is cut says so: long texts and lists first, then the outputs, then
    all but the last message, then everything."""
    cut = _cut(response, 0)
    status = cut.get("status") if isinstance(cut.get("status"), dict) else {}
    without_outputs = {**cut, "outputs": "left out"}
    last_message = {**without_outputs, "status": {**status, "messages": (status.get("messages") or [])[-1:]}}
    for tried in (cut, without_outputs, last_message):
        if (size := _size(tried)) is not None and size <= RESPONSE_BYTES_MAX:
            return tried
    return {"left_out_bytes": _size(cut)}


def _cut(value: Any, depth: int) -> Any:
    if depth > DEPTH_MAX:
        return "deeper levels left out"
    match value:
        case str():
            return _cut_text(value)
        case Mapping():
            kept = list(value.items())[:ITEMS_MAX]
            more = {"left_out": len(value) - ITEMS_MAX} if len(value) > ITEMS_MAX else {}
            return {_cut_text(str(name)): _cut(inner, depth + 1) for name, inner in kept} | more
        case list() | tuple():
            more_items = [f"{len(value) - ITEMS_MAX} more left out"] if len(value) > ITEMS_MAX else []
            return [_cut(inner, depth + 1) for inner in value[:ITEMS_MAX]] + more_items
        case bool() | int() | float() | None:
            return value
        case _:
            return _cut_text(str(value))


def clean_text(text: str) -> str:
    """As JSON and every database take it: no NUL, no half a character."""
    return text.replace("\x00", "").encode("utf-8", "replace").decode()


def _cut_text(text: str) -> str:
    whole = clean_text(text)
    left_out = len(whole) - TEXT_CHARS_MAX
    return whole if left_out <= 0 else f"{whole[:TEXT_CHARS_MAX]}… ({left_out} characters left out)"


def _size(value: Any) -> int | None:
    try:
        return len(msgspec.json.encode(value))
    except (TypeError, ValueError, OverflowError):
        return None
