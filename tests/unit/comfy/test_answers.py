"""Every recorded body, read into nouns; and bodies that no ComfyUI would send."""

import contextlib
import json
import os
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comfyfleet.comfy import answers
from comfyfleet.comfy.errors import AccessRefused, PromptRefused, UnexpectedAnswer
from comfyfleet.comfy.exchange import Answer
from comfyfleet.comfy.model import HistoryMessage, NodeError
from tests.recordings import exchanges
from tests.unit.comfy.test_frames import ANY_JSON

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "40"))
READERS = [
    answers.read_submitted,
    answers.read_queue,
    answers.read_history,
    answers.read_job,
    answers.read_cancelled,
    answers.read_uploaded,
    answers.read_stats,
]


def answer(body: Any, *, status: int = 200) -> Answer:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Answer("server", "/route", status, raw)


def body_of(entry: dict[str, Any]) -> bytes:
    told = entry["response"]
    return json.dumps(told["json"]).encode() if "json" in told else told.get("text", "").encode()


def test_every_recorded_acceptance_is_read_and_a_partial_one_is_seen() -> None:
    partial = 0
    for entry in exchanges("POST", "/prompt", status=200):
        told = entry["response"]["json"]
        submitted = answers.read_submitted(answer(told))
        assert (submitted.prompt_id, submitted.number) == (told["prompt_id"], told["number"])
        assert submitted.partial == bool(told["node_errors"])
        partial += submitted.partial
    assert partial > 0


def test_every_recorded_refusal_names_what_the_server_named() -> None:
    kinds = set()
    for entry in exchanges("POST", "/prompt", status=400):
        told = entry["response"]["json"]
        refused = answers.read_refusal(answer(told, status=400))
        assert isinstance(refused, PromptRefused)
        assert (refused.type, refused.reason) == (told["error"]["type"], told["error"]["message"])
        for node, faults in (told["node_errors"] or {}).items():
            for fault in faults["errors"]:
                kinds.add(fault["type"])
                info = fault.get("extra_info") or {}
                assert (
                    NodeError(
                        node,
                        faults["class_type"],
                        info.get("input_name"),
                        fault["type"],
                        fault["message"],
                        fault["details"],
                    )
                    in refused.node_errors
                )
    assert {"required_input_missing", "value_not_in_list", "return_type_mismatch", "value_bigger_than_max"} <= kinds


def test_a_refusal_reads_as_a_sentence_with_node_and_input() -> None:
    entry = next(
        entry
        for entry in exchanges("POST", "/prompt", status=400)
        if "value_not_in_list" in json.dumps(entry["response"]["json"])
    )
    refused = answers.read_refusal(answer(entry["response"]["json"], status=400))
    assert isinstance(refused, PromptRefused)
    first = refused.node_errors[0]
    assert f"node {first.node} ({first.class_type}), input {first.input_name!r}" in str(refused)


def test_a_missing_node_class_is_named_though_the_server_leaves_node_errors_empty() -> None:
    told = {
        "error": {
            "type": "missing_node_type",
            "message": "Node 'NoSuchNode' not found.",
            "details": "Node ID '#9'",
            "extra_info": {"node_id": "9", "class_type": "NoSuchNode"},
        },
        "node_errors": {},
    }
    refused = answers.read_refusal(answer(told, status=400))
    assert isinstance(refused, PromptRefused)
    assert [(one.node, one.class_type) for one in refused.node_errors] == [("9", "NoSuchNode")]


def test_other_statuses_of_prompt_are_told_apart() -> None:
    trouble = answers.read_refusal(answer(b"500 Internal Server Error", status=500))
    assert isinstance(trouble, UnexpectedAnswer)
    assert trouble.status == 500
    assert isinstance(answers.read_refusal(answer(b"", status=403)), AccessRefused)
    assert isinstance(answers.read_refusal(answer(b"Maximum request body size", status=413)), PromptRefused)
    assert isinstance(answers.read_refusal(answer(b"<html>", status=400)), UnexpectedAnswer)


