"""What a history entry proves. ComfyUI's `status` may lie; its messages and outputs are what counts.

Success is: `execution_success` among the messages, no error and no interruption beside it, and something to show for
it: of the chosen output node, and of every core node that always leaves a file.
"""

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Any

from comfyfleet.comfy.failures import DETAILS_CHARS_MAX, MESSAGE_CHARS_MAX, class_of_error, is_interruption
from comfyfleet.comfy.model import (
    Completed,
    Failed,
    FailureClass,
    HistoryEntry,
    Outcome,
    Prompt,
    Returned,
)
from comfyfleet.comfy.node_order import node_order
from comfyfleet.comfy.outputs import list_outputs


class ReturnReason(StrEnum):
    """Why a prompt is given back. Nobody's fault, and it may run again, here or elsewhere."""

    LOST = "lost"  # neither queued nor in the history, twice
    SERVER_RESTARTED = "server_restarted"  # the same, and the socket had dropped
    NEVER_QUEUED = "never_queued"  # the POST had no answer, and the prompt never appeared
    INTERRUPTED = "interrupted"  # by someone else
    UNPROVEN = "unproven"  # it ended, and nothing says how
    UNREACHABLE = "unreachable"  # the server has not answered for long
    SERVER_GONE = "server_gone"  # its port refuses connections: the process does not run


class ServiceReason(StrEnum):
    """What a server did to an attempt, within its failure class. For logs and operators."""

    ERROR = "service_error"
    JOB_NOT_FOUND = "service_job_not_found"


_NOT_FOUND = frozenset({ReturnReason.LOST, ReturnReason.SERVER_RESTARTED, ReturnReason.NEVER_QUEUED})
_OURS = frozenset({FailureClass.TIMEOUT, FailureClass.CANCELLED})

_WORDS = {
    ReturnReason.LOST: "the server does not have the prompt any more.",
    ReturnReason.SERVER_RESTARTED: "the server has restarted and lost the prompt.",
    ReturnReason.NEVER_QUEUED: "the server never took the prompt.",
    ReturnReason.INTERRUPTED: "somebody else has interrupted the prompt.",
    ReturnReason.UNPROVEN: "the prompt has ended, and nothing says how.",
    ReturnReason.UNREACHABLE: "the server has not answered for too long.",
    ReturnReason.SERVER_GONE: "the server does not run any more: its port refuses connections.",
}


def words_of_return(reason: str) -> str:
    """For people. What is no reason of ours is told as it is."""
    return _WORDS.get(ReturnReason(reason), reason) if reason in set(ReturnReason) else reason


def service_reason(outcome: Outcome) -> ServiceReason | None:
    """None: it completed, or the end was not the server's doing."""
    match outcome:
        case Failed(failure=failure) if failure not in _OURS:
            return ServiceReason.ERROR
        case Returned(reason=reason, not_found=not_found) if not_found or reason in _NOT_FOUND:
            return ServiceReason.JOB_NOT_FOUND
        case _:
            return None


def failure_of_return(returned: Returned) -> FailureClass:
    """An interruption gives the attempt back; all else spends it."""
    return FailureClass.INTERRUPTED if returned.reason == ReturnReason.INTERRUPTED else FailureClass.INFRA


# Core nodes that leave a file whenever they run. Of others (websocket savers, custom uploaders) silence is no proof.
ALWAYS_SHOW = frozenset(
    {
        "MaskPreview",
        "PreviewAudio",
        "PreviewImage",
        "SaveAnimatedPNG",
        "SaveAnimatedWEBP",
        "SaveAudio",
        "SaveAudioMP3",
        "SaveAudioOpus",
        "SaveGLB",
        "SaveImage",
        "SaveLatent",
        "SaveVideo",
        "SaveWEBM",
    }
)
# And those that never do. A graph that ends in nothing else may succeed with nothing to show.
NEVER_SHOW = frozenset(["SaveImageWebsocket", "SaveImageDataSetToFolder", "SaveImageTextDataSetToFolder"])
NOT_CONTENT = frozenset({"animated"})  # a flag beside the files


