"""A signed PUT: the headers as they were signed, the bytes as they come, a fresh place when the old one is refused."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Protocol, TypeAlias

import httpx2

from comfyfleet.wire.worker_v1 import OutputUrl
from comfyfleet.worker.store_line import BROKEN, EXPIRED, Again, Line, Tries

# Some stores refuse and hang up while the body is still coming, and their word is lost. At the second time a fresh
# place costs less than to ask why.
BROKEN_MAX = 2
Mint: TypeAlias = Callable[[], Awaitable[OutputUrl]]  # a fresh place for the same bytes


class Body(Protocol):
    """What is sent: asked for anew at each try."""

    @property
    def size_bytes(self) -> int: ...

    def chunks(self) -> AsyncGenerator[bytes, None]: ...


class Upload:
    def __init__(self, line: Line, body: Body, mint: Mint, place: OutputUrl) -> None:
        self._line, self._body, self._mint, self._place = line, body, mint, place
        self._tries = Tries(line, "take")
        self._may_be_there = False  # an earlier PUT to this place has no clear answer
        self._broken = 0  # how many had none at all

    async def run(self) -> OutputUrl:
        while True:
            try:
                await self._once()
                return self._place
            except BROKEN as error:
                again = Again(str(error) or type(error).__name__)
                if not isinstance(error, httpx2.ConnectError):
                    self._may_be_there, self._broken = True, self._broken + 1
            except Again as said:
                again = said
            await self._tries.wait(self._place.output_url, again)
            if self._broken >= BROKEN_MAX:
                await self._move()

    async def _once(self) -> None:
        url = self._place.output_url
        headers = httpx2.Headers(self._place.output_headers)
        headers["Content-Length"] = str(self._body.size_bytes)
        async with (
            aclosing(self._body.chunks()) as chunks,
            self._line.stream("PUT", url, headers, chunks) as response,
        ):
            status = response.status_code
            if status in (200, 201, 204) or (status == 412 and self._may_be_there):
                # 412: nobody else knows this place, so it is our own PUT, whose answer was lost.
                self._line.moved("out", self._body.size_bytes)
                return
            if status in EXPIRED or status == 412:
                self._tries.renew(url, status)
                await self._move()
                raise Again(f"it answered {status}", after_s=0.0)
            self._may_be_there = True
            raise self._tries.give_up(url, response)

    async def _move(self) -> None:
        self._place, self._may_be_there, self._broken = await self._mint(), False, 0
