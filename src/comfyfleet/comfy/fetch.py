"""A file of the server to a file of ours, hashed on the way. It is there whole under its name, or not at all."""

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TypeAlias
from uuid import uuid4

from comfyfleet.comfy.errors import OutputGone
from comfyfleet.comfy.exchange import Answer, Exchange
from comfyfleet.comfy.limits import MIB, Limits
from comfyfleet.comfy.model import Arrival, FetchedFile, OutputFile

CHUNK_BYTES = 1 * MIB


Tell: TypeAlias = Callable[[Arrival], None]


async def fetch_output(
    exchange: Exchange, limits: Limits, output: OutputFile, to: Path, *, tell: Tell | None = None
) -> FetchedFile:
    if output.text is not None:
        return await keep(output, to, words_of(output.text))
    params = {"filename": output.filename, "subfolder": output.subfolder, "type": output.type}
    request = exchange.build("GET", "/view", params=params)
    async with exchange.stream(request, route="/view", limit_s=limits.view_s, idle_s=limits.idle_s) as response:
        if response.status_code == 404:
            raise OutputGone(exchange.address.name, output=output)
        if response.status_code != 200:
            raise Answer(exchange.address.name, "/view", response.status_code, b"").unexpected()
        chunks = exchange.chunks(response, route="/view", limit_bytes=limits.view_bytes, chunk_bytes=CHUNK_BYTES)
        told = response.headers.get("Content-Length", "")
        return await keep(output, to, chunks, tell=tell, of_bytes=int(told) if told.isdecimal() else None)


async def words_of(text: str) -> AsyncIterator[bytes]:
    yield text.encode(errors="replace")


async def keep(
    output: OutputFile,
    to: Path,
    chunks: AsyncIterator[bytes],
    *,
    tell: Tell | None = None,
    of_bytes: int | None = None,
) -> FetchedFile:
    digest = hashlib.sha256()
    size_bytes = 0

    def take(chunk: bytes) -> None:
        file.write(chunk)
        file.flush()
        digest.update(chunk)

    with _appearing_whole(to) as (part, file):
        async for chunk in chunks:
            size_bytes += len(chunk)
            await asyncio.to_thread(take, chunk)
            if tell is not None:
                tell(Arrival(part, size_bytes, of_bytes))
    return FetchedFile(output, to, size_bytes, digest.hexdigest())


@contextmanager
def _appearing_whole(to: Path) -> Iterator[tuple[Path, BinaryIO]]:
    to.parent.mkdir(parents=True, exist_ok=True)
    part = to.with_name(f".{uuid4().hex}.part")
    try:
        with part.open("xb") as file:
            yield part, file
        os.replace(part, to)
    finally:
        part.unlink(missing_ok=True)
