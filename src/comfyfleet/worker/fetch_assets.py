"""All files of a job on our disk: an effect's from the cache, the user's own in the lease's folder."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeAlias

from comfyfleet.worker.assets import AssetCache
from comfyfleet.worker.download import Renew
from comfyfleet.worker.prepare import Asset
from comfyfleet.worker.together import together
from comfyfleet.worker.transfer import Transfer

RenewAsset: TypeAlias = Callable[[Asset], Awaitable[str]]  # a fresh URL for it


@asynccontextmanager
async def fetched_assets(
    assets: Sequence[Asset],
    *,
    cache: AssetCache,
    transfer: Transfer,
    folder: Path,
    renew: RenewAsset | None = None,
) -> AsyncIterator[dict[str, Path]]:
    """By the asset's name; there until the block ends, those in `folder` until it is discarded. All at once: the
    first that cannot be had stops the others."""
    kept = [asset for asset in assets if asset.kept_as is not None]
    own = [asset for asset in assets if asset.kept_as is None]
    taken: list[Asset] = []

    def renewing(asset: Asset) -> Renew | None:
        return None if renew is None else lambda: renew(asset)

    async def take(asset: Asset) -> tuple[str, Path]:
        path = await cache.take(asset, renew=renewing(asset))
        taken.append(asset)
        return asset.name, path

    async def download(place: int, asset: Asset) -> tuple[str, Path]:
        to = folder / f"input-{place}"
        renew_it = renewing(asset)
        await transfer.download(asset.url, to, size_bytes=asset.size_bytes, sha256=asset.sha256, renew=renew_it)
        return asset.name, to

    try:
        yield dict(
            await together(
                *(take(asset) for asset in kept), *(download(place, asset) for place, asset in enumerate(own))
            )
        )
    finally:
        for asset in taken:
            cache.release(asset)
        await cache.tidy()
