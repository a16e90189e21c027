"""How far a job is, read from what its worker reported. Nobody vouches for the words: what does not fit is left out."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from comfyfleet.live.model import NODE, PROGRESS, Event, Progress

NODE_CHARS_MAX = 200


class _Said(Struct):
    fraction: Annotated[float, Meta(ge=0, le=1)] | None = None
    node: str | None = None
    node_class: str | None = None
    waits: bool = False


_decode = msgspec.json.Decoder(_Said).decode


def standing(latest: Mapping[str, Event]) -> Progress | None:
    """By the last events of each kind; where it is, by the later of the two."""
    told = [event for kind in (PROGRESS, NODE) if (event := latest.get(kind)) is not None]
    if not told:
        return None
    newest = max(told, key=lambda event: event.at)
    told_of = _said(latest[PROGRESS]) if PROGRESS in latest else _Said()
    where = next((each for event in sorted(told, key=_latest_first) if (each := _said(event)).node), _Said())
    at = datetime.fromtimestamp(newest.at, UTC)
    waits = told_of.waits and newest.kind == PROGRESS
    return Progress(told_of.fraction, _short(where.node), _short(where.node_class), waits, at)


def says_the_same(event: Event | None, fraction: float, node: str | None) -> bool:
    if event is None:
        return False
    said = _said(event)
    return not said.waits and said.fraction == fraction and (node is None or said.node == node)


def _said(event: Event) -> _Said:
    try:
        return _decode(event.data)
    except msgspec.MsgspecError:
        return _Said()


def _latest_first(event: Event) -> float:
    return -event.at


def _short(text: str | None) -> str | None:
    return text[:NODE_CHARS_MAX] if text else None
