"""The line to the object store: one request at a time, and how often it is tried again."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import TypeAlias

import httpx2

from comfyfleet.comfy.exchange import trusted_authorities
from comfyfleet.kernel.backoff import backoff_s
from comfyfleet.kernel.exchanges import Kind, timed_exchange
from comfyfleet.worker.transfer_errors import TransferFailed, TransferLimits, TransferRefused

CONNECTIONS_MAX = 32
TRIES_MIN = 3  # one that stalled may have used up all patience
TRANSIENT = frozenset({408, 409, 425, 429})
EXPIRED = frozenset({400, 401, 403})  # what stores say of a signature that has run out
BROKEN = (httpx2.TransportError, httpx2.StreamError)

OnMoved: TypeAlias = Callable[[str, int], None]  # "in" or "out", and how many bytes


def ignore_moved(way: str, count: int) -> None:
    """Nobody counts."""


class Line:
    """Through the surroundings' proxy, if they name one: stores are out on the internet."""

    def __init__(self, base_url: str, limits: TransferLimits, on_moved: OnMoved = ignore_moved) -> None:
        self.limits = limits
        self.moved = on_moved
        self._http = httpx2.AsyncClient(
            base_url=base_url,
            headers={"Accept-Encoding": "identity"},
            verify=trusted_authorities(),
            timeout=httpx2.Timeout(limits.idle_s, connect=limits.connect_s),
            limits=httpx2.Limits(max_connections=CONNECTIONS_MAX, max_keepalive_connections=CONNECTIONS_MAX),
        )

    async def close(self) -> None:
        await self._http.aclose()

    def host_of(self, url: str) -> str:
        """All of a URL that may be told."""
        with suppress(httpx2.InvalidURL):
            return self._http.base_url.join(url).host
        return "an address that is none"

    @asynccontextmanager
    async def stream(
        self, method: str, url: str, headers: httpx2.Headers, content: AsyncIterator[bytes] | None = None
    ) -> AsyncIterator[httpx2.Response]:
        try:
            request = self._http.build_request(method, url, headers=headers, content=content)
        except httpx2.InvalidURL:
            raise TransferFailed(self.host_of(url), verb="answer for", problem="its URL is none", after_s=0) from None
        # Without the path and the query of the URL: it is signed.
        with timed_exchange(Kind.OBJECT_STORE, method, server=self.host_of(url)) as exchange:
            response = await self._http.send(request, stream=True)
            exchange.status = response.status_code
            try:
                yield response
            finally:
                await response.aclose()


class Again(Exception):
    def __init__(self, problem: str, *, after_s: float | None = None) -> None:
        self.problem = problem
        self.after_s = after_s  # 0: at once, this was no failure; None: as patience has it
        super().__init__(problem)


class Tries:
    """How often in a row nothing was gained."""

    def __init__(self, line: Line, verb: str) -> None:
        self._line, self._verb, self._limits = line, verb, line.limits
        self._failed = self._renewed = 0
        self._since_s = time.monotonic()

    def gained(self) -> None:
        self._failed = 0
        self._since_s = time.monotonic()

    async def wait(self, url: str, again: Again) -> None:
        self._failed += 1
        after_s = time.monotonic() - self._since_s
        if self._failed >= TRIES_MIN and after_s >= self._limits.patience_s:
            raise TransferFailed(self._line.host_of(url), verb=self._verb, problem=again.problem, after_s=after_s)
        await asyncio.sleep(self._pause_s() if again.after_s is None else min(again.after_s, self._limits.ceiling_s))

    def _pause_s(self) -> float:
        chance = random.random()  # noqa: S311 -- it spreads load and guards nothing
        return backoff_s(self._failed, chance=chance, base_s=self._limits.base_s, ceiling_s=self._limits.ceiling_s)

    def renew(self, url: str, status: int) -> None:
        self._renewed += 1
        if self._renewed > self._limits.renewals_max:
            raise self.refused(url, status)

    def refused(self, url: str, status: int) -> TransferRefused:
        return TransferRefused(self._line.host_of(url), verb=self._verb, status=status)

    def give_up(self, url: str, response: httpx2.Response) -> Again | TransferRefused:
        """What an answer means that is neither yes nor an expired signature."""
        status = response.status_code
        if status not in TRANSIENT and status < 500:
            return self.refused(url, status)
        return Again(f"it answered {status}", after_s=_retry_after_s(response))


def _retry_after_s(response: httpx2.Response) -> float | None:
    told = response.headers.get("Retry-After", "")
    return float(told) if told.isdecimal() and len(told) < 6 else None
