"""HTTP/1.1 as plainly as it goes: requests made once, replies read by their length. The caller must not be the cost."""

import asyncio
import json
import re
from collections import deque
from dataclasses import dataclass
from typing import Any, cast

LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
DISPATCH = re.compile(rb'"dispatch_id": ?"([^"]+)"')
LEASE_TOKEN = re.compile(rb'"lease_token": ?"([^"]+)"')
SHOWN_BYTES = 300


class RefusedCall(Exception):
    """The server answered something else than success."""


def request_bytes(path: str, token: str, body: dict[str, Any]) -> bytes:
    text = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {token}\r\n"
    return f"{head}Content-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n".encode() + text


@dataclass(frozen=True, slots=True)
class SimulatedWorker:
    worker_id: str
    token: str

    def poll(self, *, wait_s: float) -> bytes:
        body = {"worker_id": self.worker_id, "providers": ["self_hosted"], "current_load": 0, "max_concurrency": 1}
        return request_bytes("/api/worker/poll", self.token, {**body, "wait_seconds": wait_s, "warm": []})

    def heartbeat(self) -> bytes:
        body = {"worker_id": self.worker_id, "current_load": 0, "leases": []}
        return request_bytes("/api/worker/heartbeat", self.token, body)

    def complete(self, dispatch_id: bytes, lease_token: bytes) -> bytes:
        body = {
            "worker_id": self.worker_id,
            "dispatch_id": dispatch_id.decode(),
            "lease_token": lease_token.decode(),
        }
        return request_bytes("/api/worker/complete", self.token, body)


def job_of(reply: bytes) -> tuple[bytes, bytes] | None:
    """Dispatch id and lease token of a poll's reply, without reading the rest of it."""
    found, token = DISPATCH.search(reply), LEASE_TOKEN.search(reply)
    return (found[1], token[1]) if found and token else None


class Line(asyncio.Protocol):
    """One kept-alive connection. Calls are answered in order."""

    def __init__(self) -> None:
        self._received = b""
        self._asked: deque[asyncio.Future[bytes]] = deque()
        self._transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Not asked by isinstance: uvloop's transports are none of asyncio's classes.
        self._transport = cast(asyncio.WriteTransport, transport)

    def call(self, request: bytes) -> asyncio.Future[bytes]:
        if self._transport is None or self._transport.is_closing():
            raise ConnectionResetError
        answer = asyncio.get_running_loop().create_future()
        self._asked.append(answer)
        self._transport.write(request)
        return answer

    def data_received(self, data: bytes) -> None:
        self._received += data
        while (end := self._received.find(b"\r\n\r\n")) >= 0:
            length = LENGTH.search(self._received, 0, end + 2)
            size = end + 4 + (int(length[1]) if length else 0)
            if len(self._received) < size:
                return
            reply, self._received = self._received[:size], self._received[size:]
            self._answer(reply, end + 4)

    def _answer(self, reply: bytes, body_at: int) -> None:
        answer = self._asked.popleft()
        if answer.done():
            return
        if reply[9:10] == b"2":
            answer.set_result(reply[body_at:])
        else:
            answer.set_exception(RefusedCall(reply[:SHOWN_BYTES].decode(errors="replace")))

    def connection_lost(self, problem: Exception | None) -> None:
        for answer in self._asked:
            if not answer.done():
                answer.set_exception(problem or ConnectionResetError())

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()


async def open_line(port: int) -> Line:
    _, line = await asyncio.get_running_loop().create_connection(Line, "127.0.0.1", port)
    return line
