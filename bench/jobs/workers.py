"""Simulated workers that do all that a worker does but the work: take a job, put a result into the store, complete."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from bench.dispatch.wire import Line, SimulatedWorker, open_line, request_bytes

WAIT_S = 20
PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(1000)
MADE = {"name": "made.png", "mime_type": "image/png", "size": len(PICTURE)}


@dataclass
class Hand:
    """One worker on one connection."""

    worker: SimulatedWorker
    line: Line

    async def work(self) -> None:
        poll = self.worker.poll(wait_s=WAIT_S)
        while True:
            job = json.loads(await self.line.call(poll))["job"]
            if job is not None:
                await self._deliver({name: job[name] for name in ("dispatch_id", "lease_token")})

    async def _deliver(self, lease: dict[str, str]) -> None:
        (place,) = (await self._say("outputs", **lease, outputs=[MADE]))["outputs"]
        await self.line.call(put_bytes(place["output_url"], place["output_headers"], PICTURE))
        await self._say("complete", **lease, outputs=[{**MADE, "path": place["path"]}])

    async def _say(self, verb: str, **said: Any) -> Any:
        body = {"worker_id": self.worker.worker_id, **said}
        return json.loads(await self.line.call(request_bytes(f"/api/worker/{verb}", self.worker.token, body)))


def put_bytes(url: str, headers: dict[str, str], content: bytes) -> bytes:
    """To the server itself, whose store this is."""
    _, _, path, query, _ = urlsplit(url)
    own = {"Host": "bench", **headers, "Content-Length": str(len(content))}
    head = "".join(f"{name}: {value}\r\n" for name, value in own.items())
    return f"PUT {path}?{query} HTTP/1.1\r\n{head}\r\n".encode() + content


@asynccontextmanager
async def at_work(port: int, workers: Sequence[SimulatedWorker]) -> AsyncIterator[list["asyncio.Task[None]"]]:
    """While this is open. Who looks at the tasks learns whether one of them has stopped."""
    lines = [await open_line(port) for _ in workers]
    tasks = [asyncio.create_task(Hand(*each).work()) for each in zip(workers, lines, strict=True)]
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for line in lines:
            line.close()
