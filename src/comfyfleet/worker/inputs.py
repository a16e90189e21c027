"""What of ours a server has in its input folder: kept assets once, a job's own files for as long as it runs.

comfyfleet/cache/<hash>.<ext>           assets that come again; bounded where we can reach the folder
comfyfleet/<day>/<nonce>/<n>.<ext>      a job's own, under its mark
"""

import asyncio
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from comfyfleet.comfy.connector import Connector
from comfyfleet.comfy.model import NodeError, UploadedFile
from comfyfleet.pool.inputs import Uploads
from comfyfleet.pool.model import InputFile
from comfyfleet.worker.media_types import extension_of
from comfyfleet.worker.near import NearServer
from comfyfleet.worker.prepare import ROOT, Asset, Mark
from comfyfleet.worker.server_folders import ServerFolders

CACHE = f"{ROOT}/cache"
HASH_CHARS = 32
# What servers say of a name that is not there; which of the two depends on the node.
MISSING = frozenset({"custom_validation_failed", "value_not_in_list"})


class ServerInputs:
    """One per server. Without its folder nothing can be deleted there, and that a file is gone shows at the prompt."""

    def __init__(self, connector: Connector, *, folders: ServerFolders | None = None, cache_bytes_max: int) -> None:
        self._input = None if folders is None else folders.input
        self._server = NearServer(connector, self._input)
        self._uploads = Uploads(self._server)
        self._cache_bytes_max = cache_bytes_max
        self._in_use: dict[Mark, set[str]] = {}

    async def place(self, assets: Iterable[Asset], paths: Mapping[str, Path], mark: Mark) -> dict[str, str]:
        """What the server calls each asset, for `prepare_graph`. In use until `release(mark)`."""
        names = {}
        for number, asset in enumerate(assets):
            path = paths[asset.name]
            if asset.kept_as is None:
                name = f"{number}{extension_of(asset.media_type)}"
                placed = await self._server.upload(path, name=name, subfolder=mark.folder)
            else:
                placed = await self._keep(asset.kept_as, path, asset.media_type, mark)
            names[asset.name] = placed.as_input()
        return names

    async def _keep(self, sha256: str, path: Path, media_type: str, mark: Mark) -> UploadedFile:
        name = f"{sha256[:HASH_CHARS]}{extension_of(media_type)}"
        self._in_use.setdefault(mark, set()).add(name)
        file = InputFile(path, name=name, kind="file")
        placed = await self._uploads.put(file, subfolder=CACHE)
        if not await asyncio.to_thread(self._server.sees, placed):
            self._uploads.forget_some([name])
            placed = await self._uploads.put(file, subfolder=CACHE)
        self._in_use.setdefault(mark, set()).add(placed.name)
        await self._evict()
        return placed

    def forget_missing(self, node_errors: Iterable[NodeError], names: Mapping[str, str]) -> bool:
        """The server found faults in a prompt: are files of ours gone? Then place them again, and submit again."""
        said = [f"{error.details} {error.message}" for error in node_errors if error.type in MISSING]
        gone = [name for name in names.values() if any(name in words for words in said)]
        self._uploads.forget_some([name.rpartition("/")[2] for name in gone])
        if gone:
            self._server.doubt()
        return bool(gone)

    def forget(self) -> None:
        """It may have come back with an empty disk."""
        self._server.doubt()
        self._uploads.forget()

    async def release(self, mark: Mark) -> None:
        """The job is over. Its own files are `ServerFiles`' to delete."""
        if self._in_use.pop(mark, None) is not None:
            await self._evict()

    async def close(self) -> None:
        await self._uploads.close()

    async def _evict(self) -> None:
        if self._input is None:
            return
        held = frozenset(name for names in self._in_use.values() for name in names)
        self._uploads.forget_some(await asyncio.to_thread(_evict, self._input / CACHE, self._cache_bytes_max, held))


def _evict(folder: Path, bytes_max: int, held: frozenset[str]) -> list[str]:
    """Those used longest ago, until the rest fits. Their names."""
    found = []
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):
                seen = entry.stat(follow_symlinks=False)
                found.append((seen.st_mtime, entry.name, seen.st_size))
    size_bytes = sum(size for _, _, size in found)
    gone = []
    for _, name, size in sorted(found):
        if size_bytes <= bytes_max:
            break
        if name not in held:
            with suppress(OSError):
                (folder / name).unlink()
                size_bytes -= size
                gone.append(name)
    return gone