def judge_entry(entry: HistoryEntry, prompt: Prompt) -> Outcome:
    return replace(_judge(entry, prompt), response=entry.as_response())


def _judge(entry: HistoryEntry, prompt: Prompt) -> Completed | Failed | Returned:
    kinds = {message.type for message in entry.messages}
    error = next((message.facts for message in entry.messages if message.type == "execution_error"), None)
    if error is not None and not is_interruption(_text(error.get("exception_type"))):
        return _failed(error, entry, prompt)
    if "execution_interrupted" in kinds or error is not None:
        return Returned(ReturnReason.INTERRUPTED)
    if "execution_success" in kinds:
        return _succeeded(entry, prompt)
    if entry.status == "error":
        return Failed(FailureClass.EXECUTION_ERROR, "ComfyUI says that the prompt failed, and not why.")
    return Returned(ReturnReason.UNPROVEN)


def _succeeded(entry: HistoryEntry, prompt: Prompt) -> Completed | Failed:
    missing = missing_outputs(entry, prompt)
    if not missing:
        return Completed(list_outputs(entry.outputs, first=prompt.output_node), cached_nodes=_cached(entry))
    return Failed(
        FailureClass.EXECUTION_ERROR,
        f"ComfyUI says that the prompt succeeded, and shows nothing for node {', '.join(missing)}.",
        node=missing[0],
        node_class=class_in(prompt, missing[0]),
        outputs=list_outputs(entry.outputs, first=prompt.output_node),
    )


def missing_outputs(entry: HistoryEntry, prompt: Prompt) -> list[str]:
    """Nodes that should have left something and have not."""
    shown = {node for node, ui in entry.outputs.items() if _shows_something(ui)}
    # Those that validation dropped are not among the entry's output nodes: the answer to the POST named them.
    ran = sorted(prompt.graph if entry.output_nodes is None else entry.output_nodes, key=node_order)
    expected = [node for node in ran if class_in(prompt, node) in ALWAYS_SHOW]
    if prompt.output_node is not None and prompt.output_node not in expected:
        expected.insert(0, prompt.output_node)
    if not expected and not shown:
        return [node for node in ran if class_in(prompt, node) not in NEVER_SHOW][-1:]
    return [node for node in expected if node not in shown]


def class_in(prompt: Prompt, node: str | None) -> str | None:
    """A node made at run time has its maker's id before the first dot."""
    if node is None:
        return None
    found = prompt.graph.get(node) or prompt.graph.get(node.partition(".")[0])
    name = _mapping(found).get("class_type")
    return name if isinstance(name, str) else None


def _shows_something(ui: Any) -> bool:
    return any(_holds(value) for key, value in _mapping(ui).items() if key not in NOT_CONTENT)


def _holds(value: Any) -> bool:
    if isinstance(value, Mapping):
        return bool(value.get("filename", True))
    if isinstance(value, list | tuple):
        return any(_holds(each) for each in value)
    return value not in (None, "")


def _failed(error: Mapping[str, Any], entry: HistoryEntry, prompt: Prompt) -> Failed:
    kind, said = _text(error.get("exception_type")), _text(error.get("exception_message"))[:DETAILS_CHARS_MAX].strip()
    node = _text(error.get("node_id")) or None
    node_class = _text(error.get("node_type")) or class_in(prompt, node)
    return Failed(
        class_of_error(kind, said, node_class),
        said[:MESSAGE_CHARS_MAX] or kind or "ComfyUI failed without a word.",
        node=node,
        node_class=node_class,
        exception_type=kind or None,
        details=_traceback(error.get("traceback")),
        outputs=list_outputs(entry.outputs, first=prompt.output_node),
    )


def _traceback(lines: Any) -> str:
    if not isinstance(lines, list | tuple):
        return ""
    return "".join(line for line in lines if isinstance(line, str))[-DETAILS_CHARS_MAX:]  # the end says where


def _cached(entry: HistoryEntry) -> frozenset[str]:
    return frozenset(
        node
        for message in entry.messages
        if message.type == "execution_cached" and isinstance(message.facts.get("nodes"), list | tuple)
        for node in message.facts["nodes"]
        if isinstance(node, str)
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
