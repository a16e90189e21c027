"""A file server that misbehaves as told: cuts, waits, refuses, forgets to answer. On a real socket."""

import asyncio
import re
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

PIECE_BYTES = 64 * 1024


@dataclass
class Asked:
    method: str
    path: str
    headers: dict[str, str]
    received_bytes: int = 0
    sent_bytes: int = 0


@dataclass
class FarStore:
    """`objects` by path, `puts` what arrived. The deques hold what becomes of the next requests; empty: all is well."""

    objects: dict[str, bytes] = field(default_factory=dict)
    puts: dict[str, bytes] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    statuses: deque[int] = field(default_factory=deque)
    cuts: deque[int] = field(default_factory=deque)  # GET: after so many bytes of the body. PUT: of what arrives
    loses_answers: int = 0  # of PUTs that were carried out
    expired: set[str] = field(default_factory=set)
    knows_ranges: bool = True
    gate: asyncio.Event | None = None  # bodies stop half-way until it is set
    keeps_puts: bool = True
    hangs_up: bool = False  # when it refuses a PUT, without reading what comes

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=8 * 1024**2)
        self._writers: set[asyncio.StreamWriter] = set()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()
        await self._server.wait_closed()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def asked_of(self, method: str) -> list[Asked]:
        return [each for each in self.asked if each.method == method]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                asked = _read_head(head.decode())
                self.asked.append(asked)
                answered = await (self._get if asked.method == "GET" else self._put)(asked, reader, writer)
                if not answered:
                    break
        self._writers.discard(writer)
        writer.transport.abort()

    async def _get(self, asked: Asked, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        if status := self._refusal(asked):
            return await _answer(writer, status)
        body = self.objects.get(asked.path)
        if body is None:
            return await _answer(writer, 404)
        start = int(found[1]) if (found := re.match(r"bytes=(\d+)-", asked.headers.get("range", ""))) else 0
        if not self.knows_ranges:
            start = 0
        if start >= len(body) > 0:
            return await _answer(writer, 416)
        head = f"HTTP/1.1 {206 if start else 200} fine\r\nContent-Length: {len(body) - start}\r\n"
        head += f"Content-Range: bytes {start}-{len(body) - 1}/{len(body)}\r\n" if start else ""
        writer.write(f"{head}\r\n".encode())
        stop = start + self.cuts.popleft() if self.cuts else len(body)
        for at in range(start, min(stop, len(body)), PIECE_BYTES):
            if self.gate is not None and at >= len(body) // 2:
                await self.gate.wait()
            piece = body[at : min(at + PIECE_BYTES, stop)]
            writer.write(piece)
            asked.sent_bytes += len(piece)
            await writer.drain()
        return stop >= len(body)

    async def _put(self, asked: Asked, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        if status := self._refusal(asked) or (412 if asked.path in self.puts else 0):
            await _answer(writer, status)
            if self.hangs_up:
                return False
            await reader.readexactly(int(asked.headers["content-length"]))
            return True
        left = int(asked.headers["content-length"])
        cut = self.cuts.popleft() if self.cuts else None
        body = bytearray()
        while left:
            piece = await reader.read(min(left, PIECE_BYTES))
            if not piece or (cut is not None and asked.received_bytes + len(piece) > cut):
                return False
            left -= len(piece)
            asked.received_bytes += len(piece)
            if self.keeps_puts:
                body += piece
        self.puts[asked.path] = bytes(body)
        if self.loses_answers:
            self.loses_answers -= 1
            return False
        return await _answer(writer, 200)

    def _refusal(self, asked: Asked) -> int:
        if self.statuses:
            return self.statuses.popleft()
        return 403 if asked.path in self.expired else 0


def _read_head(head: str) -> Asked:
    first, *lines = head.strip().split("\r\n")
    method, path, _ = first.split(" ")
    pairs = (line.split(": ", 1) for line in lines)
    return Asked(method, path, {name.lower(): value for name, value in pairs})


async def _answer(writer: asyncio.StreamWriter, status: int) -> bool:
    writer.write(f"HTTP/1.1 {status} told\r\nContent-Length: 0\r\n\r\n".encode())
    await writer.drain()
    return True
