"""How much of a server's response is kept."""

from uuid import uuid4

import msgspec
import pytest

from comfyfleet.comfy.model import FailureClass
from comfyfleet.wire import worker_v1 as wire
from comfyfleet.worker.deliver import end_with
from comfyfleet.worker.failures import FailWith, GiveBack
from comfyfleet.worker.response import RESPONSE_BYTES_MAX, cut_response

SMALL = {"status": {"status_str": "success", "messages": [["execution_start", {"t": 1}]]}, "outputs": {"9": {"a": [1]}}}
MANY = [["execution_error", {"traceback": ["x" * 3_000] * 90}]]


def test_what_fits_is_kept_as_it_is() -> None:
    assert cut_response(SMALL) == SMALL


def test_long_texts_and_lists_say_what_is_left_out() -> None:
    cut = cut_response({"a": "x" * 5_000, "b": list(range(150)), "c": "a\x00b\ud800"})
    assert cut["a"].endswith("… (1000 characters left out)")
    assert cut["b"][-1] == "50 more left out"
    assert cut["c"] == "ab?"


def test_outputs_go_before_the_messages() -> None:
    cut = cut_response({**SMALL, "outputs": {str(n): "x" * 3_000 for n in range(20)}})
    assert (cut["outputs"], cut["status"]) == ("left out", SMALL["status"])


@pytest.mark.parametrize("response", [{"status": {"messages": MANY}}, {str(n): "é" * 4_000 for n in range(100)}])
def test_no_response_is_larger_than_the_limit(response: dict[str, object]) -> None:
    assert len(msgspec.json.encode(cut_response(response))) <= RESPONSE_BYTES_MAX


def test_a_graph_without_end_is_cut() -> None:
    deep: dict[str, object] = {}
    for _ in range(3_000):
        deep = {"a": deep}
    assert len(msgspec.json.encode(cut_response(deep))) < 200


def test_what_a_server_says_never_keeps_an_ending_from_being_told() -> None:
    """The control plane takes no NUL, and half a character cannot be encoded."""
    proof = wire.LeaseProof(dispatch_id=uuid4(), lease_token="t")
    failed = end_with(FailWith(FailureClass.EXECUTION_ERROR, "a\x00b\ud800"), proof, "w", None)
    assert isinstance(failed, wire.Fail)
    assert failed.error == "ab?"
    given_back = end_with(GiveBack("c\x00"), proof, "w", None)
    assert b"\\u0000" not in msgspec.json.encode(given_back)
