"""Every error as `{"error": {"code", "message", "details"}}`. One table maps family to status."""

from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from comfyfleet.api.web import page_of_nothing
from comfyfleet.kernel.errors import (
    Conflict,
    FleetError,
    Forbidden,
    LimitReached,
    NotFound,
    Refused,
    Unauthenticated,
    Unavailable,
)

STATUS: dict[type[FleetError], int] = {
    Unauthenticated: 401,
    Forbidden: 403,
    NotFound: 404,
    Conflict: 409,
    Refused: 422,
    LimitReached: 429,
    Unavailable: 503,
}
RETRY_AFTER_S = 2

log = structlog.get_logger()

# What Starlette and FastAPI answer by themselves, in our words.
OWN_WORDS: dict[int, tuple[str, str]] = {
    400: ("bad_request", "The request could not be read."),
    404: ("not_found", "There is nothing at this address."),
    405: ("method_not_allowed", "This address does not take that method."),
    408: ("body_too_slow", "The body did not arrive in time."),
    411: ("length_required", "Send a Content-Length header."),
    413: ("body_too_large", "The body is larger than this server takes."),
}

# Said below the application, before a request is one; the connection is closed then.
CONNECTION_WORDS: list[tuple[int, str, str]] = [
    (400, *OWN_WORDS[400]),
    (408, *OWN_WORDS[408]),
    (408, "headers_too_slow", "The headers of the request did not arrive in time."),
    (431, "headers_too_large", "Address and headers of a request may have 64 KiB together."),
    (503, "too_many_connections", "There are too many connections to this server. Try again in a moment."),
]

# What only the HTTP edge can say.
EDGE_WORDS: dict[int, tuple[str, str]] = {
    400: ("malformed_json", "The body is not JSON, or nested too deeply."),
    403: ("length_mismatch", "An upload has another length than its URL was signed for."),
    422: ("invalid_request", "A field is missing, unknown, or of the wrong kind; `details.problems` names each."),
    500: ("internal", "Something went wrong on our side; it was logged under the request id."),
}


class Fault(BaseModel):
    code: str
    message: str
    details: dict[str, Any]


class ErrorBody(BaseModel):
    """The body of every answer that is not a success."""

    error: Fault


def status_of(error: FleetError) -> int:
    return next(STATUS[family] for family in type(error).__mro__ if family in STATUS)


def error_response(
    status: int, code: str, message: str, details: dict[str, Any] | None = None, headers: dict[str, str] | None = None
) -> JSONResponse:
    body = {"error": {"code": code, "message": message, "details": details or {}}}
    return JSONResponse(body, status_code=status, headers=headers)


def fleet_error_response(error: FleetError) -> JSONResponse:
    headers: dict[str, str] = {}
    if "retry_after_s" in error.facts:
        headers["Retry-After"] = str(error.facts["retry_after_s"])
    if outage := isinstance(error, Unavailable):
        headers["Retry-After"] = str(RETRY_AFTER_S)
    if isinstance(error, Unauthenticated):
        headers["WWW-Authenticate"] = "Bearer"
    shown = {name: fact for name, fact in error.facts.items() if not (outage and name == "problem")}
    return error_response(status_of(error), error.code, error.message, shown, headers)


def _first_line(cause: BaseException | None) -> str | None:
    return (str(cause).splitlines() or [type(cause).__name__])[0] if cause is not None else None


def log_outage(error: FleetError) -> None:
    if isinstance(error, Unavailable):
        # The cause names hosts, buckets and paths: it is for whoever mends it.
        log.error("part.unavailable", code=error.code, cause=_first_line(error.__cause__), **error.facts)


def install_error_handlers(app: FastAPI) -> None:
    @app.exception_handler(FleetError)
    async def on_fleet_error(_request: Request, error: FleetError) -> JSONResponse:
        log_outage(error)
        return fleet_error_response(error)

    @app.exception_handler(RequestValidationError)
    async def on_invalid_request(_request: Request, error: RequestValidationError) -> JSONResponse:
        problems = [_problem(each) for each in error.errors()]
        if any(each["type"] == "json_invalid" for each in error.errors()):
            return error_response(400, "malformed_json", "The body is not JSON.", {"problems": problems})
        return error_response(422, "invalid_request", _sentence(problems), {"problems": problems})

    @app.exception_handler(RecursionError)
    async def on_deep_body(_request: Request, _error: RecursionError) -> JSONResponse:
        return error_response(400, "malformed_json", "The body is nested too deeply.")

    @app.exception_handler(HTTPException)
    async def on_http_error(request: Request, error: HTTPException) -> Response:
        if error.status_code == 404 and (page := page_of_nothing(request)) is not None:
            return page
        code, message = OWN_WORDS.get(error.status_code, ("http_error", str(error.detail)))
        return error_response(error.status_code, code, message, headers=dict(error.headers or {}))


def _problem(error: Any) -> dict[str, str]:
    where, *path = (str(part) for part in error["loc"])
    message = str(error["msg"]).removeprefix("Value error, ")
    return {"where": where, "field": ".".join(path), "problem": message, "type": str(error["type"])}


def _sentence(problems: list[dict[str, str]]) -> str:
    first = problems[0]
    rest = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return f"{first['field'] or first['where']}: {first['problem']}{rest}"
