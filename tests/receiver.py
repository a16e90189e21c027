"""A webhook receiver over a real socket: answers what it is told to, and keeps what it got."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass
class Received:
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    port: int = 0
    statuses: list[int] = field(default_factory=list)  # one a request; then 204
    hangs: bool = False
    connections: int = 0
    received: list[Received] = field(default_factory=list)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    released: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request after the other, for as long as the sender likes."""
        self.connections += 1
        try:
            while True:
                await self._answer(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:]) if name}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        self.received.append(Received(head[0].split(" ")[1], headers, body))
        self.arrived.set()
        if self.hangs:
            await self.released.wait()
        status = self.statuses.pop(0) if self.statuses else 204
        extra = "location: http://127.0.0.1:1/elsewhere\r\n" if 300 <= status < 400 else ""
        writer.write(f"HTTP/1.1 {status} X\r\n{extra}content-length: 0\r\n\r\n".encode())
        await writer.drain()


@asynccontextmanager
async def a_receiver(*statuses: int, hangs: bool = False) -> AsyncIterator[Receiver]:
    receiver = Receiver(statuses=list(statuses), hangs=hangs)
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0)
    receiver.port = server.sockets[0].getsockname()[1]
    try:
        yield receiver
    finally:
        receiver.released.set()
        server.close()
        await server.wait_closed()
