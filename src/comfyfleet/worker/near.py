"""A server whose input folder we reach: files are copied there, and not sent through it a second time."""

import asyncio
import os
import shutil
from pathlib import Path

from comfyfleet.comfy.connector import Connector
from comfyfleet.comfy.model import UploadedFile, UploadKind


class NearServer:
    """The first file goes by the server. If it then lies where we look, the folder is that server's, and is used."""

    def __init__(self, connector: Connector, input_folder: Path | None) -> None:
        self._connector, self._folder = connector, input_folder
        self._is_near = False

    def sees(self, placed: UploadedFile) -> bool:
        """False: it is gone from the folder. What we cannot see may well be there."""
        return self._folder is None or not self._is_near or _touch(self._folder / placed.subfolder / placed.name)

    def doubt(self) -> None:
        """It lacks what we put there: the folder may be another one by now. The next file goes by the server again."""
        self._is_near = False

    async def upload(
        self, source: Path | bytes, *, name: str, kind: UploadKind = "file", subfolder: str = ""
    ) -> UploadedFile:
        if self._is_near and self._folder is not None and isinstance(source, Path):
            try:
                await asyncio.to_thread(_copy, source, self._folder / subfolder, name)
                return UploadedFile(name, subfolder)
            except OSError:
                self._is_near = False  # a full disk, say: the server has the last word
        placed = await self._connector.upload(source, name=name, kind=kind, subfolder=subfolder)
        if self._folder is not None:
            self._is_near = await asyncio.to_thread(_is_ours, self._folder, placed)
        return placed


def _copy(source: Path, folder: Path, name: str) -> None:
    """A copy and no link: what a node does to its input must not reach what is kept here."""
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / f".{name}.{os.getpid()}.part"  # another worker may serve the same server
    try:
        shutil.copyfile(source, part)
        os.replace(part, folder / name)
    finally:
        part.unlink(missing_ok=True)


def _is_ours(folder: Path, placed: UploadedFile) -> bool:
    """Another user's folder is left alone: what we make there, its owner could not delete."""
    try:
        return (folder / placed.subfolder / placed.name).is_file() and folder.stat().st_uid == os.geteuid()
    except OSError:
        return False


def _touch(path: Path) -> bool:
    try:
        os.utime(path)
    except FileNotFoundError:
        return False
    except OSError:
        return path.is_file()
    return True
