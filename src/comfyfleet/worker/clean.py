"""Nothing outlives its job: neither on our disk nor in the server's history, nor in its folders where we reach them."""

import asyncio
import re
import shutil
import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import structlog

from comfyfleet.comfy.connector import Connector
from comfyfleet.comfy.model import OutputFile
from comfyfleet.kernel.errors import FleetError
from comfyfleet.worker.prepare import ROOT, Mark
from comfyfleet.worker.server_folders import ServerFolders

LEFT_BEHIND_S = 6 * 3600.0
PREVIEW = "ComfyUI_temp_"  # how ComfyUI's own previews are called
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")

log = structlog.get_logger()


class WorkFolders:
    """One folder a lease, under the worker's home, which is this process's alone."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def path(self, dispatch_id: UUID, epoch: int) -> Path:
        return self._root / f"{dispatch_id}-{epoch}"

    async def open(self, dispatch_id: UUID, epoch: int) -> Path:
        """What an earlier life of the same lease left there can be gone on with."""
        path = self.path(dispatch_id, epoch)
        await asyncio.to_thread(path.mkdir, parents=True, exist_ok=True)
        return path

    async def discard(self, dispatch_id: UUID, epoch: int) -> None:
        await asyncio.to_thread(shutil.rmtree, self.path(dispatch_id, epoch), ignore_errors=True)

    async def sweep(self, keep: Collection[tuple[UUID, int]] = ()) -> int:
        """At the start: what an earlier life left, but for leases that go on. How many went."""
        kept = {self.path(dispatch_id, epoch).name for dispatch_id, epoch in keep}
        return await asyncio.to_thread(self._sweep, kept)

    def _sweep(self, kept: Collection[str]) -> int:
        left = [path for path in _inside(self._root) if path.name not in kept]
        for path in left:
            _remove(path)
        return len(left)


class ServerFiles:
    """Our files in the folders of a ComfyUI on this machine; None: they are out of reach, and stay."""

    def __init__(self, folders: ServerFolders | None) -> None:
        self._folders = folders

    def locate(self, output: OutputFile) -> Path | None:
        """Where it lies on this machine, if that is certain: only an attempt of ours saves under a mark of ours."""
        if self._folders is None or output.type != "output" or not output.subfolder.startswith(f"{ROOT}/"):
            return None
        path = self._folders.output / output.subfolder / output.filename
        return path if path.is_file() and _is_within(path, self._folders.output) else None

    async def remove(self, mark: Mark, outputs: Collection[OutputFile] = ()) -> None:
        """This attempt's inputs and outputs, and the previews among `outputs`. That some stay fails no job."""
        if self._folders is not None:
            await asyncio.to_thread(self._remove, self._folders, mark, outputs)

    async def sweep(self, keep_nonces: Collection[str] = (), *, older_than_s: float = LEFT_BEHIND_S) -> int:
        """At the start: what crashes left there. Another worker may use the same server: only what is old goes."""
        if self._folders is None:
            return 0
        return await asyncio.to_thread(self._sweep, self._folders, keep_nonces, time.time() - older_than_s)

    def _remove(self, folders: ServerFolders, mark: Mark, outputs: Collection[OutputFile]) -> None:
        for folder in folders.all:
            _remove(folder / mark.folder)
        for output in outputs:
            path = folders.temp / output.subfolder / output.filename
            if output.type == "temp" and path.name.startswith(PREVIEW) and _is_within(path, folders.temp):
                _remove(path)

    def _sweep(self, folders: ServerFolders, keep_nonces: Collection[str], before: float) -> int:
        # A day that may still be used is left alone, even empty: a server may be about to save into it.
        yesterday = (datetime.now(UTC) - timedelta(days=2)).date().isoformat()
        swept = 0
        for folder in folders.all:
            for day in (path for path in _inside(folder / ROOT) if _DAY.fullmatch(path.name)):
                for path in _inside(day):
                    if path.name not in keep_nonces and _changed_at(path) < before:
                        _remove(path)
                        swept += 1
                if day.name < yesterday:
                    with suppress(OSError):
                        day.rmdir()
        return swept


async def forget_prompt(connector: Connector, prompt_id: str) -> bool:
    """Our history entry, after delivery. A server that is away is no reason to fail a job that is done."""
    try:
        await connector.forget(prompt_id)
    except FleetError as error:
        log.warning("history entry stays", server=connector.name, prompt_id=prompt_id, error=error.code)
        return False
    return True


def _inside(folder: Path) -> Iterator[Path]:
    with suppress(FileNotFoundError, NotADirectoryError):
        yield from list(folder.iterdir())


def _changed_at(path: Path) -> float:
    try:
        return path.lstat().st_mtime
    except FileNotFoundError:
        return 0.0


def _is_within(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder.resolve())


def _remove(path: Path) -> None:
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        # Somebody else's, or busy. It will be there for the next sweep.
        log.warning("file stays", path=str(path), error=error.strerror)
