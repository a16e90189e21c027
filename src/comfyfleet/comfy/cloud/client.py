"""Comfy Cloud's v1 routes over HTTP. Every read is bounded in bytes and in time; the key goes to one host only.

`/api/view` answers with a redirect to a signed URL on a host that the cloud chooses. That host is asked through an
exchange of its own, which has never held the key: no setting of redirects can send it there.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx2
import msgspec

from comfyfleet.comfy.address import Address
from comfyfleet.comfy.cloud.clock import Clock, SystemClock
from comfyfleet.comfy.cloud.refusals import refusal
from comfyfleet.comfy.errors import UnexpectedAnswer
from comfyfleet.comfy.exchange import Answer, Exchange
from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.kernel.exchanges import Kind
from comfyfleet.kernel.hosts import is_loopback
from comfyfleet.kernel.secret import Secret

CLOUD_URL = "https://cloud.comfy.org"
MIB = 1 << 20
REDIRECTS_MAX = 3
VIEW = "/api/view"


@dataclass(frozen=True, slots=True)
class CloudLimits:
    request_s: float = 30.0  # one request and its whole answer
    upload_s: float = 900.0
    download_s: float = 3600.0
    silence_s: float = 60.0  # between two pieces of a transfer
    answer_bytes_max: int = 64 * MIB  # a history entry holds the whole workflow
    download_bytes_max: int = 8192 * MIB


class CloudClient:
    def __init__(
        self,
        key: Secret,
        *,
        url: str = CLOUD_URL,
        limits: CloudLimits | None = None,
        clock: Clock | None = None,
        proxy: str | None = None,
    ) -> None:
        self.limits = limits or CloudLimits()
        self._key_bytes = key.reveal().encode()
        self._clock = clock or SystemClock()
        self._proxy = proxy
        self._cloud = self._exchange(Address(checked_url(url), {"X-API-Key": key.reveal()}))

    @property
    def server(self) -> str:
        return self._cloud.address.name

    def __repr__(self) -> str:
        return f"CloudClient({self.server!r})"

    async def close(self) -> None:
        await self._cloud.close()

    async def ask(
        self,
        method: str,
        route: str,
        *,
        body: Mapping[str, Any] | None = None,
        params: Mapping[str, str] | None = None,
        accept: tuple[int, ...] = (),
    ) -> Answer:
        """An answer of success, or of one of the statuses that the caller says are answers to it."""
        content = None if body is None else msgspec.json.encode(body)
        headers = {} if body is None else {"Content-Type": "application/json"}
        request = self._cloud.build(method, route, params=params, content=content, headers=headers)
        return await self.send(request, route, limit_s=self.limits.request_s, accept=accept)

    def build(self, method: str, route: str, **given: Any) -> httpx2.Request:
        return self._cloud.build(method, route, **given)

    async def send(
        self, request: httpx2.Request, route: str, *, limit_s: float, accept: tuple[int, ...] = ()
    ) -> Answer:
        silence_s = self.limits.silence_s
        async with self._cloud.stream(request, route=route, limit_s=limit_s, idle_s=silence_s) as response:
            answer = await self._read(self._cloud, response, route)
            if not response.is_success and answer.status not in accept:
                raise refusal(answer, response.headers, now=self._clock.utc())
            return answer

    @asynccontextmanager
    async def view(self, params: Mapping[str, str]) -> AsyncIterator[AsyncIterator[bytes] | None]:
        """The bytes of a file, wherever the cloud keeps it. None: there is no such file."""
        request = self._cloud.build("GET", VIEW, params=params)
        async with self._open(self._cloud, request) as response:
            if (target := self._signed_url(response)) is not None:
                async with self._from_elsewhere(target, hops=1) as pieces:
                    yield pieces
                return
            if response.status_code not in (200, 404):
                answer = await self._read(self._cloud, response, VIEW)
                raise refusal(answer, response.headers, now=self._clock.utc())
            yield None if response.status_code == 404 else self._pieces(self._cloud, response)

    @asynccontextmanager
    async def _from_elsewhere(self, url: httpx2.URL, *, hops: int) -> AsyncIterator[AsyncIterator[bytes] | None]:
        there = self._exchange(Address(f"{url.scheme}://{url.netloc.decode('ascii')}"))
        try:
            async with self._open(there, there.build("GET", str(url))) as response:
                if hops < REDIRECTS_MAX and (target := self._signed_url(response)) is not None:
                    async with self._from_elsewhere(target, hops=hops + 1) as pieces:
                        yield pieces
                elif response.status_code in (200, 404):
                    yield None if response.status_code == 404 else self._pieces(there, response)
                else:
                    # The bucket's 401 or 403 is about its signature and says nothing about our key.
                    problem = "the host of the file does not give it out"
                    raise UnexpectedAnswer(there.address.name, route=VIEW, status=response.status_code, problem=problem)
        finally:
            await there.close()

    @asynccontextmanager
    async def _open(self, exchange: Exchange, request: httpx2.Request) -> AsyncIterator[httpx2.Response]:
        limits = self.limits
        async with exchange.stream(request, route=VIEW, limit_s=limits.download_s, idle_s=limits.silence_s) as response:
            yield response

    def _pieces(self, exchange: Exchange, response: httpx2.Response) -> AsyncIterator[bytes]:
        return exchange.chunks(response, route=VIEW, limit_bytes=self.limits.download_bytes_max, chunk_bytes=MIB)

    async def _read(self, exchange: Exchange, response: httpx2.Response, route: str) -> Answer:
        body = bytearray()
        async for piece in exchange.chunks(response, route=route, limit_bytes=self.limits.answer_bytes_max):
            body += piece
        # Some servers quote the key that they refuse; what we tell is made of what they say.
        return Answer(exchange.address.name, route, response.status_code, bytes(body).replace(self._key_bytes, b"..."))

    def _signed_url(self, response: httpx2.Response) -> httpx2.URL | None:
        """Where it is, if not here. The cloud chooses the host: what is checked is that nobody listens on the way.

        No plain http also keeps us away from the metadata addresses of a machine's own cloud. A cloud on this very
        machine, as tests have it, may send us to this very machine.
        """
        if response.next_request is None:
            return None
        target = response.next_request.url
        at_home = is_loopback(urlsplit(self._cloud.address.url).hostname or "") and is_loopback(target.host)
        if target.scheme != "https" and not (target.scheme == "http" and at_home):
            # Without path and query: the signature in them is a credential too.
            problem = f"a redirect to {target.scheme}://{target.host}, which is not https"
            raise UnexpectedAnswer(self.server, route=VIEW, status=response.status_code, problem=problem)
        return target

    def _exchange(self, address: Address) -> Exchange:
        transport = None if self._proxy is None else httpx2.AsyncHTTPTransport(proxy=self._proxy)
        return Exchange(address, transport=transport, kind=Kind.COMFY_CLOUD)


def checked_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or "")):
        return url.rstrip("/")
    raise InvalidInput("url", "Comfy Cloud is asked over https only: the key would be readable on the way.")
