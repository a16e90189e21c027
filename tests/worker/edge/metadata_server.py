"""EC2's instance metadata service, as far as a worker asks it; over a real socket."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

ACTION = "/latest/meta-data/spot/instance-action"
REBALANCE = "/latest/meta-data/events/recommendations/rebalance"


@dataclass
class MetadataServer:
    """What is not in `says` is 404. Tokens that are not in `tokens` are refused, as those of an earlier life are."""

    port: int = 0
    says: dict[str, bytes] = field(default_factory=dict)
    tokens: set[str] = field(default_factory=set)
    given: int = 0
    asked: list[str] = field(default_factory=list)
    hangs: bool = False
    answers_anyone: bytes | None = None  # garbage for every request

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            if self.hangs:
                await reader.read()  # until the caller has gone
                return
            status, body = self._answer(head)
            writer.write(b"HTTP/1.1 %d X\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % (status, len(body)))
            writer.write(body)
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def _answer(self, head: str) -> tuple[int, bytes]:
        method, path, _ = head.split(" ", 2)
        headers = {
            name.strip().lower(): value.strip()
            for name, _, value in (line.partition(":") for line in head.split("\r\n")[1:])
        }
        self.asked.append(f"{method} {path}")
        if self.answers_anyone is not None:
            return 200, self.answers_anyone
        if method == "PUT" and path == "/latest/api/token" and "x-aws-ec2-metadata-token-ttl-seconds" in headers:
            self.given += 1
            self.tokens.add(f"token-{self.given}")
            return 200, f"token-{self.given}".encode()
        if headers.get("x-aws-ec2-metadata-token") not in self.tokens:
            return 401, b""
        return (200, self.says[path]) if path in self.says else (404, b"<html>not found</html>")


@asynccontextmanager
async def a_metadata_server(**says: object) -> AsyncIterator[MetadataServer]:
    metadata = MetadataServer()
    server = await asyncio.start_server(metadata.serve, "127.0.0.1", 0)
    metadata.port = server.sockets[0].getsockname()[1]
    try:
        yield metadata
    finally:
        server.close()
