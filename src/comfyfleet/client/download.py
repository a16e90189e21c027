"""An output to a file of ours, streamed and counted. It is there whole under its name, or not at all."""

import hashlib
import os
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from comfyfleet.client.ask import Patience, ask_for, error_of
from comfyfleet.client.errors import DownloadMismatch, StillRunning
from comfyfleet.client.events import Downloading
from comfyfleet.client.jobs import read_job
from comfyfleet.client.model import Job, Output, SavedOutput, SignedRequest, Stored
from comfyfleet.client.steps import Answer, Broken, Call, Close, Flow, Open, Pause, Read, Work
from comfyfleet.kernel.errors import InvalidInput, NotFound

TellBytes = Callable[[Downloading], None]
IDLE_S = 60.0
NAME_CHARS_MAX = 150
NAMES_TRIED_MAX = 10_000
GONE = frozenset({401, 403, 404})


def save_output(output: Output, to: Path, patience: Patience, tell: TellBytes) -> Flow[SavedOutput]:
    return _Saving(output, to, patience, tell).save()


def save_outputs(job: Job, folder: Path, patience: Patience, tell: TellBytes) -> Flow[list[SavedOutput]]:
    """Under their own names; where one is taken, beside it. Nothing that is there is overwritten.

    A job that was looked at before its end is looked at again. Raises StillRunning."""
    if not job.is_over:
        job = yield from read_job(job.id, patience)
    if not job.is_over:
        raise StillRunning(job.id, job.status, 0.0)
    saved = []
    for output in job.outputs:
        to = yield Work(partial(_free_path, folder, output.name))
        saved.append((yield from save_output(output, to, patience, tell)))
    return saved


def plain_name(name: str) -> str:
    """A worker chose it: it stays in its folder, and is seen there."""
    last = re.split(r"[/\\]", name)[-1]
    kept = "".join(letter if letter.isprintable() and letter not in '<>:"|?*' else "_" for letter in last)
    return kept.strip(" .")[-NAME_CHARS_MAX:] or "output"


def _free_path(folder: Path, name: str) -> Path:
    if folder.exists() and not folder.is_dir():
        raise InvalidInput("to", f"{folder} is no folder")
    folder.mkdir(parents=True, exist_ok=True)
    wanted = folder / plain_name(name)
    for number in range(2, NAMES_TRIED_MAX):
        if not wanted.exists():
            return wanted
        plain = folder / plain_name(name)
        wanted = plain.with_name(f"{plain.stem}-{number}{plain.suffix}")
    raise InvalidInput("to", f"{folder} is full of files of that name")


class _Saving:
    def __init__(self, output: Output, to: Path, patience: Patience, tell: TellBytes) -> None:
        self._output, self._to, self._patience, self._tell = output, to, patience, tell
        self._part = to.with_name(f".{uuid4().hex}.part")
        self._digest, self._size_bytes = hashlib.sha256(), 0

    def save(self) -> Flow[SavedOutput]:
        file: BinaryIO = yield Work(self._create)
        try:
            with file:
                yield from self._fill(file)
            self._check()
            yield Work(partial(os.replace, self._part, self._to))
        finally:
            self._part.unlink(missing_ok=True)
        return SavedOutput(self._output, self._to, self._digest.hexdigest())

    def _create(self) -> BinaryIO:
        self._to.parent.mkdir(parents=True, exist_ok=True)
        return self._part.open("xb")

    def _fill(self, file: BinaryIO) -> Flow[None]:
        """After a break it goes on where it was: an object is never overwritten."""
        attempt = 0
        while self._size_bytes < self._output.size or attempt == 0:
            attempt += 1
            before = self._size_bytes
            outcome: Answer | Broken = yield from self._fetch(file)
            if isinstance(outcome, Answer) and outcome.status < 300:
                return
            attempt = 0 if self._size_bytes > before else attempt
            expired = isinstance(outcome, Answer) and outcome.status in GONE and attempt < 2
            pause_s = self._patience.pause_after(outcome, max(attempt, 1))
            if pause_s is None and not expired:
                raise error_of(outcome)
            yield Pause(pause_s or 0.0)

    def _fetch(self, file: BinaryIO) -> Flow[Answer | Broken]:
        signed = yield from self._signed()
        headers = {"Range": f"bytes={self._size_bytes}-"} if self._size_bytes else {}
        call = Call("GET", signed.url, headers={**signed.headers, **headers}, is_signed=True, idle_s=IDLE_S)
        opened: Answer | Broken = yield Open(call)
        if isinstance(opened, Broken) or opened.status >= 300:
            yield Close()
            return opened
        if self._size_bytes and opened.status != 206:
            yield Work(partial(self._begin_anew, file))
        while isinstance(chunk := (yield Read()), bytes):
            yield Work(partial(self._keep, file, chunk))
            self._tell(Downloading(self._output.name, self._size_bytes, self._output.size))
        yield Close()
        return opened if chunk is None else chunk

    def _signed(self) -> Flow[SignedRequest]:
        """A fresh one each time: what came with the job may have run out."""
        call = Call("GET", f"/api/files/{self._output.file_id}")
        stored = yield from ask_for(call, Stored, self._patience)
        if stored.download is None:
            raise NotFound("output", self._output.name)
        return stored.download

    def _begin_anew(self, file: BinaryIO) -> None:
        file.seek(0)
        file.truncate()
        self._digest, self._size_bytes = hashlib.sha256(), 0

    def _keep(self, file: BinaryIO, chunk: bytes) -> None:
        self._size_bytes += len(chunk)
        if self._size_bytes > self._output.size:
            raise DownloadMismatch(self._output.name, f"more than the {self._output.size} bytes that it has came")
        self._digest.update(chunk)
        file.write(chunk)

    def _check(self) -> None:
        name, expected = self._output.name, self._output
        if self._size_bytes != expected.size:
            raise DownloadMismatch(name, f"{self._size_bytes} of {expected.size} bytes came")
        if expected.sha256 is not None and self._digest.hexdigest() != expected.sha256:
            raise DownloadMismatch(name, "the bytes are not those that were made")
