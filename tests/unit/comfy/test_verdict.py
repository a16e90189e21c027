"""The shapes of history that lie, and the words in which ComfyUI fails."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from comfyfleet.comfy.errors import PromptRefused
from comfyfleet.comfy.failures import class_of_error, failure_of_refusal
from comfyfleet.comfy.model import (
    Completed,
    Failed,
    FailureClass,
    HistoryEntry,
    HistoryMessage,
    NodeError,
    Prompt,
    Returned,
)
from comfyfleet.comfy.verdict import ReturnReason, failure_of_return, judge_entry

RECORDINGS = Path(__file__).parents[2] / "recordings" / "v0.33.0"
GRAPH = {
    "1": {"class_type": "EmptyImage", "inputs": {}},
    "3": {"class_type": "SaveImage", "inputs": {"images": ["1", 0]}},
}
PICTURE = {"images": [{"filename": "a.png", "subfolder": "", "type": "output"}]}
START, SUCCESS, ERROR, INTERRUPTED = (
    ("execution_start", {}),
    ("execution_success", {}),
    ("execution_error", {"node_id": "1", "node_type": "EmptyImage", "exception_type": "ValueError"}),
    ("execution_interrupted", {"node_id": "1"}),
)
WRAPPED = ("execution_error", {"exception_type": "comfy.model_management.InterruptProcessingException"})


def entry(status: str | None, *messages: Any, outputs: Any = None, **more: Any) -> HistoryEntry:
    said = tuple(HistoryMessage(kind, facts) for kind, facts in messages)
    return HistoryEntry("p", status, status == "success", said, {"3": PICTURE} if outputs is None else outputs, **more)


SHAPES = {
    "plain success": (entry("success", START, SUCCESS), "completed"),
    "success of a cached run names old files": (
        entry("success", START, ("execution_cached", {"nodes": ["1", "3"]}), SUCCESS),
        "completed",
    ),
    "success without any output": (entry("success", START, SUCCESS, outputs={}), "execution_error"),
    "success with an empty list": (entry("success", SUCCESS, outputs={"3": {"images": []}}), "execution_error"),
    "success with a nameless file": (
        entry("success", SUCCESS, outputs={"3": {"images": [{"filename": ""}]}}),
        "execution_error",
    ),
    "success with nothing but a flag": (
        entry("success", SUCCESS, outputs={"3": {"animated": [True]}}),
        "execution_error",
    ),
    "success of another node only": (entry("success", SUCCESS, outputs={"1": PICTURE}), "execution_error"),
    "success beside an error message": (entry("success", START, ERROR), "execution_error"),
    "success and an error message": (entry("success", START, SUCCESS, ERROR), "execution_error"),
    "success and an interruption": (entry("success", START, SUCCESS, INTERRUPTED), "interrupted"),
    "success that no message tells": (entry("success", START), "unproven"),
    "success without messages": (entry("success"), "unproven"),
    "no status at all": (entry(None), "unproven"),
    "no status, but the message": (entry(None, SUCCESS), "completed"),
    "error status beside the success message": (entry("error", SUCCESS), "completed"),
    "error without a reason": (entry("error", START, outputs={}), "execution_error"),
    "error with finished outputs": (entry("error", START, ERROR), "execution_error"),
    "an interruption is an error by status": (entry("error", START, INTERRUPTED, outputs={}), "interrupted"),
    "an interruption that came through as an error": (entry("error", START, WRAPPED, outputs={}), "interrupted"),
    "an output that validation dropped": (
        entry("success", SUCCESS, outputs={"1": PICTURE}, output_nodes=("1",)),
        "completed",
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_messages_and_outputs_count_and_not_the_status(shape: str) -> None:
    history, expected = SHAPES[shape]
    match judge_entry(history, Prompt(GRAPH, "p")):
        case Completed(outputs=outputs):
            assert outputs
            verdict = "completed"
        case Failed(failure=failure):
            verdict = failure.value
        case Returned(reason=reason):
            verdict = reason
    assert verdict == expected


def test_the_chosen_node_must_show_something() -> None:
    history = entry("success", SUCCESS)
    assert isinstance(judge_entry(history, Prompt(GRAPH, "p", output_node="3")), Completed)
    missed = judge_entry(history, Prompt(GRAPH, "p", output_node="1"))
    assert isinstance(missed, Failed)
    assert missed.node == "1"


def test_a_graph_that_only_sends_over_the_socket_may_leave_nothing() -> None:
    graph = {"9": {"class_type": "SaveImageWebsocket", "inputs": {}}}
    history = entry("success", SUCCESS, outputs={}, output_nodes=("9",))
    assert judge_entry(history, Prompt(graph, "p")) == Completed(())


def test_what_was_finished_before_an_error_is_kept_with_it() -> None:
    failed = judge_entry(entry("error", ERROR), Prompt(GRAPH, "p"))
    assert isinstance(failed, Failed)
    assert [file.filename for file in failed.outputs] == ["a.png"]


def test_a_failure_is_bounded_however_long_its_words() -> None:
    facts = {"exception_type": "E", "exception_message": "x" * 10**6, "traceback": ["y" * 10**6, "the end"]}
    failed = judge_entry(entry("error", ("execution_error", facts)), Prompt(GRAPH, "p"))
    assert isinstance(failed, Failed)
    assert len(failed.message) <= 2000
    assert len(failed.details) <= 16_000
    assert failed.details.endswith("the end")


@pytest.mark.parametrize("facts", [{}, {"exception_type": 7, "exception_message": None, "traceback": 3, "node_id": 4}])
def test_an_error_of_any_shape_is_a_failure(facts: dict[str, Any]) -> None:
    failed = judge_entry(entry("error", ("execution_error", facts)), Prompt(GRAPH, "p"))
    assert isinstance(failed, Failed)
    assert failed.message


def test_giving_back_costs_an_attempt_unless_somebody_interrupted() -> None:
    classes = {reason: failure_of_return(Returned(reason)) for reason in ReturnReason}
    assert classes.pop(ReturnReason.INTERRUPTED) is FailureClass.INTERRUPTED
    assert set(classes.values()) == {FailureClass.INFRA}


def _history_of(name: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    for line in (RECORDINGS / name).read_text().splitlines():
        record = json.loads(line)
        if record["kind"] == "http" and record["request"]["path"].startswith("/history/"):
            for told in (record["response"].get("json") or {}).values():
                yield told["prompt"][2], told


def _judge_recorded(graph: dict[str, Any], told: dict[str, Any]) -> Any:
    said = tuple(HistoryMessage(kind, facts) for kind, facts in told["status"]["messages"])
    status = told["status"]
    history = HistoryEntry(
        "p", status["status_str"], status["completed"], said, told["outputs"], output_nodes=tuple(told["prompt"][4])
    )
    return judge_entry(history, Prompt(graph, "p"))


def test_every_recorded_history_is_judged_as_it_was() -> None:
    judged = 0
    for path in sorted(RECORDINGS.glob("*.jsonl")):
        for graph, told in _history_of(path.name):
            outcome = _judge_recorded(graph, told)
            last = told["status"]["messages"][-1][0]
            kind = {"execution_success": Completed, "execution_error": Failed, "execution_interrupted": Returned}[last]
            assert isinstance(outcome, kind), (path.name, told["outputs"], outcome)
            judged += 1
    assert judged > 60


def test_the_recorded_errors_have_their_classes() -> None:
    failed = [_judge_recorded(*history) for history in _history_of("d1_execution_errors.jsonl")]
    classes = [outcome.failure for outcome in failed if isinstance(outcome, Failed)]
    assert classes == [FailureClass.USER_INPUT] * 4 + [FailureClass.OUT_OF_MEMORY]


WORDS = [
    ("torch.OutOfMemoryError", "Allocation on device 0 would exceed allowed memory. TIPS: …", "out_of_memory"),
    ("torch.cuda.OutOfMemoryError", "CUDA out of memory. Tried to allocate 2.00 GiB", "out_of_memory"),
    ("RuntimeError", "CUDA error: out of memory\nCUDA kernel errors might be …", "out_of_memory"),
    ("RuntimeError", "[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried", "out_of_memory"),
    ("RuntimeError", "[enforce fail] DefaultCPUAllocator: not enough memory: you tried", "out_of_memory"),
    ("RuntimeError", "MPS backend out of memory (MPS allocated: 17 GB)", "out_of_memory"),
    ("RuntimeError", "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate`", "out_of_memory"),
    ("numpy.exceptions._ArrayMemoryError", "Unable to allocate 96.0 GiB for an array", "out_of_memory"),
    ("MemoryError", "", "out_of_memory"),
    ("RuntimeError", "CUDA error: an illegal memory access was encountered", "server_fault"),
    ("RuntimeError", "CUDA error: device-side assert triggered", "server_fault"),
    ("torch.AcceleratorError", "unspecified", "server_fault"),
    ("RuntimeError", "cuDNN error: CUDNN_STATUS_EXECUTION_FAILED", "server_fault"),
    ("RuntimeError", "Found no NVIDIA driver on your system.", "server_fault"),
    ("RuntimeError", "HIP error: invalid device function", "server_fault"),
    ("OSError", "[Errno 28] No space left on device: '/ComfyUI/output/a.png'", "server_fault"),
    ("OSError", "[Errno 24] Too many open files", "server_fault"),
    ("OSError", "[Errno 30] Read-only file system: '/ComfyUI/output'", "server_fault"),
    ("PIL.UnidentifiedImageError", "cannot identify image file '/ComfyUI/input/a.png'", "user_input"),
    ("OSError", "image file is truncated (3 bytes not processed)", "user_input"),
    ("PIL.Image.DecompressionBombError", "Image size exceeds limit", "user_input"),
    ("av.error.InvalidDataError", "[Errno 1094995529] Invalid data found when processing input", "user_input"),
    ("FileNotFoundError", "[Errno 2] No such file or directory: '/ComfyUI/input/a.png'", "infra"),
    ("ValueError", "some node is unhappy", "execution_error"),
    ("RuntimeError", "mat1 and mat2 shapes cannot be multiplied", "execution_error"),
    ("safetensors_rust.SafetensorError", "Error while deserializing header", "execution_error"),
    ("", "", "execution_error"),
]


@pytest.mark.parametrize(("kind", "message", "expected"), WORDS)
def test_the_class_of_a_failure_is_in_its_words(kind: str, message: str, expected: str) -> None:
    assert class_of_error(kind, message, "LoadImage") == expected


def test_a_weight_that_is_not_there_is_no_lost_upload() -> None:
    assert class_of_error("FileNotFoundError", "model x not found", "UNETLoader") == FailureClass.EXECUTION_ERROR


def node_error(kind: str, class_type: str = "KSampler") -> NodeError:
    return NodeError("4", class_type, "x", kind, "message", "details")


REFUSALS = [
    ((node_error("value_not_in_list", "CheckpointLoaderSimple"),), "workflow_invalid"),
    ((node_error("required_input_missing"),), "workflow_invalid"),
    ((node_error("dependency_cycle"),), "workflow_invalid"),
    ((), "workflow_invalid"),
    ((node_error("value_bigger_than_max"),), "user_input"),
    ((node_error("invalid_input_type"), node_error("value_smaller_than_min")), "user_input"),
    ((node_error("value_bigger_than_max"), node_error("return_type_mismatch")), "workflow_invalid"),
    ((node_error("custom_validation_failed", "LoadImage"),), "user_input"),
    ((node_error("custom_validation_failed", "SomeNode"),), "workflow_invalid"),
]


@pytest.mark.parametrize(("errors", "expected"), REFUSALS)
def test_what_validation_refuses_is_the_users_or_the_workflows(errors: tuple[NodeError, ...], expected: str) -> None:
    kind = "prompt_outputs_failed_validation"
    refused = PromptRefused("10.0.0.7:8188", type=kind, message="no", node_errors=errors)
    failed = failure_of_refusal(refused)
    assert failed.failure == expected
    assert failed.message.startswith("The server refused the prompt: ")  # its address is nothing for users
    assert failed.node == ("4" if errors else None)
