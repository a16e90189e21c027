"""HTTP/1.1 over a plain socket, for workers that must cost next to nothing. When a server is gone, it asks another."""

import asyncio
import json
import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
ANSWER_WITHIN_S = 15.0
PAUSE_S = 0.1


class NoAnswer(Exception):
    """Nobody there, or hung up before the reply: what was asked may have happened, or not."""


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: dict[str, Any]

    @property
    def code(self) -> str | None:
        return (self.body.get("error") or {}).get("code")


@dataclass
class Line:
    """One kept-alive connection to one of several servers."""

    ports: list[int]
    at: int = 0
    lost_replies: int = 0
    _open: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = field(default=None, repr=False)

    async def insist(self, verb: str, headers: dict[str, str], body: dict[str, Any], *, wait_s: float = 0.0) -> Answer:
        """The same words again until somebody answers them, here or at another server."""
        while True:
            with suppress(NoAnswer):
                answer = await self.ask(verb, headers, body, within_s=wait_s + ANSWER_WITHIN_S)
                if answer.status not in (429, 503):
                    return answer
            self.lost_replies += 1
            self.at = (self.at + 1) % len(self.ports)
            await asyncio.sleep(PAUSE_S)

    async def ask(self, verb: str, headers: dict[str, str], body: dict[str, Any], *, within_s: float) -> Answer:
        """Once. Whoever does not wait for the reply hangs up."""
        return await self._within(_request(verb, headers, body), within_s)

    async def _within(self, request: bytes, within_s: float) -> Answer:
        try:
            async with asyncio.timeout(within_s):
                return await self._exchange(request)
        except (OSError, EOFError, TimeoutError, asyncio.LimitOverrunError) as problem:
            self.hang_up()
            raise NoAnswer from problem

    async def put(self, url: str, headers: dict[str, str], content: bytes) -> None:
        """An object, at whichever server answers: they have one store. What is there already stays as it is (412)."""
        while True:
            with suppress(NoAnswer):
                answer = await self._within(_put(url, headers, content), ANSWER_WITHIN_S)
                if answer.status in (200, 412):
                    return
            self.lost_replies += 1
            self.at = (self.at + 1) % len(self.ports)
            await asyncio.sleep(PAUSE_S)

    async def _exchange(self, request: bytes) -> Answer:
        if self._open is None:
            self._open = await asyncio.open_connection("127.0.0.1", self.ports[self.at])
        reader, writer = self._open
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        length = LENGTH.search(head)
        text = await reader.readexactly(int(length[1]) if length else 0)
        return Answer(int(head[9:12]), json.loads(text) if text else {})

    def hang_up(self) -> None:
        if self._open is not None:
            self._open[1].transport.abort()
            self._open = None


def _request(verb: str, headers: dict[str, str], body: dict[str, Any]) -> bytes:
    text = json.dumps(body).encode()
    said = {**headers, "Host": "chaos", "Content-Type": "application/json", "Content-Length": str(len(text))}
    lines = "".join(f"{name}: {value}\r\n" for name, value in said.items())
    return f"POST /api/worker/{verb} HTTP/1.1\r\n{lines}\r\n".encode() + text


def _put(url: str, headers: dict[str, str], content: bytes) -> bytes:
    """To the server itself, whatever address it signed for."""
    parts = urlsplit(url)
    said = {**headers, "Host": "chaos", "Content-Length": str(len(content))}
    lines = "".join(f"{name}: {value}\r\n" for name, value in said.items())
    return f"PUT {parts.path}?{parts.query} HTTP/1.1\r\n{lines}\r\n".encode() + content
