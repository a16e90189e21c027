"""One request and its answer, with a limit on the bytes and on the seconds of every read.

ComfyUI is not asked to compress: a small answer that unpacks into a huge one cannot happen then.
"""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

import httpx2
import msgspec

from comfyfleet.comfy.address import Address
from comfyfleet.comfy.errors import (
    AccessRefused,
    AnswerTooLarge,
    ServerTimedOut,
    ServerUnreachable,
    UnexpectedAnswer,
)
from comfyfleet.comfy.refused import was_refused
from comfyfleet.kernel.exchanges import Kind, timed_exchange

T = TypeVar("T")

CONNECTIONS_MAX = 16
CONNECTIONS_KEPT_MAX = 4
CONNECT_S = 5.0
QUOTED_CHARACTERS = 200  # of an answer, in the text of an error


@dataclass(frozen=True, slots=True)
class Answer:
    """A body that was read whole, within its limits."""

    server: str
    route: str
    status: int
    body: bytes

    def decode(self, shape: type[T]) -> T:
        """Only the fields of `shape` are looked at; the rest may be anything that is JSON."""
        try:
            return msgspec.json.decode(self.body, type=shape)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            return self._decode_as_python(shape, error)

    def _decode_as_python(self, shape: type[T], first: Exception) -> T:
        """ComfyUI writes NaN and Infinity, which are no JSON."""
        try:
            return msgspec.convert(json.loads(self.body), shape)
        except (ValueError, RecursionError):
            raise self.unexpected(_not_json(self.body, first)) from None

    def unexpected(self, problem: str | None = None) -> UnexpectedAnswer | AccessRefused:
        if self.status in (401, 403, 407):
            return AccessRefused(self.server, route=self.route, status=self.status)
        return UnexpectedAnswer(
            self.server, route=self.route, status=self.status, problem=problem or _quote(self.body) or "no words"
        )


def _not_json(body: bytes, error: Exception) -> str:
    if not body.strip():
        return "an empty body"
    if body.lstrip()[:1] == b"<":
        return "a web page instead of JSON"
    return f"not the JSON we know ({error})"


def _quote(body: bytes) -> str:
    words = " ".join(body[: 4 * QUOTED_CHARACTERS].decode(errors="replace").split())
    return words[:QUOTED_CHARACTERS]


def encode_json(body: Any) -> bytes:
    try:
        return msgspec.json.encode(body)
    except OverflowError:  # a whole number beyond 64 bits
        return json.dumps(body, ensure_ascii=False).encode()


@cache
def trusted_authorities() -> ssl.SSLContext:
    # Made once: it costs 20 ms, and a pool has hundreds of clients.
    return ssl.create_default_context()


class Exchange:
    def __init__(
        self,
        address: Address,
        *,
        transport: httpx2.AsyncBaseTransport | None = None,
        kind: Kind = Kind.COMFYUI,
    ) -> None:
        self.address = address
        self._kind = kind
        self._http = httpx2.AsyncClient(
            base_url=address.url,
            headers={"Accept-Encoding": "identity", **address.headers},
            transport=transport,
            verify=trusted_authorities(),
            trust_env=False,  # servers are named one by one; a proxy or a .netrc of the surroundings is not meant
            limits=httpx2.Limits(max_connections=CONNECTIONS_MAX, max_keepalive_connections=CONNECTIONS_KEPT_MAX),
        )

    async def close(self) -> None:
        await self._http.aclose()

    async def ask(
        self,
        method: str,
        route: str,
        *,
        limit_s: float,
        limit_bytes: int,
        params: Mapping[str, str] | None = None,
        body: Any = None,
    ) -> Answer:
        content = None if body is None else encode_json(body)
        headers = {} if body is None else {"Content-Type": "application/json"}

        async def once() -> Answer:
            request = self._http.build_request(method, route, params=params, content=content, headers=headers)
            return await self.read(request, route=route, limit_s=limit_s, limit_bytes=limit_bytes)

        try:
            return await once()
        except ServerUnreachable as error:
            if method != "GET" or not error.sent:
                raise
        # A connection that was kept may have been closed meanwhile. To read again does no harm.
        return await once()

    def build(self, method: str, route: str, **given: Any) -> httpx2.Request:
        return self._http.build_request(method, route, **given)

    async def read(
        self, request: httpx2.Request, *, route: str, limit_s: float, limit_bytes: int, idle_s: float | None = None
    ) -> Answer:
        async with self.stream(request, route=route, limit_s=limit_s, idle_s=idle_s) as response:
            body = bytearray()
            async for chunk in self.chunks(response, route=route, limit_bytes=limit_bytes):
                body += chunk
            return Answer(self.address.name, route, response.status_code, bytes(body))

    @asynccontextmanager
    async def stream(
        self, request: httpx2.Request, *, route: str, limit_s: float, idle_s: float | None = None
    ) -> AsyncIterator[httpx2.Response]:
        """`limit_s` holds for everything to the end of the block, `idle_s` for the wait between two chunks."""
        if self._http.is_closed:
            raise ServerUnreachable(self.address.name, problem="the client has been closed", sent=False)
        quiet_s = min(limit_s, idle_s or limit_s)
        timeout = httpx2.Timeout(quiet_s, connect=min(CONNECT_S, quiet_s))
        request.extensions = {**request.extensions, "timeout": timeout.as_dict()}
        try:
            # Outside of the timeout: inside, one that has passed still looks like a cancel.
            with timed_exchange(self._kind, f"{request.method} {route}", server=self.address.name) as exchange:
                async with asyncio.timeout(limit_s):
                    response = await self._http.send(request, stream=True)
                    exchange.status = response.status_code
                    try:
                        yield response
                    finally:
                        await response.aclose()
        except (httpx2.ConnectTimeout, httpx2.PoolTimeout):
            raise ServerUnreachable(self.address.name, problem="no connection in time", sent=False) from None
        except (TimeoutError, httpx2.TimeoutException):
            raise ServerTimedOut(self.address.name, route=route, limit_s=quiet_s) from None
        except (httpx2.TransportError, httpx2.StreamError) as error:
            sent, refused = not isinstance(error, httpx2.ConnectError), was_refused(error)
            problem = "connection refused" if refused else str(error) or type(error).__name__
            raise ServerUnreachable(self.address.name, problem=problem, sent=sent, refused=refused) from None

    async def chunks(
        self, response: httpx2.Response, *, route: str, limit_bytes: int, chunk_bytes: int | None = None
    ) -> AsyncIterator[bytes]:
        if response.headers.get("Content-Encoding", "identity") != "identity":
            raise UnexpectedAnswer(
                self.address.name, route=route, status=response.status_code, problem="compressed without being asked"
            )
        too_large = AnswerTooLarge(self.address.name, route=route, limit_bytes=limit_bytes)
        told = response.headers.get("Content-Length", "")
        if told.isdecimal() and int(told) > limit_bytes:
            raise too_large
        seen = 0
        async for chunk in response.aiter_raw(chunk_bytes):
            seen += len(chunk)
            if seen > limit_bytes:
                raise too_large
            yield chunk
