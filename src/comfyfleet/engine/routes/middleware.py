"""What stands before every route: foreign origins, OPTIONS, large bodies, ordered faults, and trouble."""

import asyncio
from collections.abc import Mapping
from typing import NoReturn
from urllib.parse import urlsplit

import structlog
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from comfyfleet.engine.engine import Engine
from comfyfleet.engine.faults import RouteFault
from comfyfleet.engine.routes.answers import TROUBLE, empty, text
from comfyfleet.engine.routes.facts import BODY_BYTES_MAX
from comfyfleet.kernel.hosts import is_loopback

log = structlog.get_logger()

GARBAGE = b'{"prompt_id": "0\xff'
HTML = b"<!doctype html><html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"


class ConnectionCut(Exception):
    """The connection ends here, without an answer."""


class BodyTooLarge(Exception):
    """More than the server takes."""


def cut_connection() -> NoReturn:
    raise ConnectionCut


def is_foreign(headers: Mapping[str, str]) -> bool:
    """A web page of somebody else asks through the browser of somebody here."""
    if headers.get("sec-fetch-site") == "cross-site":
        return True
    try:
        own, origin = urlsplit(f"//{headers.get('host', '').lower()}"), urlsplit(headers.get("origin", "").lower())
        if not origin.netloc or not own.hostname or not is_loopback(own.hostname):
            return False
        if origin.port is None or own.port is None:
            return origin.hostname != own.hostname
    except ValueError:  # no browser of somebody here sends such a thing
        return True
    return origin.netloc != own.netloc


class FrontDoor:
    def __init__(self, app: ASGIApp, engine: Engine) -> None:
        self._app = app
        self._engine = engine

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = _refusal(scope)
        fault = None if refusal else self._engine.board.for_route(scope["method"], scope["path"])
        if refusal is not None:
            await refusal(scope, receive, send)
        elif fault is not None:
            await _misbehave(fault, self._app, scope, receive, send)
        else:
            await _answer(self._app, scope, receive, send)


def _refusal(scope: Scope) -> Response | None:
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    if is_foreign(headers):
        return empty(403)
    if scope["method"] == "OPTIONS":
        return empty()
    length = headers.get("content-length", "0")
    return _too_large() if length.isdigit() and int(length) > BODY_BYTES_MAX else None


def _too_large() -> Response:
    return text(f"Maximum request body size {BODY_BYTES_MAX} exceeded.", 413)


async def _answer(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    started = False

    async def watched(message: Message) -> None:
        nonlocal started
        started = True
        await send(message)

    try:
        await app(scope, _bounded(receive), watched)
    except BodyTooLarge:
        await _too_large()(scope, receive, send)
    except ConnectionCut:
        await _cut(send)
    except Exception as error:
        log.warning("engine.trouble", path=scope["path"], error=repr(error)[:500])
        if not started:
            await text(TROUBLE, 500)(scope, receive, send)


def _bounded(receive: Receive) -> Receive:
    seen_bytes = 0

    async def counted() -> Message:
        nonlocal seen_bytes
        message = await receive()
        seen_bytes += len(message.get("body", b""))
        if seen_bytes > BODY_BYTES_MAX:
            raise BodyTooLarge
        return message

    return counted


async def _cut(send: Send) -> None:
    """Announce more than comes: uvicorn then ends the connection in mid-answer."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"1000")]})
    await send({"type": "http.response.body", "body": b"", "more_body": True})


async def _misbehave(fault: RouteFault, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    match fault.kind:
        case "garbage":
            answer = Response(GARBAGE, headers={"content-type": "application/json; charset=utf-8"})
            await answer(scope, receive, send)
        case "html":
            await Response(HTML, headers={"content-type": "text/html"})(scope, receive, send)
        case "status":
            await text(TROUBLE, fault.status)(scope, receive, send)
        case "slow":
            await asyncio.sleep(fault.seconds)
            await _answer(app, scope, receive, send)
        case "hang":
            await _until_gone(receive)
        case "endless":
            await _answer_for_ever(receive, send)
        case "drop":
            await _cut(send)


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _answer_for_ever(receive: Receive, send: Send) -> None:
    headers = [(b"content-type", b"application/json; charset=utf-8")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    gone = asyncio.create_task(_until_gone(receive))
    try:
        while not gone.done():
            await send({"type": "http.response.body", "body": b" " * 65536, "more_body": True})
            await asyncio.sleep(0)
    finally:
        gone.cancel()
