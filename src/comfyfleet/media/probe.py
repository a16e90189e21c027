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
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from typing import Any, Literal, TypeVar
from uuid import UUID

import structlog

from comfyfleet.kernel.errors import MediaRefused, MediaSandboxMissing, MediaToolsMissing, ProbeOverdue
from comfyfleet.kernel.turns import Turns
from comfyfleet.media.answers import (
    Answer,
    LookedAt,
    Misbehaved,
    ReadBlock,
    Reads,
    Ready,
    Refusal,
    ScoredAs,
    Trouble,
    check_looked,
    check_scored,
    parse_answer,
    printable,
)
from comfyfleet.media.channel import HEADER, MESSAGE_BYTES_MAX, POSTER_BYTES_MAX, frame
from comfyfleet.media.model import Looked, MediaRules, Scored, kind_of
from comfyfleet.media.seccomp import why_none
from comfyfleet.media.sniff import HEAD_BYTES, require_type

# The longer side of a thumb: sharp enough for a card in a list, and a thousand of them are a few megabytes.
THUMB_SIDE = 256
# How long an upload may wait for its turn, in turns.
TURNS_WAITED_MAX = 3
HARMFUL = "cannot be read: it is damaged, or made to do harm"
TOOLS = {"probe": ("av", "PIL"), "score": ("numpy", "PIL")}
# Libraries that would start threads for each core, and take memory for each thread.
THREADS = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

Task = Literal["probe", "score"]
Found = TypeVar("Found", Looked, Scored)

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
        return await self._in_turn(job, read, _end_look, field=field, owner=owner)

    async def thumb(self, read: Read, *, size_bytes: int, media_type: str, field: str, owner: UUID) -> bytes:
        """A small copy of a picture, or of a frame of a film, as WebP. Raises as `probe` does."""
        job = {"task": "probe", "media_type": media_type, "size_bytes": size_bytes}
        rules = replace(self.rules, poster_side=THUMB_SIDE)
        try:
            async with self._thumb_turns.take(owner, within_s=self.rules.probe_s * TURNS_WAITED_MAX):
                return (await self._in_turn(job, read, _end_look, field=field, rules=rules)).poster
        except TimeoutError:
            raise ProbeOverdue from None

    async def score(self, read: Read, *, size_bytes: int, media_type: str, field: str) -> Scored:
        """Of a picture. Raises as `probe` does."""
        job = {"task": "score", "media_type": media_type, "size_bytes": size_bytes}
        return await self._in_turn(job, read, _end_score, field=field)

    def trouble(self) -> str | None:
        """Why uploads are not looked at as they should be, as the code of an error; None when all is well."""
        return MediaSandboxMissing.code if has_tools("probe") and why_none() else None

    async def _in_turn(
        self,
        job: dict[str, Any],
        read: Read,
        end: "End[Found]",
        *,
        field: str,
        owner: UUID | None = None,
        rules: MediaRules | None = None,
    ) -> Found:
        require_type(await read(0, min(job["size_bytes"], HEAD_BYTES)), job["media_type"], field=field)
        if not has_tools(job["task"]):
            raise MediaToolsMissing
        talk = Talk(read, job, rules or self.rules, field)
        try:
            async with (
                self._turns.take(owner, within_s=self.rules.probe_s * TURNS_WAITED_MAX),
                asyncio.timeout(self.rules.probe_s),
            ):
                return await _look(talk, end)
        except TimeoutError:
            raise ProbeOverdue from None


def has_tools(task: Task) -> bool:
    return all(find_spec(tool) for tool in TOOLS[task])


@dataclass(frozen=True, slots=True)
class Talk:
    """What one process is asked, and how it reads the file."""

    read: Read
    job: dict[str, Any]
    rules: MediaRules
    field: str


# Makes the result of the process's last message, or raises `Misbehaved`.
End = Callable[[Process, Talk, Answer], Awaitable[Found]]


async def _look(talk: Talk, end: End[Found]) -> Found:
    async with _looking(json.dumps({**talk.job, "rules": asdict(talk.rules)})) as process:
        await _require_ready(process, talk.rules)
        try:
            return await end(process, talk, await _serve_reads(process, talk))
        except (asyncio.IncompleteReadError, ConnectionError):
            raise MediaRefused(talk.field, await _cause(process)) from None
        except Misbehaved as problem:
            log.warning("media.probe_misbehaved", problem=printable(str(problem)))
            raise MediaRefused(talk.field, HARMFUL) from None


async def _require_ready(process: Process, rules: MediaRules) -> None:
    """A process that never comes to look at the file is our trouble, not the file's."""
    try:
        said = await _next_answer(process)
    except (asyncio.IncompleteReadError, ConnectionError, Misbehaved) as failed:
        raise MediaToolsMissing from failed
    if not isinstance(said, Ready):
        raise MediaToolsMissing
    if said.unconfined is not None and rules.requires_sandbox:
        log.error("media.probe_unconfined", problem=said.unconfined)
        raise MediaSandboxMissing


async def _serve_reads(process: Process, talk: Talk) -> Answer:
    """Until it says something else."""
    assert process.stdin is not None  # noqa: S101 it was started with a pipe
    reads = Reads(talk.job["size_bytes"])
    while isinstance(said := await _next_answer(process), ReadBlock):
        reads.count(said)
        if reads.are_too_many():
            raise MediaRefused(talk.field, "cannot be judged without reading too much of it")
        process.stdin.write(frame(await talk.read(said.offset, said.count)))
        await process.stdin.drain()
    if isinstance(said, Refusal):
        raise MediaRefused(talk.field, printable(said.text))
    if isinstance(said, Trouble):
        log.error("media.probe_lacks", trouble=printable(said.text))
        raise MediaToolsMissing
    return said


async def _end_look(process: Process, talk: Talk, said: Answer) -> Looked:
    if not isinstance(said, LookedAt):
        raise Misbehaved(f"{type(said).__name__} instead of what it saw")
    poster = await _next_frame(process, bytes_max=POSTER_BYTES_MAX)
    return check_looked(said, poster, talk.rules, is_film=kind_of(talk.job["media_type"]) == "video")


async def _end_score(_process: Process, _talk: Talk, said: Answer) -> Scored:
    if not isinstance(said, ScoredAs):
        raise Misbehaved(f"{type(said).__name__} instead of scores")
    return check_scored(said)


async def _next_answer(process: Process) -> Answer:
    return parse_answer(await _next_frame(process, bytes_max=MESSAGE_BYTES_MAX))


async def _next_frame(process: Process, *, bytes_max: int) -> bytes:
    assert process.stdout is not None  # noqa: S101 it was started with a pipe
    (length,) = HEADER.unpack(await process.stdout.readexactly(HEADER.size))
    if length > bytes_max:
        raise Misbehaved(f"a frame of {length} bytes where {bytes_max} are the most")
    return await process.stdout.readexactly(length)


async def _cause(process: Process) -> str:
    code = await process.wait()
    # SIGSYS: it called what only an attack calls (`seccomp.py`).
    log.warning("media.probe_attacked" if code == -signal.SIGSYS else "media.probe_died", code=code)
    return "takes too long to be read" if code == -signal.SIGXCPU else HARMFUL


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
