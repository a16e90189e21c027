"""Files on their way out: one that still arrives, whose reader waits where its writer is; one that is there already.

Both can be read again from the first byte, by whoever was cut.
"""

import asyncio
import hashlib
import os
from collections.abc import AsyncGenerator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from comfyfleet.comfy.model import Arrival, FetchedFile
from comfyfleet.worker.landing import CHUNK_BYTES


class Spool:
    """Hears of the file by `grew` and `ended`; what went wrong there, its readers raise."""

    def __init__(self) -> None:
        self._descriptor: int | None = None
        self._here_bytes = 0
        self._size_bytes: int | None = None
        self._task: asyncio.Task[FetchedFile] | None = None
        self._news = asyncio.Event()

    def grew(self, arrival: Arrival) -> None:
        self._open(arrival.path)
        self._here_bytes, self._size_bytes = arrival.bytes, arrival.of_bytes
        self._tell()

    def ended(self, task: asyncio.Task[FetchedFile]) -> None:
        self._task = task
        if not task.cancelled() and task.exception() is None:
            fetched = task.result()
            self._open(fetched.path)
            self._here_bytes = self._size_bytes = fetched.bytes
        self._tell()

    async def measured(self) -> int:
        """How long it will be. Comes back with the first word of the sender, or else at the end."""
        while self._size_bytes is None:
            await self._wait()
        return self._size_bytes

    @property
    def size_bytes(self) -> int:
        if self._size_bytes is None:
            raise RuntimeError("measure it first")
        return self._size_bytes

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        offset = 0
        while offset < self.size_bytes:
            while self._here_bytes <= offset:
                await self._wait()
            chunk = await asyncio.to_thread(self._read, min(CHUNK_BYTES, self._here_bytes - offset), offset)
            offset += len(chunk)
            yield chunk

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _open(self, path: Path) -> None:
        # It will be renamed when it is whole; what is open stays open.
        if self._descriptor is None:
            with suppress(FileNotFoundError):
                self._descriptor = os.open(path, os.O_RDONLY)

    def _read(self, size_bytes: int, offset: int) -> bytes:
        if self._descriptor is None:
            raise FileNotFoundError("the file went away before it was read")
        return os.pread(self._descriptor, size_bytes, offset)

    def _tell(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    async def _wait(self) -> None:
        if self._task is not None:
            self._task.result()  # raises what stopped it
            raise EOFError("the file ended before its told length")
        await self._news.wait()


class OnDisk:
    """A file that the server saved on this machine. Hashed as it is read."""

    def __init__(self, path: Path, size_bytes: int) -> None:
        self._path, self.size_bytes = path, size_bytes
        self._digest = hashlib.sha256()

    @property
    def sha256(self) -> str:
        """Of what was read last."""
        return self._digest.hexdigest()

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        self._digest = hashlib.sha256()
        left = self.size_bytes
        with self._path.open("rb") as file:
            while left:
                chunk = await asyncio.to_thread(self._read, file, min(CHUNK_BYTES, left))
                if not chunk:
                    raise EOFError("the file became shorter while it was read")
                left -= len(chunk)
                yield chunk

    def _read(self, file: BinaryIO, size_bytes: int) -> bytes:
        chunk = file.read(size_bytes)
        self._digest.update(chunk)
        return chunk
