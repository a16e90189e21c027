"""The JSON bodies of a ComfyUI, read into nouns. Only what we need is looked at; the graphs in them are skipped."""

import math
from dataclasses import replace
from typing import Any

import msgspec

from comfyfleet.comfy.errors import AccessRefused, PromptRefused, UnexpectedAnswer
from comfyfleet.comfy.exchange import Answer
from comfyfleet.comfy.model import (
    Device,
    HistoryEntry,
    HistoryMessage,
    JobState,
    NodeError,
    QueueState,
    ServerFacts,
    Submitted,
    UploadedFile,
)


class _Fault(msgspec.Struct):
    type: str = "unknown"
    message: str = ""
    details: Any = ""
    extra_info: Any = None


class _NodeFaults(msgspec.Struct):
    errors: list[_Fault] = []
    class_type: str = ""


class _Refusal(msgspec.Struct):
    error: _Fault | str
    node_errors: dict[str, _NodeFaults] | list[Any] = {}


class _Accepted(msgspec.Struct):
    prompt_id: str
    number: float = 0
    node_errors: dict[str, _NodeFaults] | list[Any] = {}


def read_submitted(answer: Answer) -> Submitted:
    wire = answer.decode(_Accepted)
    return Submitted(wire.prompt_id, wire.number, _node_errors(wire.node_errors))


def read_refusal(answer: Answer) -> PromptRefused | UnexpectedAnswer | AccessRefused:
    """The error to raise for any answer to POST /prompt that is not 200."""
    if answer.status == 413:
        return PromptRefused(answer.server, type="prompt_too_large", message="The prompt is larger than it takes")
    if answer.status != 400:
        return answer.unexpected()
    try:
        wire = answer.decode(_Refusal)
    except (UnexpectedAnswer, AccessRefused) as error:
        return error
    fault = wire.error if isinstance(wire.error, _Fault) else _Fault(message=wire.error)
    return PromptRefused(
        answer.server,
        type=fault.type,
        message=fault.message,
        details=str(fault.details),
        node_errors=_node_errors(wire.node_errors) or _node_of(fault),
    )


def _node_errors(wire: dict[str, _NodeFaults] | list[Any]) -> tuple[NodeError, ...]:
    if isinstance(wire, list):  # ComfyUI's way to say none
        return ()
    return tuple(
        NodeError(node, faults.class_type, _fact(fault, "input_name"), fault.type, fault.message, str(fault.details))
        for node, faults in wire.items()
        for fault in faults.errors
    )


def _node_of(fault: _Fault) -> tuple[NodeError, ...]:
    """A missing node class is told without `node_errors`."""
    node = _fact(fault, "node_id")
    if node is None:
        return ()
    return (NodeError(node, _fact(fault, "class_type") or "", None, fault.type, fault.message, str(fault.details)),)


def _fact(fault: _Fault, name: str) -> str | None:
    value = fault.extra_info.get(name) if isinstance(fault.extra_info, dict) else None
    return None if value is None else str(value)


class _Queue(msgspec.Struct):
    queue_running: list[list[msgspec.Raw]]
    queue_pending: list[list[msgspec.Raw]]


def read_queue(answer: Answer) -> QueueState:
    wire = answer.decode(_Queue)
    try:
        running, pending = (
            [(_number(entry[0]), _text(entry[1])) for entry in entries]
            for entries in (wire.queue_running, wire.queue_pending)
        )
    except (msgspec.MsgspecError, IndexError, UnicodeDecodeError) as error:
        raise answer.unexpected(f"a queue entry is not as we know them ({error})") from None
    # The server hands out its heap, whose order is not the order of running.
    return QueueState(tuple(name for _, name in running), tuple(name for _, name in sorted(pending)))


def _number(raw: msgspec.Raw) -> float:
    return msgspec.json.decode(raw, type=float)


def _text(raw: msgspec.Raw) -> str:
    return msgspec.json.decode(raw, type=str)


class _HistoryStatus(msgspec.Struct):
    status_str: str | None = None
    completed: bool | None = None
    messages: list[list[Any]] = []


class _History(msgspec.Struct):
    prompt: list[msgspec.Raw] = []
    outputs: dict[str, Any] | None = None
    status: _HistoryStatus | None = None
    meta: dict[str, Any] | None = None


def read_history(answer: Answer) -> tuple[HistoryEntry, ...]:
    wire = answer.decode(dict[str, _History])
    return tuple(
        replace(_entry(prompt_id, one.status, outputs=one.outputs, meta=one.meta), output_nodes=_output_nodes(one))
        for prompt_id, one in wire.items()
    )


def _output_nodes(one: _History) -> tuple[str, ...] | None:
    """The fifth part of what was submitted; the graph, which may be large, is left unread."""
    try:
        return tuple(msgspec.json.decode(one.prompt[4], type=list[str]))
    except (IndexError, msgspec.MsgspecError):
        return None


def _entry(
    prompt_id: str, status: _HistoryStatus | None, *, outputs: dict[str, Any] | None, meta: dict[str, Any] | None
) -> HistoryEntry:
    told = status or _HistoryStatus()
    return HistoryEntry(
        prompt_id=prompt_id,
        status=told.status_str,
        completed=told.completed,
        messages=tuple(
            HistoryMessage(said[0], said[1])
            for said in told.messages
            if len(said) == 2 and isinstance(said[0], str) and isinstance(said[1], dict)
        ),
        outputs={node: ui if isinstance(ui, dict) else {"value": ui} for node, ui in (outputs or {}).items()},
        meta=meta or {},
    )


class _Job(msgspec.Struct):
    id: str
    status: str
    outputs: dict[str, Any] | None = None
    execution_status: _HistoryStatus | None = None


def read_job(answer: Answer) -> JobState:
    wire = answer.decode(_Job)
    ended = wire.execution_status is not None
    entry = _entry(wire.id, wire.execution_status, outputs=wire.outputs, meta=None) if ended else None
    return JobState(wire.id, wire.status, entry)


class _Cancelled(msgspec.Struct):
    cancelled: bool


def read_cancelled(answer: Answer) -> bool:
    return answer.decode(_Cancelled).cancelled


class _Uploaded(msgspec.Struct):
    name: str
    subfolder: str = ""
    type: str = "input"


def read_uploaded(answer: Answer) -> UploadedFile:
    wire = answer.decode(_Uploaded)
    return UploadedFile(wire.name, wire.subfolder, wire.type)


class _System(msgspec.Struct):
    os: str | None = None
    comfyui_version: str | None = None
    python_version: str | None = None
    pytorch_version: str | None = None
    ram_total: float = 0
    ram_free: float = 0
    argv: list[str] = []


class _Device(msgspec.Struct):
    name: str = "?"
    type: str = "?"
    vram_total: float = 0
    vram_free: float = 0


class _Stats(msgspec.Struct):
    system: _System
    devices: list[_Device] = []


def read_stats(answer: Answer) -> ServerFacts:
    wire = answer.decode(_Stats)
    system = wire.system
    return ServerFacts(
        version=system.comfyui_version,
        devices=tuple(
            Device(one.name, one.type, _whole(one.vram_total), _whole(one.vram_free)) for one in wire.devices
        ),
        ram_total_bytes=_whole(system.ram_total),
        ram_free_bytes=_whole(system.ram_free),
        python_version=system.python_version,
        pytorch_version=system.pytorch_version,
        os=system.os,
        argv=tuple(system.argv),
    )


def _whole(number: float) -> int:
    return int(number) if math.isfinite(number) else 0
