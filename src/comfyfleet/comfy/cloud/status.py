"""What the words of Comfy Cloud mean. Pure.

Five words end a job, two of them with a second spelling; every other word, also one we have never seen, means that
the job goes on. The deadline above it ends what a wrong guess would keep alive.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from comfyfleet.comfy.failures import class_of_error
from comfyfleet.comfy.model import Failed, FailureClass, OutputFile


class JobState(StrEnum):
    WAITING = "waiting"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    LOST = "lost"
    CANCELLED = "cancelled"

    @property
    def in_flight(self) -> bool:
        return self in (JobState.WAITING, JobState.RUNNING)


TERMINAL_WORDS: Mapping[str, JobState] = {
    "completed": JobState.COMPLETED,
    "success": JobState.COMPLETED,
    "error": JobState.FAILED,
    "failed": JobState.FAILED,
    "non_retryable_error": JobState.FAILED,
    "lost": JobState.LOST,
    "cancelled": JobState.CANCELLED,
}
WAITING_WORDS = frozenset({"waiting_to_dispatch", "pending", "allocated", "queued"})


def state_of(word: str) -> JobState:
    known = word.strip().lower()
    if known in TERMINAL_WORDS:
        return TERMINAL_WORDS[known]
    return JobState.WAITING if known in WAITING_WORDS else JobState.RUNNING


@dataclass(frozen=True, slots=True)
class JobError:
    """Why a job failed, as far as the cloud says."""

    exception_type: str | None = None
    message: str = ""
    node: str | None = None
    node_class: str | None = None
    details: str = ""


def job_error(told: object) -> JobError:
    """From `execution_error` (an object), or from `error_message` (a text that is often that object as JSON)."""
    if isinstance(told, str):
        unpacked = _unpacked(told)
        return JobError(message=told.strip()) if unpacked is None else job_error(unpacked)
    if not isinstance(told, Mapping):
        return JobError()
    return JobError(
        exception_type=_text(told.get("exception_type")) or None,
        message=(_text(told.get("exception_message")) or _text(told.get("error_message"))).strip(),
        node=_text(told.get("node_id")) or None,
        node_class=_text(told.get("node_type")) or None,
        details=_lines(told.get("traceback")),
    )


def better_of(first: JobError, second: JobError) -> JobError:
    """The one that names its exception; else the one that says anything."""
    if first.exception_type is None and second.exception_type is not None:
        return second
    return first if first.message or not second.message else second


def failed_by(error: JobError, *, outputs: tuple[OutputFile, ...] = ()) -> Failed:
    failure, advice = _classified(error)
    said = error.message or error.exception_type or "The job failed, and Comfy Cloud does not say why."
    return Failed(
        failure=failure,
        message=f"{advice} ({said})" if advice else said,
        node=error.node,
        node_class=error.node_class,
        exception_type=error.exception_type,
        details=error.details,
        outputs=outputs,
    )


NO_CREDITS = "Comfy Cloud has no credits left for this key. Add credits or change the plan, then run it again."
NO_SUBSCRIPTION = "The Comfy Cloud subscription of this key is not active. Renew it, then run it again."
# The account is at fault and not the workflow: nothing else will run there either, so the class that blocks the whole
# server is the right one.
BY_ACCOUNT: Mapping[str, str] = {
    "InsufficientFundsError": NO_CREDITS,
    "InactiveSubscriptionError": NO_SUBSCRIPTION,
}
# A fetched file that is not there or not a picture stays so; a network that failed may not.
OF_THE_FILE = (
    "not found",
    "404",
    "403",
    "forbidden",
    "invalid",
    "unsupported",
    "corrupt",
    "cannot identify",
    "too large",
)


def _classified(error: JobError) -> tuple[FailureClass, str | None]:
    name = (error.exception_type or "").rpartition(".")[2]
    if name in BY_ACCOUNT:
        return FailureClass.SERVER_FAULT, BY_ACCOUNT[name]
    if name == "OOMError":
        return FailureClass.OUT_OF_MEMORY, None
    if name == "ValidationError":
        return FailureClass.WORKFLOW_INVALID, None
    if name == "ImageDownloadError":
        return (FailureClass.USER_INPUT if _is_of_the_file(error.message) else FailureClass.INFRA), None
    if name == "ModelDownloadError":
        return (FailureClass.WORKFLOW_INVALID if _is_of_the_file(error.message) else FailureClass.INFRA), None
    # Below the cloud's own errors are ComfyUI's.
    return class_of_error(name, error.message, error.node_class), None


def _is_of_the_file(message: str) -> bool:
    said = message.lower()
    return any(sign in said for sign in OF_THE_FILE)


def _unpacked(text: str) -> Mapping[str, Any] | None:
    if not text.lstrip().startswith("{"):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def _lines(value: object) -> str:
    return "".join(_text(line) for line in value) if isinstance(value, list) else _text(value)
