"""What can go wrong for a caller of the API.

What the server says no with is raised as the error that it was there: `InsufficientTokens`, `InvalidInput` and the
rest of `comfyfleet.kernel.errors`, told apart by the stable code, with their facts as attributes. Here is what only
the caller's side can say.
"""

import inspect
import re
from functools import cache
from typing import Any, TypeVar

import msgspec

from comfyfleet.kernel import errors as kernel
from comfyfleet.kernel.errors import (
    Conflict,
    FleetError,
    Forbidden,
    InvalidInput,
    LimitReached,
    NotFound,
    Refused,
    Unauthenticated,
    Unavailable,
)

FAMILIES: dict[int, type[FleetError]] = {
    400: Refused,
    401: Unauthenticated,
    403: Forbidden,
    404: NotFound,
    408: Unavailable,
    409: Conflict,
    413: Refused,
    422: Refused,
    429: LimitReached,
}
CODE = re.compile(r"[a-z0-9_]{1,64}")
T = TypeVar("T")


class KeyMissing(Unauthenticated):
    """There is no key to ask the API with."""

    code = "api_key_missing"
    text = "Set COMFYFLEET_API_KEY to a key (comfyfleet keys create EMAIL), or pass key=…"


class ApiUnreachable(Unavailable):
    """The API, or the store that it named, did not answer, however often it was asked."""

    code = "api_unreachable"
    text = "No answer from {host}: {problem}. Is the address right (COMFYFLEET_URL), and the server up?"

    def __init__(self, host: str, problem: str) -> None:
        super().__init__(host=host, problem=problem)


class StrangeAnswer(Unavailable):
    """Not what comfyfleet says there: a web page, another shape, a status of somebody in between."""

    code = "strange_answer"
    text = "{host} answered {status} with {problem}. Is this the address of a comfyfleet server?"

    def __init__(self, host: str, status: int, problem: str) -> None:
        super().__init__(host=host, status=status, problem=problem)


class InvalidRequest(InvalidInput):
    """A field is missing, unknown, or of the wrong kind."""

    code = "invalid_request"
    problems: list[dict[str, str]]


class JobFailed(FleetError):
    """The job has failed for good; its tokens came back."""

    code = "job_failed"
    text = "The job {job_id} failed: {problem}"
    job_id: str
    problem: str

    def __init__(self, job_id: str, problem: str | None) -> None:
        super().__init__(job_id=job_id, problem=problem or "no reason was given")


class JobCancelled(FleetError):
    """Somebody cancelled the job; its tokens came back."""

    code = "job_cancelled"
    text = "The job {job_id} was cancelled."
    job_id: str

    def __init__(self, job_id: str) -> None:
        super().__init__(job_id=job_id)


class StillRunning(Unavailable):
    """The job was not over when the caller's time was. It goes on."""

    code = "job_still_running"
    text = "The job {job_id} is not over after {waited_s:time} ({status}). It goes on; wait for it again by its id."
    job_id: str
    status: str

    def __init__(self, job_id: str, status: str, waited_s: float) -> None:
        super().__init__(job_id=job_id, status=status, waited_s=waited_s)


class DownloadMismatch(Unavailable):
    """What was downloaded is not what was made. Nothing was kept."""

    code = "download_mismatch"
    text = "{name}: {problem}. Nothing was kept; try again."

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(name=name, problem=problem)


@cache
def _known() -> dict[str, type[FleetError]]:
    found: list[type[FleetError]] = [InvalidRequest]
    found += [each for each in vars(kernel).values() if inspect.isclass(each) and issubclass(each, FleetError)]
    return {each.code: each for each in found}


@cache
def _kind(status: int, code: str) -> type[FleetError]:
    if code in _known():
        return _known()[code]
    family = FAMILIES.get(status, Unavailable if status >= 500 else FleetError)
    # A code of a newer server: its family, under its own name.
    return type(family.__name__, (family,), {"code": code})


def read_fault(host: str, status: int, body: bytes, request_id: str | None) -> FleetError:
    """The error that an answer says, or StrangeAnswer where it is none of ours."""
    try:
        said = msgspec.json.decode(body)["error"]
        code, message, details = said["code"], said["message"], dict(said.get("details") or {})
        known = isinstance(code, str) and isinstance(message, str) and CODE.fullmatch(code) is not None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, LookupError, TypeError, ValueError):
        known = False
    if not known:
        redirect = "a redirect, which is not followed; use the address that it leads to"
        return StrangeAnswer(host, status, redirect if 300 <= status < 400 else words_of(body))
    if code == InvalidRequest.code:
        details = _first_problem(details)
    kind = _kind(status, code)
    error = kind.__new__(kind)
    # Not by its own way of being made: the server has made it, words and facts.
    FleetError.__init__(error, message, **details)
    if request_id is not None:
        error.add_note(f"request {request_id}, status {status}")
    return error


def _first_problem(details: dict[str, Any]) -> dict[str, Any]:
    problems = details.get("problems")
    first = problems[0] if isinstance(problems, list) and problems and isinstance(problems[0], dict) else {}
    return {"field": first.get("field", ""), "problem": first.get("problem", ""), "problems": problems or []}


def words_of(body: bytes) -> str:
    if not body.strip():
        return "nothing"
    return "a web page" if body.lstrip()[:1] == b"<" else "something else than its own words"


def decode(host: str, status: int, body: bytes, shape: type[T]) -> T:
    try:
        return msgspec.json.decode(body, type=shape)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as problem:
        raise StrangeAnswer(host, status, f"{words_of(body)} ({problem})") from None
