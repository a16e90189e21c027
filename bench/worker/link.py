"""The worker's line to the outside, as a process: a TCP proxy before the control plane, its object routes included,
that carries so many bytes a second each way, over all connections together. It writes down each object that passes.
`python -m bench.worker.link PORT DIARY BYTES_A_SECOND`; says its address on stdout."""

import asyncio
import json
import re
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TextIO

import uvloop

CHUNK_BYTES = 128 * 1024
LATE_S = 0.1  # what this process lost by being woken late is made good; on a busy machine that is every chunk
WORDS_BYTES = 8 * 1024
_REQUEST = re.compile(rb"(GET|PUT) /objects/([^ ?]+)")
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
HEAD_END = b"\r\n\r\n"


class Throttle:
    """Of one direction. Whoever asks waits until its bytes would have passed. Words between the files pass by."""

    def __init__(self, bytes_s: float, *, now: Callable[[], float] = time.monotonic) -> None:
        self._bytes_s, self._now = bytes_s, now
        self._free_at = 0.0

    def reserve(self, size_bytes: int) -> float:
        """Seconds to wait. A line that was free for longer has saved nothing up."""
        now = self._now()
        if size_bytes <= WORDS_BYTES:
            return 0.0
        since = self._free_at if now - self._free_at <= LATE_S else now
        self._free_at = since + size_bytes / self._bytes_s
        return max(0.0, self._free_at - now)

    async def carry(self, size_bytes: int) -> None:
        if (wait_s := self.reserve(size_bytes)) > 0:
            await asyncio.sleep(wait_s)


@dataclass(slots=True)
class Passing:
    """`began`: the request came here; `ended`: the last byte of the object left; `answered`: the store's word did."""

    verb: str
    token: str
    began: float
    ended: float = 0.0
    answered: float = 0.0
    left_bytes: int | None = None


class Exchange:
    """What passes on one connection: one object at a time, told by the heads of requests and answers."""

    def __init__(self, written: TextIO, *, now: Callable[[], float] = time.time) -> None:
        self._written, self._now = written, now
        self._passing: Passing | None = None

    def came_up(self, chunk: bytes) -> None:
        if self._passing is None and (found := _REQUEST.match(chunk)):
            self._passing = Passing(found[1].decode(), found[2].decode(), self._now())
            if self._passing.verb == "PUT":
                self._measure(self._passing, chunk)

    def went_up(self, chunk: bytes) -> None:
        if self._passing is not None and self._passing.verb == "PUT":
            self._count(self._passing, len(chunk))

    def came_down(self, chunk: bytes) -> None:
        passing = self._passing
        if passing is not None and passing.verb == "GET" and passing.left_bytes is None:
            self._measure(passing, chunk)

    def went_down(self, chunk: bytes) -> None:
        passing = self._passing
        if passing is None:
            return
        if passing.verb == "GET":
            self._count(passing, len(chunk))
        if passing.ended:
            passing.answered, self._passing = self._now(), None
            self._written.write(json.dumps(asdict(passing)) + "\n")
            self._written.flush()

    def _measure(self, passing: Passing, head: bytes) -> None:
        told = _LENGTH.search(head)
        end = head.find(HEAD_END)
        if told is not None and end >= 0:
            passing.left_bytes = end + len(HEAD_END) + int(told[1])

    def _count(self, passing: Passing, size_bytes: int) -> None:
        if passing.left_bytes is None:
            return
        passing.left_bytes -= size_bytes
        if passing.left_bytes <= 0:
            passing.ended = self._now()


class Link:
    def __init__(self, to_port: int, written: TextIO, bytes_s: float) -> None:
        self._to_port, self._written = to_port, written
        self._up, self._down = Throttle(bytes_s), Throttle(bytes_s)

    async def serve(self, tell: Callable[[str], None]) -> None:
        server = await asyncio.start_server(self._connect, "127.0.0.1", 0, limit=CHUNK_BYTES)
        tell(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        await server.serve_forever()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        exchange = Exchange(self._written)
        with suppress(OSError):
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._to_port, limit=CHUNK_BYTES)
            up = _carry(reader, far_writer, self._up, exchange.came_up, exchange.went_up)
            down = _carry(far_reader, writer, self._down, exchange.came_down, exchange.went_down)
            try:
                await asyncio.gather(up, down)
            finally:
                far_writer.close()
        writer.close()


async def _carry(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    throttle: Throttle,
    came: Callable[[bytes], None],
    went: Callable[[bytes], None],
) -> None:
    with suppress(OSError):
        while chunk := await reader.read(CHUNK_BYTES):
            came(chunk)
            await throttle.carry(len(chunk))
            writer.write(chunk)
            await writer.drain()
            went(chunk)
    writer.close()


def _say(address: str) -> None:
    print(address, flush=True)


def main(to_port: int, diary: Path, bytes_s: float) -> None:
    with diary.open("a") as written, suppress(KeyboardInterrupt):
        uvloop.run(Link(to_port, written, bytes_s).serve(_say))


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3]))
