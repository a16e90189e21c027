"""A proxy that loses the reply to a chosen request, or cuts a stream in two."""

import asyncio
from collections import Counter
from contextlib import suppress
from typing import Any

from tests.proxy import Proxy


class FaultyProxy(Proxy):
    """`loses`: by how a request begins, how many replies to it get lost. `cuts`: streams end after these bytes."""

    def __init__(self, to_port: int) -> None:
        super().__init__(to_port)
        self.loses: Counter[bytes] = Counter()
        self.cuts: list[bytes] = []
        self.requests: list[bytes] = []
        self._passing: set[asyncio.Task[None]] = set()
        self._serving: set[asyncio.Task[None]] = set()

    async def __aexit__(self, *raised: Any) -> None:
        await super().__aexit__(*raised)
        for each in self._passing:
            each.cancel()
        if self._serving:
            await asyncio.wait(self._serving)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving = asyncio.current_task()
        assert serving is not None
        self._serving.add(serving)
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._to_port)
        both = [
            asyncio.create_task(self._pass_on(reader, far_writer)),
            asyncio.create_task(self._pass_back(far_reader, writer)),
        ]
        self._passing.update(both)
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        for each in both:
            each.cancel()
        await asyncio.gather(*both, return_exceptions=True)
        for end in (writer, far_writer):
            end.close()
            with suppress(ConnectionError):
                await end.wait_closed()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while chunk := await reader.read(65_536):
                self.requests.append(chunk)
                writer.write(chunk)
                await writer.drain()

    async def _pass_back(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while chunk := await reader.read(65_536):
            if self._is_lost():
                self.lost += 1
                return
            writer.write(chunk)
            await writer.drain()
            if self.cuts and self.cuts[0] in chunk:
                self.cuts.pop(0)
                return

    def _is_lost(self) -> bool:
        """One client asks one thing at a time: the last request is the one that is answered."""
        asked = next((each for each in reversed(self.requests) if each[:5] in (b"POST ", b"PUT /", b"GET /")), b"")
        for begin, left in self.loses.items():
            if asked.startswith(begin) and left > 0:
                self.loses[begin] -= 1
                return True
        return False
