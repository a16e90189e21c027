"""HTTP/1.1 as plainly as it goes, over one connection that is kept: two hundred callers must not be the cost."""

import asyncio
import re
import ssl
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from comfyfleet.kernel.errors import Unavailable

HEAD_BYTES_MAX = 64 * 1024
BODY_BYTES_MAX = 32 * 1024 * 1024
ANSWER_WITHIN_S = 60.0
TRIES_MAX = 20
PAUSE_S, PAUSE_S_MAX = 0.1, 5.0
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
RETRY_AFTER = re.compile(rb"\r\nretry-after: *(\d+)", re.IGNORECASE)
AGAIN = frozenset({429, 502, 503, 504})


class NoAnswer(Unavailable):
    """The control plane is gone, or too busy for this many workers."""

    code = "simulation_unanswered"
    text = "The control plane did not answer {path} within {tries} tries ({problem})."


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes
    retry_after_s: float = 0.0


class Line:
    """One call at a time. A call that got no answer is sent again: all of the protocol's calls may be."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._host = parts.hostname or ""
        self._port = parts.port or (443 if parts.scheme == "https" else 80)
        self._tls = ssl.create_default_context() if parts.scheme == "https" else None
        self._path = parts.path.rstrip("/")
        self._connection: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, path: str, headers: str, body: bytes, *, wait_s: float = 0.0) -> Answer:
        return await self.say("POST", path, f"{headers}Content-Type: application/json\r\n", body, wait_s=wait_s)

    async def say(self, method: str, path: str, headers: str, body: bytes, *, wait_s: float = 0.0) -> Answer:
        head = f"{method} {self._path}{path} HTTP/1.1\r\nHost: {self._host}:{self._port}\r\n{headers}"
        request = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
        pause_s, problem = PAUSE_S, ""
        for _ in range(TRIES_MAX):
            try:
                async with asyncio.timeout(wait_s + ANSWER_WITHIN_S):
                    answer = await self._ask(request)
                if answer.status not in AGAIN:
                    return answer
                problem, pause_s = f"status {answer.status}", max(pause_s, answer.retry_after_s)
            except (OSError, EOFError, TimeoutError, asyncio.LimitOverrunError) as error:
                problem = str(error) or type(error).__name__
                await self.close()
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, PAUSE_S_MAX)
        raise NoAnswer(path=path.partition("?")[0][:60], tries=TRIES_MAX, problem=problem)

    async def _ask(self, request: bytes) -> Answer:
        if self._connection is None:
            self._connection = await asyncio.open_connection(
                self._host, self._port, ssl=self._tls, limit=HEAD_BYTES_MAX
            )
        reader, writer = self._connection
        try:
            writer.write(request)
            await writer.drain()
            head = await reader.readuntil(b"\r\n\r\n")
            length = LENGTH.search(head)
            count = int(length[1]) if length else 0
            if count > BODY_BYTES_MAX:
                raise OSError(f"an answer of {count} bytes")
            after = RETRY_AFTER.search(head)
            return Answer(int(head[9:12]), await reader.readexactly(count), float(after[1]) if after else 0.0)
        except asyncio.CancelledError:
            await self.close()  # what is still to come belongs to no call
            raise

    async def close(self) -> None:
        if self._connection is not None:
            _, writer = self._connection
            self._connection = None
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()
