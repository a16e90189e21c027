"""Assets on this machine's disk, by content hash: downloaded once, checked, kept until others need the room.

    objects/<sha256>        whole files
    objects/<sha256>.part   on their way; continued after a crash
    trash/<id>              evicted, about to go

The disk is the index: a name appears there by a rename, when its bytes have been checked. After a restart each file is
read once more before its first use: what a power cut left under a right name may be wrong.
"""

import asyncio
import fcntl
import hashlib
import os
import re
import shutil
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from comfyfleet.kernel.errors import Conflict
from comfyfleet.worker.download import Renew
from comfyfleet.worker.landing import PART
from comfyfleet.worker.prepare import Asset
from comfyfleet.worker.transfer import Transfer
from comfyfleet.worker.transfer_errors import DiskTrouble, TransferRefused

PART_AGE_S_MAX = 86_400
_HASH = re.compile(r"[0-9a-f]{64}")


class FolderInUse(Conflict):
    """Two workers would delete each other's files."""

    code = "folder_in_use"
    text = "Another worker uses {folder}. Give this one a folder of its own: `comfyfleet worker --home`."

    def __init__(self, folder: Path) -> None:
        super().__init__(folder=str(folder))


@dataclass(slots=True)
class _Entry:
    size_bytes: int
    is_checked: bool  # in this life


@dataclass(slots=True)
class _Coming:
    """A download that one or many wait for. Each brings a URL; when the first is refused, the next serve."""

    urls: deque[str] = field(default_factory=deque)
    renew: Renew | None = None
    task: asyncio.Task[None] | None = None
    is_downloaded: bool = False


