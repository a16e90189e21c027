"""Asking Comfy Cloud about one job: its state, why it failed, what it left, and which one is ours."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import msgspec

from comfyfleet.comfy.cloud.client import CloudClient
from comfyfleet.comfy.cloud.status import JobError, JobState, better_of, job_error, state_of
from comfyfleet.comfy.errors import UnexpectedAnswer
from comfyfleet.comfy.model import HistoryEntry, HistoryMessage
from comfyfleet.kernel.errors import Unavailable

LISTED_MAX = 100


@dataclass(frozen=True, slots=True)
class JobStatus:
    state: JobState
    error: JobError


class _Status(msgspec.Struct):
    status: str
    error_message: Any = None


class _Listed(msgspec.Struct):
    id: str
    workflow_id: str | None = None


class _Jobs(msgspec.Struct):
    jobs: list[_Listed]


class _EntryStatus(msgspec.Struct):
    status_str: str | None = None
    completed: bool | None = None
    messages: list[Any] | None = None


class _Entry(msgspec.Struct):
    outputs: dict[str, Any] | None = None
    status: _EntryStatus | None = None
    meta: dict[str, Any] | None = None


class _Detail(msgspec.Struct):
    outputs: dict[str, Any] | None = None
    execution_error: Any = None


def job_route(job_id: str) -> str:
    return f"/api/jobs/{quote(job_id, safe='')}"


async def read_status(client: CloudClient, job_id: str) -> JobStatus | None:
    """None: the cloud knows no such job."""
    answer = await client.ask("GET", f"/api/job/{quote(job_id, safe='')}/status", accept=(404,))
    if answer.status == 404:
        return None
    wire = answer.decode(_Status)
    return JobStatus(state_of(wire.status), job_error(wire.error_message))


async def read_entry(client: CloudClient, job_id: str) -> HistoryEntry | None:
    answer = await client.ask("GET", f"/api/history_v2/{quote(job_id, safe='')}", accept=(404,))
    wire = None if answer.status == 404 else answer.decode(dict[str, _Entry]).get(job_id)
    if wire is None:
        return None
    status = wire.status or _EntryStatus()
    return HistoryEntry(
        prompt_id=job_id,
        status=status.status_str,
        completed=status.completed,
        messages=tuple(_messages(status.messages or [])),
        outputs=_by_node(wire.outputs),
        meta=wire.meta or {},
    )


def _messages(told: list[Any]) -> Iterator[HistoryMessage]:
    for said in told:
        if isinstance(said, list) and len(said) == 2 and isinstance(said[0], str) and isinstance(said[1], dict):
            yield HistoryMessage(said[0], said[1])


def _by_node(outputs: dict[str, Any] | None) -> dict[str, Mapping[str, Any]]:
    return {node: ui for node, ui in (outputs or {}).items() if isinstance(ui, dict)}


async def read_outputs(client: CloudClient, job_id: str) -> Mapping[str, Mapping[str, Any]]:
    """What the output nodes left, as ComfyUI's history has it. Empty when it is not written yet."""
    with suppress(UnexpectedAnswer):
        entry = await read_entry(client, job_id)
        if entry is not None and entry.outputs:
            return entry.outputs
    # The older route is to be taken away some day: the newer one knows the same.
    return _by_node((await _detail(client, job_id)).outputs)


async def read_error(client: CloudClient, job_id: str, *, known: JobError) -> JobError:
    """With the exception's name, where the cloud keeps it. That the job failed is known: not to learn why is fine."""
    if known.exception_type is not None:
        return known
    try:
        known = better_of(job_error((await _detail(client, job_id)).execution_error), known)
        if known.exception_type is None:
            known = better_of(_error_in(await read_entry(client, job_id)), known)
    except Unavailable:
        pass
    return known


async def find_by_mark(client: CloudClient, mark: str) -> str | None:
    """The job that carries our own id as the id of its workflow."""
    params = {"workflow_id": mark, "limit": str(LISTED_MAX)}
    wire = (await client.ask("GET", "/api/jobs", params=params)).decode(_Jobs)
    # Compared here too: a server that ignores the filter lists other people's work.
    return next((job.id for job in wire.jobs if job.workflow_id == mark), None)


async def read_position(client: CloudClient, job_id: str) -> int:
    """How many of this account's jobs wait before it; the cloud orders accounts by rules of its own."""
    params = {"status": "pending", "sort_by": "create_time", "sort_order": "asc", "limit": str(LISTED_MAX)}
    try:
        wire = (await client.ask("GET", "/api/jobs", params=params)).decode(_Jobs)
    except Unavailable:
        return 0
    return next((place for place, job in enumerate(wire.jobs) if job.id == job_id), 0)


async def _detail(client: CloudClient, job_id: str) -> _Detail:
    answer = await client.ask("GET", job_route(job_id), accept=(404,))
    return _Detail() if answer.status == 404 else answer.decode(_Detail)


def _error_in(entry: HistoryEntry | None) -> JobError:
    messages = () if entry is None else entry.messages
    return next((job_error(said.facts) for said in messages if said.type == "execution_error"), JobError())
