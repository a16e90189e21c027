"""The local store's disk. Every path is made here, from checked keys and ids; every step blocks.

    objects/<key>              whole objects, never changed
    incoming/<id>              bytes on their way
    parts/<multipart>/<number> parts that wait to be joined

An object appears by a hard link from `incoming`: at once, whole, and only if nothing of that name is there.
"""

import hashlib
import os
import re
import shutil
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from comfyfleet.kernel.errors import AlreadyExists, InvalidInput, NotFound, StorageUnavailable
from comfyfleet.kernel.ids import new_id
from comfyfleet.storage.model import (
    MIB,
    NAMES_MAX,
    ObjectKey,
    StoredObject,
    UploadedPart,
    check_key,
    check_names,
    object_key,
)

COPY_BYTES = MIB
LEFTOVER_AGE_S = 86_400
SWEEP_MAX = 1_000

_MULTIPART_ID = re.compile(r"[0-9a-f]{32}-[0-9a-f]{32}")


class Incoming:
    """A file that nobody sees yet. `digest` follows what is written, where somebody wants to know."""

    def __init__(self, path: Path, digest: "hashlib._Hash | None" = None) -> None:
        self.path = path
        self._file: BinaryIO = open(path, "xb", opener=_open_private)  # noqa: SIM115 -- closed by seal or discard
        self._digest = digest

    def write(self, data: bytes | bytearray) -> None:
        self._file.write(data)
        if self._digest is not None:
            self._digest.update(data)

    def seal(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()

    def discard(self) -> None:
        """Once it is placed, this removes only its first name."""
        try:
            self._file.close()
        finally:
            self.path.unlink(missing_ok=True)


class Folder:
    def __init__(self, root: Path) -> None:
        root = root.resolve()
        self._objects = root / "objects"
        self._incoming = root / "incoming"
        self._parts = root / "parts"

    def open_incoming(self, digest: "hashlib._Hash | None" = None) -> Incoming:
        _make_folder(self._incoming)
        return Incoming(self._incoming / new_id().hex, digest)

    def place(self, path: Path, key: ObjectKey) -> StoredObject:
        target = self._path(key)
        _make_folder(target.parent)
        try:
            os.link(path, target)
        except FileExistsError:
            raise AlreadyExists("object", key) from None
        _sync_folder(target.parent)
        return _describe(key, target.lstat())

    def locate(self, key: ObjectKey) -> tuple[Path, os.stat_result] | None:
        path = self._path(key)
        try:
            found = path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        return (path, found) if stat.S_ISREG(found.st_mode) else None

    def head(self, key: ObjectKey) -> StoredObject | None:
        located = self.locate(key)
        return _describe(key, located[1]) if located else None

    def read(self, key: ObjectKey, bytes_max: int, *, offset: int = 0) -> bytes:
        located = self.locate(key)
        if located is None:
            raise NotFound("object", key)
        with open(located[0], "rb") as file:
            file.seek(offset)
            return file.read(bytes_max)

    def delete(self, key: ObjectKey) -> None:
        path = self._path(key)
        with suppress(FileNotFoundError, NotADirectoryError):
            path.unlink()
            _sync_folder(path.parent)

    def list_names(self, prefix: ObjectKey, *, names_max: int | None = None) -> list[str]:
        wanted = NAMES_MAX + 1 if names_max is None else names_max
        try:
            with os.scandir(self._path(object_key(prefix, "name")).parent) as entries:
                found = [f"{each.name}/" if each.is_dir() else each.name for each in islice(entries, wanted)]
        except (FileNotFoundError, NotADirectoryError):
            return []
        return check_names(found, names_max=names_max)

    def start_parts(self, key: ObjectKey) -> str:
        multipart_id = f"{new_id().hex}-{_key_digest(check_key(key))}"
        _make_folder(self._parts / multipart_id)
        return multipart_id

    def place_part(self, key: ObjectKey, multipart_id: str, number: int, path: Path) -> None:
        folder = self._parts_folder(key, multipart_id)
        try:
            os.replace(path, folder / str(number))
        except FileNotFoundError:
            raise _no_multipart(multipart_id) from None

    def join_parts(self, key: ObjectKey, multipart_id: str, parts: Sequence[UploadedPart]) -> StoredObject:
        try:
            folder = self._parts_folder(key, multipart_id)
            with self._opened_incoming() as incoming:
                for part in parts:
                    _append_part(incoming, folder / str(part.number), part)
                incoming.seal()
                stored = self.place(incoming.path, key)
        except (InvalidInput, NotFound):
            # Another completion may have won, and taken the parts away when it was done.
            if self.head(key) is not None:
                raise AlreadyExists("object", key) from None
            raise
        self.drop_parts(key, multipart_id)
        return stored

    def drop_parts(self, key: ObjectKey, multipart_id: str) -> None:
        trash = self._incoming / new_id().hex
        _make_folder(self._incoming)
        # Moved away first: a part that arrives meanwhile then finds nothing to arrive in.
        with suppress(NotFound, FileNotFoundError):
            os.rename(self._parts_folder(key, multipart_id), trash)
            shutil.rmtree(trash)

    def free_bytes(self) -> int:
        """Of its disk, for whoever runs this process."""
        _make_folder(self._incoming)
        found = os.statvfs(self._incoming)
        return found.f_bavail * found.f_frsize

    def probe(self) -> None:
        """Do what every upload will do: write, link, remove."""
        key = object_key("checks", new_id())
        with self._opened_incoming() as incoming:
            incoming.write(b"probe")
            incoming.seal()
            self.place(incoming.path, key)
        self.delete(key)

    def sweep(self, *, now_s: float) -> int:
        """Remove what crashes left behind. Whatever is still being written is younger."""
        swept = 0
        for folder in (self._incoming, self._parts):
            _make_folder(folder)
            with os.scandir(folder) as entries:
                for entry in islice(entries, SWEEP_MAX):
                    with suppress(FileNotFoundError):
                        if entry.stat(follow_symlinks=False).st_mtime < now_s - LEFTOVER_AGE_S:
                            _remove(entry)
                            swept += 1
        return swept

    def _path(self, key: ObjectKey) -> Path:
        path = self._objects.joinpath(*check_key(key).split("/"))
        if os.path.realpath(path.parent) != str(path.parent):
            raise StorageUnavailable(problem="a folder of the object store is a symbolic link")
        return path

    def _parts_folder(self, key: ObjectKey, multipart_id: str) -> Path:
        if not _MULTIPART_ID.fullmatch(multipart_id) or not multipart_id.endswith(f"-{_key_digest(key)}"):
            raise _no_multipart(multipart_id)
        folder = self._parts / multipart_id
        if not folder.is_dir():
            raise _no_multipart(multipart_id)
        return folder

    @contextmanager
    def _opened_incoming(self) -> Iterator[Incoming]:
        incoming = self.open_incoming()
        try:
            yield incoming
        finally:
            incoming.discard()


def _append_part(incoming: Incoming, path: Path, part: UploadedPart) -> None:
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as file:
            while block := file.read(COPY_BYTES):
                digest.update(block)
                incoming.write(block)
    except FileNotFoundError:
        raise InvalidInput("parts", f"part {part.number} was not uploaded") from None
    if digest.hexdigest() != part.etag.strip('"'):
        raise InvalidInput("parts", f"part {part.number} has another etag")


def _no_multipart(multipart_id: str) -> NotFound:
    return NotFound("multipart upload", multipart_id)


def _key_digest(key: ObjectKey) -> str:
    """Ties a multipart upload to its key without a file that says so."""
    return hashlib.sha256(key.encode()).hexdigest()[:32]


def _describe(key: ObjectKey, found: os.stat_result) -> StoredObject:
    return StoredObject(key, found.st_size, f"{found.st_mtime_ns:x}-{found.st_size:x}")


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _make_folder(folder: Path) -> None:
    if folder.is_dir():
        return
    _make_folder(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)
    _sync_folder(folder.parent)


def _sync_folder(folder: Path) -> None:
    """A name is only safe from a power cut when its folder is written."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove(entry: os.DirEntry[str]) -> None:
    if entry.is_dir(follow_symlinks=False):
        shutil.rmtree(entry.path)
    else:
        os.unlink(entry.path)
