"""The line between a worker and its control plane, that can be cut and mended. Of several far ends it takes one that
is there, as a load balancer does."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Self


class Line:
    def __init__(self, *to_ports: int) -> None:
        self._to_ports = to_ports
        self._server: asyncio.Server | None = None
        self._calls: set[asyncio.Task[None]] = set()
        self._is_cut = False
        self._may_answer = asyncio.Event()
        self._may_answer.set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *exc: object) -> None:
        assert self._server is not None
        self._server.close()
        await self._hang_up()

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def cut(self) -> None:
        """Who is on it hears nothing more, who calls is hung up on."""
        self._is_cut = True
        await self._hang_up()

    def mend(self) -> None:
        self._is_cut = False

    def hold_replies(self) -> None:
        """What is asked arrives; what is answered waits."""
        self._may_answer.clear()

    def let_replies_go(self) -> None:
        self._may_answer.set()

    async def _hang_up(self) -> None:
        calls = list(self._calls)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        call = asyncio.create_task(self._connect(reader, writer))
        self._calls.add(call)
        call.add_done_callback(self._calls.discard)

    async def _far_end(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        for port in random.sample(self._to_ports, len(self._to_ports)):
            with suppress(OSError):
                return await asyncio.open_connection("127.0.0.1", port)
        return None

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_writer: asyncio.StreamWriter | None = None
        try:
            if self._is_cut:
                return
            far = await self._far_end()
            if far is None:
                return
            far_reader, far_writer = far
            ways = [
                asyncio.create_task(_carry(reader, far_writer, _at_once)),
                asyncio.create_task(_carry(far_reader, writer, self._may_answer.wait)),
            ]
            try:
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for way in ways:
                    way.cancel()
                await asyncio.gather(*ways, return_exceptions=True)
        finally:
            for each in (writer, far_writer):
                if each is not None:
                    each.close()
                    with suppress(OSError):
                        await each.wait_closed()


async def _at_once() -> bool:
    return True


async def _carry(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, may: Callable[[], Awaitable[bool]]
) -> None:
    with suppress(OSError):
        while chunk := await reader.read(65_536):
            await may()
            writer.write(chunk)
            await writer.drain()
