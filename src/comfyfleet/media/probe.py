"""Have a file looked at by a process of its own (`look.py`): bounded in time, memory, bytes read and bytes told."""

import asyncio
import contextlib
import json
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from importlib.util import find_spec
from typing import Any, Literal
from uuid import UUID

import structlog

from comfyfleet.kernel.errors import MediaRefused, MediaToolsMissing, ProbeOverdue
from comfyfleet.kernel.turns import Turns
from comfyfleet.media.channel import BLOCK_BYTES, HEADER, MESSAGE_BYTES_MAX, POSTER_BYTES_MAX, frame
from comfyfleet.media.model import MIB, Looked, MediaRules, Scored
from comfyfleet.media.sniff import HEAD_BYTES, require_type

# Of a film its index and a few frames are read; of a recording without an index, all of it up to here.
READ_BYTES_MAX = 512 * MIB
# The longer side of a thumb: sharp enough for a card in a list, and a thousand of them are a few megabytes.
THUMB_SIDE = 256
# How long an upload may wait for its turn, in turns.
TURNS_WAITED_MAX = 3
TOOLS = {"probe": ("av", "PIL"), "score": ("numpy", "PIL")}
# Libraries that would start threads for each core, and take memory for each thread.
THREADS = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

Task = Literal["probe", "score"]

Read = Callable[[int, int], Awaitable[bytes]]

log = structlog.get_logger()


class Prober:
    """One for a process: it counts how many look at the same time."""

    def __init__(self, rules: MediaRules) -> None:
        self.rules = rules
        self._turns = Turns(rules.probes_max)
        # A page full of pictures asks for many at once: an upload waits for one of them at most.
        self._thumb_turns = Turns(1)

    async def probe(
        self, read: Read, *, size_bytes: int, media_type: str, field: str, owner: UUID | None = None
    ) -> Looked:
        """`read(offset, count)` gives the file's bytes. Raises `MediaRefused`, which names the field, when the
        file is at fault; `ProbeOverdue` or `MediaToolsMissing` when it may not be."""
        job = {"task": "probe", "media_type": media_type, "size_bytes": size_bytes}
        found = await self._in_turn(job, read, field=field, owner=owner)
        assert isinstance(found, Looked)  # noqa: S101 it was asked to look
        return found

    async def thumb(self, read: Read, *, size_bytes: int, media_type: str, field: str, owner: UUID) -> bytes:
        """A small copy of a picture, or of a frame of a film, as WebP. Raises as `probe` does."""
        job = {"task": "probe", "media_type": media_type, "size_bytes": size_bytes}
        rules = replace(self.rules, poster_side=THUMB_SIDE)
        try:
            async with self._thumb_turns.take(owner, within_s=self.rules.probe_s * TURNS_WAITED_MAX):
                found = await self._in_turn(job, read, field=field, rules=rules)
        except TimeoutError:
            raise ProbeOverdue from None
        assert isinstance(found, Looked)  # noqa: S101 it was asked to look
        return found.poster

    async def score(self, read: Read, *, size_bytes: int, media_type: str, field: str) -> Scored:
        """Of a picture. Raises as `probe` does."""
        job = {"task": "score", "media_type": media_type, "size_bytes": size_bytes}
        found = await self._in_turn(job, read, field=field, owner=None)
        assert isinstance(found, Scored)  # noqa: S101 it was asked to score
        return found

    async def _in_turn(
        self,
        job: dict[str, Any],
        read: Read,
        *,
        field: str,
        owner: UUID | None = None,
        rules: MediaRules | None = None,
    ) -> Looked | Scored:
        require_type(await read(0, min(job["size_bytes"], HEAD_BYTES)), job["media_type"], field=field)
        if not has_tools(job["task"]):
            raise MediaToolsMissing
        try:
            async with (
                self._turns.take(owner, within_s=self.rules.probe_s * TURNS_WAITED_MAX),
                asyncio.timeout(self.rules.probe_s),
            ):
                return await self._look({**job, "rules": asdict(rules or self.rules)}, read, field=field)
        except TimeoutError:
            raise ProbeOverdue from None

    async def _look(self, job: dict[str, Any], read: Read, *, field: str) -> Looked | Scored:
        async with _looking(json.dumps(job)) as process:
            try:
                return await _converse(process, read, field=field)
            except (asyncio.IncompleteReadError, ConnectionError):
                raise MediaRefused(field, await _cause(process)) from None


def has_tools(task: Task) -> bool:
    return all(find_spec(tool) for tool in TOOLS[task])


async def _converse(process: Process, read: Read, *, field: str) -> Looked | Scored:
    try:
        await _next_message(process)
    except (asyncio.IncompleteReadError, ConnectionError) as end:
        # It never came to look at the file: that is our trouble, not the file's.
        raise MediaToolsMissing from end
    read_bytes = 0
    while True:
        said = await _next_message(process)
        if "refused" in said:
            raise MediaRefused(field, said["refused"])
        if "looked" in said:
            return Looked(**said["looked"], poster=await _next_frame(process, bytes_max=POSTER_BYTES_MAX))
        if "scored" in said:
            return Scored(**said["scored"])
        if "trouble" in said:
            log.error("media.probe_lacks", trouble=said["trouble"])
            raise MediaToolsMissing
        offset, count = said["read"]
        read_bytes += count
        if count > BLOCK_BYTES or read_bytes > READ_BYTES_MAX:
            raise MediaRefused(field, "cannot be judged without reading too much of it")
        assert process.stdin is not None  # noqa: S101 it was started with a pipe
        process.stdin.write(frame(await read(offset, count)))
        await process.stdin.drain()


async def _next_message(process: Process) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(await _next_frame(process, bytes_max=MESSAGE_BYTES_MAX))
    return said


async def _next_frame(process: Process, *, bytes_max: int) -> bytes:
    assert process.stdout is not None  # noqa: S101 it was started with a pipe
    (length,) = HEADER.unpack(await process.stdout.readexactly(HEADER.size))
    if length > bytes_max:
        raise ConnectionError("it says more than it may")
    return await process.stdout.readexactly(length)


async def _cause(process: Process) -> str:
    code = await process.wait()
    log.warning("media.probe_died", code=code)
    if code == -signal.SIGXCPU:
        return "takes too long to be read"
    return "cannot be read: it is damaged, or made to do harm"


@asynccontextmanager
async def _looking(job: str) -> AsyncIterator[Process]:
    process = await _start(job)
    try:
        yield process
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        await _end(process)


async def _start(job: str) -> Process:
    """Its environment holds where our code is and nothing else: no secret of the server's."""
    try:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            *("-P", "-s", "-m", "comfyfleet.media.look", job),
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            cwd="/",
            env={
                "PYTHONPATH": os.pathsep.join(each for each in sys.path if each),
                "PYTHONDONTWRITEBYTECODE": "1",
                **THREADS,
            },
            start_new_session=True,
        )
    except OSError as full:
        # No room for one more process: later there will be.
        log.error("media.probe_not_started", problem=str(full))
        raise ProbeOverdue from full


async def _end(process: Process) -> None:
    """Also when the caller has been cancelled: nothing of it may stay."""
    if process.stdin is not None:
        process.stdin.close()
    waiting = asyncio.ensure_future(process.wait())
    while not waiting.done():
        try:
            await asyncio.shield(waiting)
        except asyncio.CancelledError:
            if not waiting.done():
                continue
            raise
