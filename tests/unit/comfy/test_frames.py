"""Frames of a real server, and of a hostile one."""

import base64
import json
import os
import typing
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comfyfleet.comfy import messages as m
from comfyfleet.comfy.frames import UNKNOWN_KEPT_BYTES, parse_frame
from tests.recordings import recorded

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "40"))
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=12,
)
NESTED = {"nodes", "entries", "status", "flags"}  # compared by tests of their own
TYPES = {
    "status": m.Status,
    "execution_start": m.ExecutionStart,
    "execution_cached": m.ExecutionCached,
    "executing": m.Executing,
    "progress": m.ProgressStep,
    "progress_state": m.ProgressState,
    "executed": m.Executed,
    "execution_success": m.ExecutionSuccess,
    "execution_error": m.ExecutionError,
    "execution_interrupted": m.ExecutionInterrupted,
    "feature_flags": m.FeatureFlags,
    "logs": m.Logs,
}


def test_every_recorded_text_message_becomes_its_own_noun() -> None:
    seen: Counter[str] = Counter()
    for file, entry in recorded("ws_text"):
        raw = entry["message"]
        message = parse_frame(json.dumps(raw))
        expected = m.AssetsSeed if raw["type"].startswith("assets.seed.") else TYPES[raw["type"]]
        assert type(message) is expected, (file, raw)
        seen[raw["type"]] += 1
        if "prompt_id" in raw["data"]:
            assert m.prompt_of(message) == raw["data"]["prompt_id"]
    assert set(TYPES) <= set(seen)
    assert sum(seen.values()) > 1800


def test_the_recorded_fields_arrive() -> None:
    compared = 0
    for _, entry in recorded("ws_text"):
        message = parse_frame(json.dumps(entry["message"]))
        raw = entry["message"]["data"]
        for name, value in _fields(message).items():
            if name in raw and name not in NESTED:
                assert value == raw[name], (entry, name)
                compared += 1
    assert compared > 3000


def _fields(message: m.Message) -> dict[str, typing.Any]:
    return {name: _plain(getattr(message, name)) for name in type(message).__dataclass_fields__}


def _plain(value: typing.Any) -> typing.Any:
    return list(value) if isinstance(value, tuple) else value


def test_the_recorded_progress_of_every_node_arrives() -> None:
    for _, entry in recorded("ws_text"):
        message = parse_frame(json.dumps(entry["message"]))
        if isinstance(message, m.ProgressState):
            raw = entry["message"]["data"]["nodes"]
            assert {name: (n.value, n.max, n.state) for name, n in message.nodes.items()} == {
                name: (n["value"], n["max"], n["state"]) for name, n in raw.items()
            }


def test_recorded_statuses_logs_and_flags_arrive() -> None:
    for _, entry in recorded("ws_text"):
        raw = entry["message"]["data"]
        match parse_frame(json.dumps(entry["message"])):
            case m.Status(queue_remaining=remaining):
                assert remaining == raw["status"]["exec_info"]["queue_remaining"]
            case m.Logs(entries=entries):
                assert [(line.t, line.m) for line in entries] == [(line["t"], line["m"]) for line in raw["entries"]]
            case m.FeatureFlags(flags=flags):
                assert flags == raw


def test_every_recorded_binary_frame_becomes_a_preview_or_a_text() -> None:
    kinds = Counter()
    for _, entry in recorded("ws_binary"):
        frame = entry["frame"]
        message = parse_frame(_rebuilt(frame))
        kinds[frame["event_type"]] += 1
        match frame["event_type"]:
            case 1:
                assert isinstance(message, m.PreviewImage)
                assert message.media_type == {1: "image/jpeg", 2: "image/png"}[frame["image_type"]]
                assert message.prompt_id is None
            case 3:
                assert message == m.NodeText(frame["node_id"], frame["text"])
            case 4:
                assert isinstance(message, m.PreviewImage)
                told = frame["metadata"]
                assert (message.node, message.prompt_id) == (told["node_id"], told["prompt_id"])
                assert message.media_type == told["image_type"]
                assert message.image[:2] in (b"\xff\xd8", b"")
    assert set(kinds) == {1, 3, 4}


def _rebuilt(frame: dict[str, typing.Any]) -> bytes:
    """Most recordings keep only a frame's beginning; what is written out beside it is put back."""
    if "frame_b64" in frame:
        return base64.b64decode(frame["frame_b64"])
    if frame["event_type"] == 4:
        described = json.dumps(frame["metadata"]).encode()
        return b"\0\0\0\4" + len(described).to_bytes(4, "big") + described
    if frame["event_type"] == 3:
        node = frame["node_id"].encode()
        return b"\0\0\0\3" + len(node).to_bytes(4, "big") + node + frame["text"].encode()
    return base64.b64decode(frame["frame_start_b64"])


def test_a_message_of_a_custom_node_is_kept_and_no_problem() -> None:
    message = parse_frame('{"type": "crystools.monitor", "data": {"cpu": 3}}')
    assert message == m.Unknown("crystools.monitor", None, b'{"type": "crystools.monitor", "data": {"cpu": 3}}')


def test_a_known_type_of_another_shape_says_what_does_not_fit() -> None:
    message = parse_frame('{"type": "executing", "data": {"node": 5}}')
    assert isinstance(message, m.Unknown)
    assert message.type == "executing"
    assert "node" in (message.problem or "")


def test_numbers_that_only_python_writes_are_read() -> None:
    frame = '{"type": "execution_error", "data": {"prompt_id": "p", "current_inputs": {"cfg": [NaN, -Infinity]}}}'
    assert parse_frame(frame) == m.ExecutionError("p")


@pytest.mark.parametrize(
    "frame",
    ["", "null", "[]", "{", "<html>", '{"type": 3}', b"\xff\xfe", "[" * 100_000, b"\0", b"\0\0\0\4\xff\xff\xff\xff{"],
)
def test_garbage_is_unknown(frame: str | bytes) -> None:
    assert isinstance(parse_frame(frame), m.Unknown)


def test_of_a_huge_unknown_frame_only_the_beginning_is_kept() -> None:
    message = parse_frame(json.dumps({"type": "custom", "data": "x" * 1_000_000}))
    assert isinstance(message, m.Unknown)
    assert len(message.frame) == UNKNOWN_KEPT_BYTES


def test_a_preview_is_not_written_into_logs() -> None:
    assert "image=" not in repr(m.PreviewImage("image/png", b"\x89PNG"))


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.binary(max_size=200) | st.text(max_size=200))
def test_no_frame_breaks_the_parser(frame: bytes | str) -> None:
    assert isinstance(parse_frame(frame), typing.get_args(m.Message))


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.sampled_from([*TYPES, "assets.seed.x", "other"]), ANY_JSON)
def test_no_body_of_a_known_type_breaks_the_parser(kind: str, body: object) -> None:
    assert isinstance(parse_frame(json.dumps({"type": kind, "data": body})), typing.get_args(m.Message))


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.integers(0, 6), st.binary(max_size=60))
def test_no_binary_frame_breaks_the_parser(kind: int, rest: bytes) -> None:
    assert isinstance(parse_frame(kind.to_bytes(4, "big") + rest), typing.get_args(m.Message))
