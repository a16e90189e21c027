"""What both ways to perform a flow have in common: requests, their limits, and what a broken line is called."""

import time
from typing import Any
from urllib.parse import urlsplit

import httpx2

from comfyfleet import __version__
from comfyfleet.client.access import Access
from comfyfleet.client.steps import ANSWER_BYTES_MAX, Answer, Broken, Call

CONNECT_S = 10.0
ANSWER_S_MAX = 120.0
CHUNK_BYTES = 256 * 1024
CONNECTIONS_MAX = 20
LINE_ERRORS = (httpx2.TransportError, httpx2.StreamError)


class SignedUrl(httpx2.URL):
    """httpx2 logs the URL of each request, and whoever reads this one could use it."""

    def __str__(self) -> str:
        return f"{self.scheme}://{self.host}/signed"

    __repr__ = __str__


def client_options() -> dict[str, Any]:
    """Redirects are not followed: the key is for one host."""
    # Not compressed: a small answer that unpacks into a huge one cannot happen then.
    headers = {"Accept-Encoding": "identity", "User-Agent": f"comfyfleet/{__version__}"}
    limits = httpx2.Limits(max_connections=CONNECTIONS_MAX, max_keepalive_connections=CONNECTIONS_MAX)
    return {"headers": headers, "limits": limits, "follow_redirects": False}


def build_request(http: httpx2.Client | httpx2.AsyncClient, access: Access, call: Call, content: Any) -> httpx2.Request:
    own = {} if call.is_signed else access.headers()
    timeout = httpx2.Timeout(call.idle_s, connect=min(CONNECT_S, call.idle_s))
    request = http.build_request(
        call.method,
        access.absolute(call.url),
        params=dict(call.params) or None,
        headers={**call.headers, **own},
        content=content,
        timeout=timeout,
    )
    if call.is_signed:
        request.url = SignedUrl(request.url)
    return request


def host_of(access: Access, call: Call) -> str:
    return urlsplit(access.absolute(call.url)).netloc


def broken(host: str, error: Exception) -> Broken:
    timed_out = isinstance(error, httpx2.TimeoutException)
    return Broken(host, "it took too long" if timed_out else str(error) or type(error).__name__, timed_out)


def answer(host: str, response: httpx2.Response, body: bytes = b"") -> Answer:
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Answer(response.status_code, headers, body, host)


class Gathering:
    """A body that is read whole, within its limits."""

    def __init__(self) -> None:
        self._body = bytearray()
        self._until = time.monotonic() + ANSWER_S_MAX

    def add(self, chunk: bytes) -> None:
        self._body += chunk
        if len(self._body) > ANSWER_BYTES_MAX:
            raise httpx2.RemoteProtocolError(f"the answer has more than {ANSWER_BYTES_MAX} bytes")
        if time.monotonic() > self._until:
            raise httpx2.ReadTimeout("the answer takes too long")

    def whole(self) -> bytes:
        return bytes(self._body)
