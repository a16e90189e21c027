"""The eleven addresses of the worker protocol, in front of the rest of the application.

They pass by the middleware of the other routes, which costs more than leasing does, and keep its promises: a request
id, safe headers, a limit on bodies, errors in the same words, and no bare 500.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import msgspec
import structlog
from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from comfyfleet.api.errors import OWN_WORDS, error_response, fleet_error_response, log_outage
from comfyfleet.api.requests import REQUEST_ID
from comfyfleet.api.worker import beating, definitions, ending, events, joining, notices, outputs, polling
from comfyfleet.api.worker.calls import BODY_BYTES_MAX, Call, headers_of, read_body
from comfyfleet.kernel.errors import FleetError
from comfyfleet.kernel.ids import new_id
from comfyfleet.kernel.origin import answer_to
from comfyfleet.metrics.facts import WorkerCalled
from comfyfleet.wire import worker_v1 as wire

PREFIX = "/api/worker/"
log = structlog.get_logger()
_encoder = msgspec.json.Encoder()


@dataclass(frozen=True, slots=True)
class Endpoint:
    answer: Callable[[Call], Awaitable[msgspec.Struct]]
    request: type[msgspec.Struct]
    reply: type[msgspec.Struct]
    summary: str
    waits: bool = False
    by_secret: bool = False
    body_bytes_max: int = BODY_BYTES_MAX


ENDPOINTS: dict[str, Endpoint] = {
    "register": Endpoint(
        joining.register, wire.Register, wire.Registered, "Join by fleet secret, or take the name back.", by_secret=True
    ),
    "poll": Endpoint(polling.poll, wire.Poll, wire.PollReply, "Ask for a job; wait up to 30 s for one.", waits=True),
    "heartbeat": Endpoint(beating.heartbeat, wire.Heartbeat, wire.HeartbeatReply, "Keep leases alive."),
    "notices": Endpoint(
        notices.notices, wire.Notices, wire.NoticesReply, "Wait for a cancel while jobs run.", waits=True
    ),
    "complete": Endpoint(ending.complete, wire.Complete, wire.EndReply, "The job is done."),
    "fail": Endpoint(ending.fail, wire.Fail, wire.EndReply, "The job failed; the class decides what follows."),
    "requeue": Endpoint(ending.requeue, wire.Requeue, wire.EndReply, "Give the job back; the attempt does not count."),
    "outputs": Endpoint(outputs.outputs, wire.Outputs, wire.OutputsReply, "Signed PUT requests for results."),
    "events": Endpoint(events.events, wire.Events, wire.EventsReply, "Progress of running jobs."),
    "definitions": Endpoint(
        definitions.definitions,
        wire.Definitions,
        wire.DefinitionsReply,
        "Which node classes the servers have, once for each change of them.",
        body_bytes_max=wire.DEFINITIONS_BYTES_MAX * 4 // 3 + BODY_BYTES_MAX,
    ),
    "deregister": Endpoint(joining.deregister, wire.Deregister, wire.Deregistered, "Leave."),
}


class WorkerEndpoints:
    """Wraps the application: what is not a worker's goes through untouched."""

    def __init__(self, app: ASGIApp, state: FastAPI) -> None:
        self.app = app
        self.state: Any = state.state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(PREFIX):
            await self.app(scope, receive, send)
            return
        endpoint = ENDPOINTS.get(scope["path"][len(PREFIX) :])
        if endpoint is None or scope["method"] == "OPTIONS":
            await self.app(scope, receive, send)  # says 404 as everywhere, and what browsers ask beforehand
            return
        await self._serve(endpoint, scope, receive, send)

    async def _serve(self, endpoint: Endpoint, scope: Scope, receive: Receive, send: Send) -> None:
        started, headers = time.perf_counter(), headers_of(scope)
        # A worker is no page: it gets whole URLs, as every program does.
        answer_to(scope["scheme"], headers.get(b"host", b"").decode("latin-1"), is_page=False)
        given = headers.get(b"x-request-id", b"").decode("latin-1")
        request_id = given if REQUEST_ID.fullmatch(given) else str(new_id())
        try:
            if scope["method"] != "POST":
                raise HTTPException(405, headers={"Allow": "POST"})
            call = Call(
                house=self.state.house,
                limits=self.state.limits,
                url_ttl_s=self.state.options.url_ttl_s,
                body=await read_body(receive, bytes_max=endpoint.body_bytes_max),
                headers=headers,
                address=scope["client"][0] if scope.get("client") else "unknown",
            )
            work = endpoint.answer(call)
            reply = await (_unless_gone(work, receive) if endpoint.waits else work)
        except _Gone:
            return
        except Exception as error:
            response = _problem(error, request_id)
            took_ms = round((time.perf_counter() - started) * 1000, 1)
            tell = log.error if response.status_code >= 500 else log.info
            tell("request", route=scope["path"], status=response.status_code, took_ms=took_ms, request_id=request_id)
            self._note(scope, response.status_code, started)
            await _send(send, response.status_code, response.body, request_id, list(response.raw_headers))
            return
        self._note(scope, 200, started)
        await _send(send, 200, _encoder.encode(reply), request_id)

    def _note(self, scope: Scope, status: int, started: float) -> None:
        fact = WorkerCalled(scope["path"][len(PREFIX) :], status, time.perf_counter() - started)
        self.state.house.facts.note(fact)


class _Gone(Exception):
    """The caller hung up while it waited."""


async def _unless_gone(work: Awaitable[msgspec.Struct], receive: Receive) -> msgspec.Struct:
    """A worker that died while it waited must not be given a job."""
    working = asyncio.ensure_future(work)
    hung_up = asyncio.ensure_future(receive())
    try:
        await asyncio.wait({working, hung_up}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        working.cancel()
        with suppress(asyncio.CancelledError):
            await working
        raise _Gone
    finally:
        hung_up.cancel()
        working.cancel()


def _problem(error: Exception, request_id: str) -> Response:
    if isinstance(error, FleetError):
        log_outage(error)
        return fleet_error_response(error)
    if isinstance(error, HTTPException):
        return error_response(error.status_code, *OWN_WORDS[error.status_code], headers=dict(error.headers or {}))
    log.error("request.crashed", exc_info=error, request_id=request_id)
    message = "Something went wrong on our side. It was logged under the request id."
    return error_response(500, "internal", message, {"request_id": request_id})


_SAFE = [
    (b"content-type", b"application/json"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
]


async def _send(
    send: Send, status: int, body: bytes | memoryview, request_id: str, more: list[tuple[bytes, bytes]] | None = None
) -> None:
    own = {b"content-type", b"content-length"}
    headers = [*_SAFE, (b"content-length", str(len(body)).encode()), (b"x-request-id", request_id.encode())]
    headers += [header for header in more or [] if header[0] not in own]
    start: Message = {"type": "http.response.start", "status": status, "headers": headers}
    await send(start)
    await send({"type": "http.response.body", "body": bytes(body)})
