"""What surrounds every request: an id, one log event, safe headers, and no bare 500."""

import asyncio
import re
import time
from collections.abc import Iterable

import structlog
from fastapi.routing import RouteContext
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from comfyfleet.api.errors import OWN_WORDS, error_response
from comfyfleet.kernel.ids import new_id
from comfyfleet.kernel.origin import answer_to
from comfyfleet.metrics.facts import ApiCalled

log = structlog.get_logger()

REQUEST_ID = re.compile(r"[\w.-]{1,64}", re.ASCII)
BODY_WITHIN_S = 30.0
UPLOADS = re.compile(r"/objects/.*|/api/effects/[^/]+/run")
HSTS = "max-age=31536000"  # a year; subdomains are not ours to decide about
SURFACES = (("/api/admin/", "operator"), ("/api/", "tenant"), ("/objects/", "objects"))
QUIET_PATHS = ("/healthz", "/readyz")


class RequestContext:
    """Plain ASGI, not BaseHTTPMiddleware: that one costs several times the rest of a request."""

    def __init__(self, app: ASGIApp, hsts: bool = False) -> None:
        self.app, self.hsts = app, hsts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers_in = Headers(scope=scope)
        answer_to(scope["scheme"], headers_in.get("host", ""), is_page="sec-fetch-site" in headers_in)
        given = headers_in.get("x-request-id", "")
        request_id = given if REQUEST_ID.fullmatch(given) else str(new_id())
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=request_id)
        started, status, first_byte_s = time.perf_counter(), 0, 0.0

        async def send_with_id(message: Message) -> None:
            nonlocal status, first_byte_s
            if message["type"] == "http.response.start":
                status, first_byte_s = message["status"], time.perf_counter() - started
                headers = MutableHeaders(scope=message)
                headers["X-Request-Id"] = request_id
                headers.setdefault("X-Content-Type-Options", "nosniff")
                headers.setdefault("Referrer-Policy", "no-referrer")
                headers.setdefault("Cache-Control", "no-store")
                if self.hsts and scope["scheme"] == "https":
                    headers.setdefault("Strict-Transport-Security", HSTS)
            await send(message)

        try:
            await self.app(scope, receive, send_with_id)
        except Exception:
            log.exception("request.crashed", route=_route(scope))
            if status:
                raise
            message = "Something went wrong on our side. It was logged under the request id."
            response = error_response(500, "internal", message, {"request_id": request_id})
            await response(scope, receive, send_with_id)
        finally:
            if scope["path"] not in QUIET_PATHS:
                fact = ApiCalled(_surface(scope["path"]), status, first_byte_s or time.perf_counter() - started)
                scope["app"].state.house.facts.note(fact)
                took_ms = round((time.perf_counter() - started) * 1000, 1)
                tell = log.error if status >= 500 else log.info
                tell("request", method=scope["method"], route=_route(scope), status=status, took_ms=took_ms)


class BodyLimit:
    """Starlette's limit answers in plain text; this says the same as every other error."""

    def __init__(self, app: ASGIApp, bytes_max: int) -> None:
        self.app = RequestBodyLimitMiddleware(app, max_body_size=bytes_max)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        too_large = False

        async def send_in_our_words(message: Message) -> None:
            nonlocal too_large
            if message["type"] == "http.response.start" and message["status"] == 413:
                too_large = True
                await error_response(413, *OWN_WORDS[413])(scope, receive, send)
            elif not too_large:
                await send(message)

        await self.app(scope, _in_time(scope, receive), send_in_our_words)


def _in_time(scope: Scope, receive: Receive) -> Receive:
    """A sender that trickles must not hold a connection for ever. Uploads have a measure of their own."""
    if scope["type"] != "http" or UPLOADS.fullmatch(scope["path"]):
        return receive
    deadline, complete = time.monotonic() + BODY_WITHIN_S, False

    async def receive_in_time() -> Message:
        nonlocal complete
        if complete:
            return await receive()  # from here on it waits for the client to go away
        try:
            async with asyncio.timeout(max(0.0, deadline - time.monotonic())):
                message = await receive()
        except TimeoutError:
            raise HTTPException(408) from None
        complete = not message.get("more_body", False)
        return message

    return receive_in_time


def _surface(path: str) -> str:
    """Whose part of the API: a closed list, so that strangers cannot make labels."""
    return next((surface for start, surface in SURFACES if path.startswith(start)), "web")


def route_patterns(routes: Iterable[RouteContext]) -> dict[int, str]:
    """Whole patterns by route: a route of an included router knows only its own part."""
    return {id(each.original_route): str(each.path) for each in routes}


def _route(scope: Scope) -> str:
    """The route's pattern, not the path: a path may hold a signed token."""
    route = scope.get("route")
    patterns: dict[int, str] = scope["app"].state.patterns
    return patterns.get(id(route), getattr(route, "path", "unmatched"))
