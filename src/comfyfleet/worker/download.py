"""A signed GET to a file: continued where it was cut, asked for again with a fresh URL, checked at the end."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

import httpx2

from comfyfleet.worker.landing import CHUNK_BYTES, Landing
from comfyfleet.worker.store_line import BROKEN, EXPIRED, Again, Line, Tries
from comfyfleet.worker.transfer_errors import ContentMismatch

Renew: TypeAlias = Callable[[], Awaitable[str]]  # a fresh URL for the same object


class Download:
    def __init__(
        self,
        line: Line,
        landing: Landing,
        url: str,
        size_bytes: int | None,
        sha256: str | None,
        renew: Renew | None,
    ) -> None:
        self._line, self._landing, self._url, self._renew = line, landing, url, renew
        self._size_bytes, self._sha256 = size_bytes, sha256
        self._tries = Tries(line, "give")
        self._was_wrong = False
        self._furthest_bytes = landing.size_bytes

    async def run(self) -> None:
        while True:
            try:
                if not self._is_all_here():
                    await self._go_on()
                return await self._check()
            except BROKEN as error:
                again = Again(str(error) or type(error).__name__)
            except Again as said:
                again = said
            if self._landing.size_bytes > self._furthest_bytes:  # further than ever: beginning anew is no gain
                self._furthest_bytes = self._landing.size_bytes
                self._tries.gained()
            await self._tries.wait(self._url, again)

    def _is_all_here(self) -> bool:
        return self._size_bytes is not None and 0 < self._size_bytes == self._landing.size_bytes

    async def _check(self) -> None:
        problem = self._landing.weighed().differs_from(self._size_bytes, self._sha256)
        if problem is None:
            return
        # Bytes of an earlier life, or a disk that lies: once more from the first one.
        await asyncio.to_thread(self._landing.restart)
        if self._was_wrong:
            raise ContentMismatch(self._line.host_of(self._url), problem=problem)
        self._was_wrong = True
        raise Again(problem)

    async def _go_on(self) -> None:
        offset = self._landing.size_bytes
        headers = httpx2.Headers({"Range": f"bytes={offset}-"} if offset else {})
        async with self._line.stream("GET", self._url, headers) as response:
            if response.status_code not in (200, 206, 416):
                await self._refused(response)
            follows = response.headers.get("Content-Range", "").startswith(f"bytes {offset}-")
            if response.status_code != 206 or not follows:
                await asyncio.to_thread(self._landing.restart)
            if response.status_code == 416 or (response.status_code == 206 and not follows):
                raise Again("it gave another piece than it was asked for")
            await self._take(response)

    async def _take(self, response: httpx2.Response) -> None:
        """Cut or not, what has come is kept."""
        held = bytearray()
        try:
            async for piece in response.aiter_raw():
                held += piece
                if len(held) >= CHUNK_BYTES:
                    await self._keep(held)
                    held = bytearray()
        finally:
            await self._keep(held)
        if "Content-Length" not in response.headers and (self._size_bytes or 0) > self._landing.size_bytes:
            raise Again("it gave only a part")  # a cut looks like an end, where nobody told how much was to come

    async def _keep(self, held: bytearray) -> None:
        self._line.moved("in", len(held))
        if not await asyncio.to_thread(self._landing.take, held):
            raise ContentMismatch(self._line.host_of(self._url), problem="it has more bytes")

    async def _refused(self, response: httpx2.Response) -> None:
        status = response.status_code
        if status in EXPIRED and self._renew is not None:
            self._tries.renew(self._url, status)
            self._url = await self._renew()
            raise Again(f"it answered {status}", after_s=0.0)
        raise self._tries.give_up(self._url, response)
