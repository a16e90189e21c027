"""A file of the server to a file of ours, hashed on the way. It is there whole under its name, or not at all."""

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from comfyfleet.comfy.errors import OutputGone
from comfyfleet.comfy.exchange import Answer, Exchange
from comfyfleet.comfy.limits import MIB, Limits
from comfyfleet.comfy.model import FetchedFile, OutputFile

CHUNK_BYTES = 1 * MIB


async def fetch_output(exchange: Exchange, limits: Limits, output: OutputFile, to: Path) -> FetchedFile:
    if output.text is not None:
        return await _keep(output, to, _words(output.text))
    params = {"filename": output.filename, "subfolder": output.subfolder, "type": output.type}
    request = exchange.build("GET", "/view", params=params)
    async with exchange.stream(request, route="/view", limit_s=limits.view_s, idle_s=limits.idle_s) as response:
        if response.status_code == 404:
            raise OutputGone(exchange.address.name, output=output)
        if response.status_code != 200:
            raise Answer(exchange.address.name, "/view", response.status_code, b"").unexpected()
        chunks = exchange.chunks(response, route="/view", limit_bytes=limits.view_bytes, chunk_bytes=CHUNK_BYTES)
        return await _keep(output, to, chunks)


async def _words(text: str) -> AsyncIterator[bytes]:
    yield text.encode(errors="replace")


async def _keep(output: OutputFile, to: Path, chunks: AsyncIterator[bytes]) -> FetchedFile:
    digest = hashlib.sha256()
    size_bytes = 0

    def take(chunk: bytes) -> None:
        digest.update(chunk)
        file.write(chunk)

    with _appearing_whole(to) as file:
        async for chunk in chunks:
            size_bytes += len(chunk)
            await asyncio.to_thread(take, chunk)
    return FetchedFile(output, to, size_bytes, digest.hexdigest())


@contextmanager
def _appearing_whole(to: Path) -> Iterator[BinaryIO]:
    part = to.with_name(f".{uuid4().hex}.part")
    try:
        with part.open("xb") as file:
            yield file
        os.replace(part, to)
    finally:
        part.unlink(missing_ok=True)