class AssetCache:
    """Bytes-bounded LRU. What is held is never evicted, so it may be larger for a while. One process a folder."""

    def __init__(
        self, folder: Path, *, bytes_max: int, transfer: Transfer, on_look: Callable[[bool], None] | None = None
    ) -> None:
        """`on_look` hears of each asset asked for: True if it was there already."""
        self._on_look = on_look or _ignore_look
        self._folder, self._objects, self._trash = folder, folder / "objects", folder / "trash"
        self._bytes_max = bytes_max
        self._transfer = transfer
        self._lock: BinaryIO | None = None
        self._entries: OrderedDict[str, _Entry] = OrderedDict()  # the one used longest ago first
        self._holders: dict[str, int] = {}
        self._coming: dict[str, _Coming] = {}

    @property
    def size_bytes(self) -> int:
        return sum(entry.size_bytes for entry in self._entries.values())

    def __contains__(self, content_hash: object) -> bool:
        return content_hash in self._entries

    async def open(self) -> None:
        """Takes the folder, and learns from the disk what is there. Raises FolderInUse."""
        self._lock = await asyncio.to_thread(_lock_folder, self._folder)
        found = await asyncio.to_thread(_read_folder, self._objects, self._trash)
        self._entries = OrderedDict((name, _Entry(size_bytes, is_checked=False)) for name, size_bytes in found)
        await self.shrink(self._bytes_max)

    async def close(self) -> None:
        tasks = [coming.task for coming in self._coming.values() if coming.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._lock is not None:
            self._lock.close()

    @asynccontextmanager
    async def hold(self, asset: Asset, *, renew: Renew | None = None) -> AsyncIterator[Path]:
        """The asset's file, there and right until the block ends."""
        path = await self.take(asset, renew=renew)
        try:
            yield path
        finally:
            self.release(asset)
            await self.tidy()

    async def take(self, asset: Asset, *, renew: Renew | None = None) -> Path:
        """As `hold`, for those who cannot use a block: each needs its `release`, and at the end `tidy`."""
        name = _name_of(asset)
        self._holders[name] = self._holders.get(name, 0) + 1
        try:
            was_there = await self._is_at_hand(name) or await self._come(name, asset, renew)
            self._on_look(was_there)
            self._entries.move_to_end(name)
        except BaseException:
            self.release(asset)
            raise
        return self._objects / name

    def release(self, asset: Asset) -> None:
        """Without waiting: nothing may come between one of many and the next."""
        name = _name_of(asset)
        self._holders[name] -= 1
        if self._holders[name]:
            return
        del self._holders[name]
        coming = self._coming.get(name)
        if coming is not None and coming.task is not None:
            coming.task.cancel()  # nobody waits for it any more

    async def tidy(self) -> None:
        await self.shrink(self._bytes_max)

    async def shrink(self, bytes_max: int) -> int:
        """Evict down to so many bytes, as far as nobody holds them. How many bytes went."""
        gone, size_bytes = 0, self.size_bytes
        trash = []
        for name in [name for name in self._entries if name not in self._holders]:
            if size_bytes - gone <= bytes_max:
                break
            gone += self._entries.pop(name).size_bytes
            # Out of the way at once, so that the same name can come again; deleting may take its time.
            trash.append(self._trash / uuid4().hex)
            with suppress(FileNotFoundError):
                os.rename(self._objects / name, trash[-1])
        if trash:
            await asyncio.to_thread(_delete, trash)
        return gone

    async def _is_at_hand(self, name: str) -> bool:
        entry = self._entries.get(name)
        if entry is None or not entry.is_checked:
            return False
        return await asyncio.to_thread(_touch, self._objects / name, entry.size_bytes)

    async def _come(self, name: str, asset: Asset, renew: Renew | None) -> bool:
        """True: the disk had it from an earlier life, and it is still right."""
        while (leaving := self._coming.get(name)) and leaving.task is not None and leaving.task.cancelling():
            await asyncio.wait([leaving.task])  # nobody waited for it, and it still holds the file
        coming = self._coming.setdefault(name, _Coming())
        coming.urls.append(asset.url)
        coming.renew = renew or coming.renew
        if coming.task is None:
            coming.task = asyncio.create_task(self._bring(name, asset, coming))
            coming.task.add_done_callback(lambda task: self._came(name, task))
        # A job that is cancelled must not take the file away from another one that waits for it.
        await asyncio.shield(coming.task)
        return not coming.is_downloaded

    def _came(self, name: str, task: asyncio.Task[None]) -> None:
        del self._coming[name]
        if not task.cancelled():
            task.exception()  # seen, even if all who waited have gone

    async def _bring(self, name: str, asset: Asset, coming: _Coming) -> None:
        path = self._objects / name
        if not await asyncio.to_thread(_is_right, path, name):
            self._entries.pop(name, None)
            if asset.size_bytes is not None:
                await self.shrink(max(0, self._bytes_max - asset.size_bytes))
            coming.is_downloaded = True
            await self._download(name, asset, coming)
        size_bytes = (await asyncio.to_thread(path.stat)).st_size
        self._entries[name] = _Entry(size_bytes, is_checked=True)

    async def _download(self, name: str, asset: Asset, coming: _Coming) -> None:
        async def renew() -> str:
            if coming.urls:
                return coming.urls.popleft()
            if coming.renew is None:
                raise TransferRefused("the object store", verb="give", status=403)
            return await coming.renew()

        async def once() -> None:
            url = coming.urls.popleft() if coming.urls else asset.url
            path = self._objects / name
            await self._transfer.download(url, path, size_bytes=asset.size_bytes, sha256=name, renew=renew)

        try:
            await once()
        except DiskTrouble:
            if not await self.shrink(0):
                raise
            await once()


def _ignore_look(was_there: bool) -> None:
    """Nobody counts."""


def _name_of(asset: Asset) -> str:
    if asset.kept_as is None:
        raise ValueError(f"asset {asset.name!r} is not to be kept")
    return asset.kept_as


def _lock_folder(folder: Path) -> BinaryIO:
    folder.mkdir(parents=True, exist_ok=True)
    lock = (folder / "lock").open("ab")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise FolderInUse(folder) from None
    return lock


def _read_folder(objects: Path, trash: Path) -> list[tuple[str, int]]:
    """What is there, the one used longest ago first."""
    shutil.rmtree(trash, ignore_errors=True)
    for folder in (objects, trash):
        folder.mkdir(parents=True, exist_ok=True)
    found = []
    with os.scandir(objects) as entries:
        for entry in entries:
            seen = entry.stat(follow_symlinks=False)
            if entry.is_file(follow_symlinks=False) and _HASH.fullmatch(entry.name):
                found.append((seen.st_mtime, entry.name, seen.st_size))
            elif not (entry.name.endswith(PART) and seen.st_mtime > time.time() - PART_AGE_S_MAX):
                _delete([Path(entry.path)])
    return [(name, size_bytes) for _, name, size_bytes in sorted(found)]


def _touch(path: Path, size_bytes: int) -> bool:
    """Used now: the order must outlive us. False: it is not there as we know it."""
    try:
        if path.stat().st_size != size_bytes:
            return False
        os.utime(path)
    except FileNotFoundError:
        return False
    return True


def _is_right(path: Path, sha256: str) -> bool:
    try:
        with path.open("rb") as file:
            right = hashlib.file_digest(file, "sha256").hexdigest() == sha256
    except FileNotFoundError:
        return False
    if not right:
        path.unlink(missing_ok=True)
    return right and _touch(path, path.stat().st_size)


def _delete(paths: list[Path]) -> None:
    for path in paths:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
