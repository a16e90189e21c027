"""One call of a worker, and how its body is read. These routes are hot: nothing stands between socket and verb."""

import asyncio
import json
import re
from dataclasses import dataclass
from typing import TypeVar

import msgspec
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope

from comfyfleet.api.limits import RateLimits
from comfyfleet.house import House
from comfyfleet.kernel.errors import FleetError, Refused, Unauthenticated
from comfyfleet.kernel.secret import Secret

BODY_BYTES_MAX = 1024**2
BODY_WITHIN_S = 30.0
NUL_LIKE = b"\\u0000"
# An even number of backslashes before it are backslashes. Searched where it may be: bodies are large.
NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")
T = TypeVar("T", bound=msgspec.Struct)
_WHERE = re.compile(r" - at `(?P<where>[^`]*)`$")


class UnreadableBody(Refused):
    """A field is missing, unknown, or of the wrong kind."""

    code = "invalid_request"
    text = "{where}: {problem}"


@dataclass(frozen=True, slots=True)
class Call:
    house: House
    limits: RateLimits
    url_ttl_s: int
    body: bytes
    headers: dict[bytes, bytes]
    address: str

    def read(self, kind: type[T]) -> T:
        try:
            said = msgspec.json.decode(self.body, type=kind)
        except msgspec.ValidationError as error:
            raise _explain(str(error)) from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            if _is_json(self.body):
                raise UnreadableBody(where="body", problem="holds half a character") from None
            raise HTTPException(400) from None
        if NUL_LIKE in self.body and NUL.search(self.body):
            raise UnreadableBody(where="body", problem="holds a NUL character")
        return said

    def bearer(self) -> Secret:
        scheme, _, token = self.headers.get(b"authorization", b"").partition(b" ")
        if scheme.lower() != b"bearer" or not token:
            raise Unauthenticated("Send the worker's token as `Authorization: Bearer …`.")
        return Secret(token.decode("latin-1").strip())


def _is_json(body: bytes) -> bool:
    """By the standard's own reader, which takes half a character for a character."""
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True


def _explain(message: str) -> FleetError:
    where = _WHERE.search(message)
    problem = message[: where.start()] if where else message
    return UnreadableBody(where=where["where"].removeprefix("$.") if where else "body", problem=problem)


async def read_body(receive: Receive, *, bytes_max: int = BODY_BYTES_MAX) -> bytes:
    message = await receive()
    if message["type"] != "http.request":
        raise HTTPException(400)
    body: bytes = message.get("body", b"")
    if message.get("more_body", False):
        body = await _read_rest(body, receive, bytes_max)
    if len(body) > bytes_max:
        raise HTTPException(413)
    return body


async def _read_rest(body: bytes, receive: Receive, bytes_max: int) -> bytes:
    parts, size = [body], len(body)
    try:
        async with asyncio.timeout(BODY_WITHIN_S):
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    raise HTTPException(400)
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                if size > bytes_max:
                    raise HTTPException(413)
                if not message.get("more_body", False):
                    return b"".join(parts)
    except TimeoutError:
        raise HTTPException(408) from None


def headers_of(scope: Scope) -> dict[bytes, bytes]:
    return dict(scope["headers"])
