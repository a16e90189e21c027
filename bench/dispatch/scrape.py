"""A Prometheus that reads a server's metrics, more often than one would."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2

EVERY_S = 5.0
OPENMETRICS = {"Accept": "application/openmetrics-text; version=1.0.0"}


@asynccontextmanager
async def scraped(port: int) -> AsyncIterator[list[float]]:
    """How long each scrape took, in seconds, so far."""
    took: list[float] = []
    task = asyncio.create_task(_scrape(f"http://127.0.0.1:{port}/metrics", took))
    try:
        yield took
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _scrape(url: str, took: list[float]) -> None:
    async with httpx2.AsyncClient() as client:
        while True:
            began = time.perf_counter()
            (await client.get(url, headers=OPENMETRICS)).raise_for_status()
            took.append(time.perf_counter() - began)
            await asyncio.sleep(EVERY_S)