def test_every_recorded_queue_is_read_in_the_order_of_running() -> None:
    longest = 0
    for entry in exchanges("GET", "/queue", status=200):
        told = entry["response"]["json"]
        queue = answers.read_queue(answer(told))
        assert list(queue.running) == [one[1] for one in told["queue_running"]]
        assert list(queue.pending) == [
            one[1] for one in sorted(told["queue_pending"], key=lambda one: (one[0], one[1]))
        ]
        longest = max(longest, len(queue.pending))
    assert longest > 1


def test_every_recorded_history_is_read() -> None:
    statuses = set()
    for entry in exchanges("GET", "/history", status=200):
        told = entry["response"].get("json")
        if told is None:
            continue
        for one in answers.read_history(answer(told)):
            raw = told[one.prompt_id]
            statuses.add(one.status)
            assert one.outputs == raw["outputs"]
            assert one.completed == raw["status"]["completed"]
            assert list(one.messages) == [HistoryMessage(kind, facts) for kind, facts in raw["status"]["messages"]]
    assert statuses == {"success", "error"}


def test_every_recorded_job_is_read() -> None:
    words = set()
    for entry in exchanges("GET", "/api/jobs/", status=200):
        told = entry["response"]["json"]
        job = answers.read_job(answer(told))
        words.add(job.status)
        assert (job.prompt_id, job.status) == (told["id"], told["status"])
        assert (job.entry is not None) == ("execution_status" in told)
    assert {"completed", "failed", "cancelled"} <= words


def test_the_recorded_system_is_described() -> None:
    entry = next(exchanges("GET", "/system_stats", status=200))
    told = entry["response"]["json"]
    facts = answers.read_stats(answer(told))
    assert facts.version == "0.33.0"
    assert facts.devices[0].name == told["devices"][0]["name"]
    assert facts.devices[0].vram_total_bytes == told["devices"][0]["vram_total"]
    assert (told["devices"][0]["type"], facts.vram_total_bytes) == ("cpu", 0), "its memory is the machine's"


def test_histories_that_lie_in_shape_are_read_as_far_as_they_go() -> None:
    told = {"a": {"outputs": None, "status": None}, "b": {}, "c": {"status": {"messages": [["x"], [1, {}], "no"][:2]}}}
    read = answers.read_history(answer(told))
    assert [(one.prompt_id, one.status, one.outputs, one.messages) for one in read] == [
        ("a", None, {}, ()),
        ("b", None, {}, ()),
        ("c", None, {}, ()),
    ]


def test_infinity_is_read_where_only_python_writes_it() -> None:
    assert answers.read_stats(answer(b'{"system": {"ram_total": Infinity}}')).ram_total_bytes == 0
    read = answers.read_history(answer(b'{"a": {"outputs": {"1": {"text": [NaN]}}}}'))
    assert list(read[0].outputs) == ["1"]


@pytest.mark.parametrize(
    "body", [b"", b"<!doctype html><p>Log in", b"{", b"[]", b"\xff", b"[" * 100_000, b'"x"', b"12"]
)
@pytest.mark.parametrize("read", READERS)
def test_garbage_with_status_200_is_a_typed_error(read: Any, body: bytes) -> None:
    with pytest.raises(UnexpectedAnswer) as unexpected:
        read(answer(body))
    assert unexpected.value.facts["server"] == "server"
    assert len(str(unexpected.value)) < 500


@settings(max_examples=EXAMPLES, deadline=None)
@given(ANY_JSON, st.sampled_from(READERS), st.sampled_from(["", "system", "queue_running", "a"]))
def test_no_json_breaks_a_reader(body: Any, read: Any, under: str) -> None:
    with contextlib.suppress(UnexpectedAnswer):
        read(answer({under: body, "queue_pending": []} if under else body))


@settings(max_examples=EXAMPLES, deadline=None)
@given(ANY_JSON, ANY_JSON)
def test_no_refusal_breaks_its_reader(error: Any, node_errors: Any) -> None:
    refused = answers.read_refusal(answer({"error": error, "node_errors": node_errors}, status=400))
    assert isinstance(refused, PromptRefused | UnexpectedAnswer)
