"""Assets on this machine's disk, by content hash. Skeleton: the names stand, the work follows."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from comfyfleet.worker.prepare import Asset
from comfyfleet.worker.transfer import Transfer


class AssetCache:
    """Bytes-bounded LRU. One process a folder; one download per asset in flight; what is held is never evicted."""

    def __init__(self, folder: Path, *, bytes_max: int, transfer: Transfer) -> None: ...

    async def open(self) -> None:
        """Takes the folder (raises FolderInUse) and learns from the disk what is there."""
        raise NotImplementedError

    @asynccontextmanager
    async def hold(self, asset: Asset) -> AsyncIterator[Path]:
        """The asset's file, there and right until the block ends."""
        raise NotImplementedError
        yield

    async def shrink(self, bytes_max: int) -> int:
        """Evict down to so many bytes, as far as nobody holds them. How many bytes went."""
        raise NotImplementedError

    async def close(self) -> None: ...


@asynccontextmanager
async def fetched_assets(
    assets: tuple[Asset, ...], *, cache: AssetCache, transfer: Transfer, folder: Path
) -> AsyncIterator[dict[str, Path]]:
    """All files of a job on our disk, by the asset's name: hashed ones from the cache, the user's own in `folder`."""
    raise NotImplementedError
    yield
