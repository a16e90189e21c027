"""Frames become messages at the door. `parse_frame` never raises: what it does not know is `Unknown`, safe to ignore.

A frame is only looked at where we need it: `progress_state` repeats all nodes with every step, 18 MB for one prompt of
300 nodes.
"""

import json
from typing import Any, TypeAlias, get_args

import msgspec

from comfyfleet.comfy.messages import (
    AssetsSeed,
    Executed,
    Executing,
    ExecutionCached,
    ExecutionError,
    ExecutionInterrupted,
    ExecutionStart,
    ExecutionSuccess,
    FeatureFlags,
    Logs,
    Message,
    NodeText,
    PreviewImage,
    ProgressState,
    ProgressStep,
    Status,
    Unknown,
)

IMAGE_MEDIA_TYPES = {1: "image/jpeg", 2: "image/png"}
OCTETS = "application/octet-stream"
UNKNOWN_KEPT_BYTES = 4096  # of a frame we cannot read, to show to a person

# The first frame of a client, or the server does not heed it.
FEATURE_FLAGS_FRAME = '{"type":"feature_flags","data":{"supports_preview_metadata":true}}'


class _Tagged(msgspec.Struct, tag_field="type", gc=False):
    pass


class _ExecInfo(msgspec.Struct):
    queue_remaining: int | None = None


class _StatusBody(msgspec.Struct):
    exec_info: _ExecInfo = msgspec.field(default_factory=_ExecInfo)


class _StatusWire(msgspec.Struct):
    status: _StatusBody = msgspec.field(default_factory=_StatusBody)
    sid: str | None = None


class _StatusFrame(_Tagged, tag="status"):
    data: _StatusWire


class _StartFrame(_Tagged, tag="execution_start"):
    data: ExecutionStart


class _CachedFrame(_Tagged, tag="execution_cached"):
    data: ExecutionCached


class _ExecutingFrame(_Tagged, tag="executing"):
    data: Executing


class _ProgressFrame(_Tagged, tag="progress"):
    data: ProgressStep


class _ProgressStateFrame(_Tagged, tag="progress_state"):
    data: ProgressState


class _ExecutedFrame(_Tagged, tag="executed"):
    data: Executed


class _SuccessFrame(_Tagged, tag="execution_success"):
    data: ExecutionSuccess


class _ErrorFrame(_Tagged, tag="execution_error"):
    data: ExecutionError


class _InterruptedFrame(_Tagged, tag="execution_interrupted"):
    data: ExecutionInterrupted


class _FeatureFlagsFrame(_Tagged, tag="feature_flags"):
    data: dict[str, Any]


class _LogsFrame(_Tagged, tag="logs"):
    data: Logs


_Known: TypeAlias = (
    _StatusFrame
    | _StartFrame
    | _CachedFrame
    | _ExecutingFrame
    | _ProgressFrame
    | _ProgressStateFrame
    | _ExecutedFrame
    | _SuccessFrame
    | _ErrorFrame
    | _InterruptedFrame
    | _FeatureFlagsFrame
    | _LogsFrame
)


class _AnyFrame(msgspec.Struct):
    type: str | None = None
    data: msgspec.Raw = msgspec.Raw(b"null")


class _PreviewFacts(msgspec.Struct):
    image_type: str = OCTETS
    prompt_id: str | None = None
    node_id: str | None = None


_KNOWN_TYPES = frozenset(frame.__struct_config__.tag for frame in get_args(_Known))
_known = msgspec.json.Decoder(_Known)
_any = msgspec.json.Decoder(_AnyFrame)
_preview_facts = msgspec.json.Decoder(_PreviewFacts)


def parse_frame(frame: bytes | str) -> Message:
    """Text and binary alike: binary frames begin with a zero byte, which no JSON does."""
    raw = frame.encode(errors="replace") if isinstance(frame, str) else frame
    if raw[:1] == b"\x00":
        return _parse_binary(raw)
    try:
        return _message_of(_known.decode(raw))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        return _parse_unusual(raw, problem=str(error))


def _message_of(known: _Known) -> Message:
    match known:
        case _StatusFrame(data=wire):
            return Status(wire.status.exec_info.queue_remaining, wire.sid)
        case _FeatureFlagsFrame(data=flags):
            return FeatureFlags(flags)
        case _:
            return known.data


def _parse_unusual(raw: bytes, *, problem: str) -> Message:
    """An unknown type, a known one of another shape, or JSON as only Python writes it (NaN)."""
    kept = raw[:UNKNOWN_KEPT_BYTES]
    try:
        named = _any.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _parse_as_python(raw, problem=problem)
    if named.type is not None and named.type.startswith("assets.seed."):
        return _assets_seed(named, kept)
    return Unknown(named.type, problem if named.type in _KNOWN_TYPES else None, kept)


def _assets_seed(named: _AnyFrame, kept: bytes) -> Message:
    try:
        facts = msgspec.json.decode(named.data, type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError) as error:
        return Unknown(named.type, str(error), kept)
    return AssetsSeed((named.type or "").removeprefix("assets.seed."), facts)


def _parse_as_python(raw: bytes, *, problem: str) -> Message:
    try:
        loose = json.loads(raw)
        return _message_of(msgspec.convert(loose, _Known))
    except (ValueError, RecursionError):
        return Unknown(None, problem, raw[:UNKNOWN_KEPT_BYTES])


def _parse_binary(raw: bytes) -> Message:
    match int.from_bytes(raw[:4], "big"):
        case 1 if len(raw) >= 8:
            kind = int.from_bytes(raw[4:8], "big")
            return PreviewImage(IMAGE_MEDIA_TYPES.get(kind, OCTETS), raw[8:])
        case 3 if len(raw) >= 8:
            node, rest = _split(raw)
            return NodeText(node.decode(errors="replace"), rest.decode(errors="replace"))
        case 4 if len(raw) >= 8:
            return _parse_described_preview(raw)
        case kind:
            return Unknown(f"binary {kind}", None, raw[:UNKNOWN_KEPT_BYTES])


def _parse_described_preview(raw: bytes) -> Message:
    described, image = _split(raw)
    try:
        facts = _preview_facts.decode(described)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        return Unknown("binary 4", str(error), raw[:UNKNOWN_KEPT_BYTES])
    return PreviewImage(facts.image_type, image, facts.prompt_id, facts.node_id)


def _split(raw: bytes) -> tuple[bytes, bytes]:
    """A length, that many bytes, and the rest. A length beyond the frame leaves no rest."""
    end = 8 + int.from_bytes(raw[4:8], "big")
    return raw[8:end], raw[end:]
