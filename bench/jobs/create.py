"""Job creation over HTTP: one server process, callers that wait for each answer."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from bench.dispatch.ground import Ground
from bench.dispatch.wire import Line, open_line, request_bytes
from bench.jobs.raw import WARM_UP_SHARE
from bench.jobs.studio import ASKED, SLUG, USERS, Round, Studio, key_of, settings_of
from comfyfleet.kernel.ids import new_id
from tests.server import ServerProcess, free_port


def order_bytes(number: int) -> bytes:
    """As our own client sends it: with a key of its own each time."""
    body = {"effect": SLUG, "properties": ASKED, "idempotency_key": str(new_id())}
    return request_bytes("/api/ai-jobs", key_of(number), body)


@dataclass
class HttpCreation:
    port: int
    concurrency: int
    numbers: Round = field(default_factory=lambda: Round(USERS))
    created: int = 0

    async def measure(self, seconds: float) -> float:
        """Jobs a second; the first fifth is for warming up."""
        lines = [await open_line(self.port) for _ in range(self.concurrency)]
        try:
            await self._all_order(lines, seconds * WARM_UP_SHARE)
            before, began = self.created, time.perf_counter()
            await self._all_order(lines, seconds)
            return (self.created - before) / (time.perf_counter() - began)
        finally:
            for line in lines:
                line.close()

    async def create(self, count: int) -> None:
        """So many, and no more."""
        lines = [await open_line(self.port) for _ in range(self.concurrency)]
        until = self.created + count
        try:
            await asyncio.gather(*(self._order_until(line, until) for line in lines))
        finally:
            for line in lines:
                line.close()

    async def _order_until(self, line: Line, count: int) -> None:
        while self.created < count:
            self.created += 1
            await line.call(order_bytes(self.numbers.next()))

    async def _all_order(self, lines: Sequence[Line], seconds: float) -> None:
        until = time.perf_counter() + seconds

        async def order(line: Line) -> None:
            while time.perf_counter() < until:
                await line.call(order_bytes(self.numbers.next()))
                self.created += 1

        await asyncio.gather(*(order(line) for line in lines))


@asynccontextmanager
async def serve(ground: Ground, name: str, studio: Studio, **settings: str) -> AsyncIterator[ServerProcess]:
    """`comfyfleet up` on the studio's databases."""
    server = ServerProcess(
        ground.folder / name, free_port(), {**settings_of(studio.central_url, studio.pool_url), **settings}
    )
    try:
        await asyncio.to_thread(server.start)
        yield server
    finally:
        server.kill()
