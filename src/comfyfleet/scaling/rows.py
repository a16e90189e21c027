"""Inputs, settings, state and decisions as JSON, for the rows that keep them. What is read is what was written."""

from typing import TypeVar

import msgspec

from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.scaling.model import ScalingDecision, ScalingInputs, ScalingSettings, ScalingState

Kept = TypeVar("Kept", ScalingDecision, ScalingInputs, ScalingSettings, ScalingState)


def to_json(value: ScalingDecision | ScalingInputs | ScalingSettings | ScalingState) -> str:
    return msgspec.json.encode(value, order="deterministic").decode()


def from_json(text: str | bytes, kind: type[Kept]) -> Kept:
    """Refuses unknown types and missing fields; fields that a newer version added are ignored."""
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.DecodeError as problem:
        raise InvalidInput(kind.__name__, str(problem)) from None
