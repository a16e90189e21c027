"""Assets on disk: once, checked, in their order, and right after a crash."""

import asyncio
import hashlib
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from comfyfleet.worker.assets import AssetCache, FolderInUse
from comfyfleet.worker.fetch_assets import fetched_assets
from comfyfleet.worker.landing import PART
from comfyfleet.worker.prepare import Asset
from comfyfleet.worker.transfer import Transfer
from comfyfleet.worker.transfer_errors import ContentMismatch, TransferRefused
from tests.worker.files.far_store import FarStore

KIB = 1024
WITHIN_S = 60.0


def an_asset(store: FarStore, name: str, content: bytes | None = None, *, size: int = 100 * KIB) -> Asset:
    content = os.urandom(size) if content is None else content
    store.objects[f"/{name}"] = content
    return Asset(name=name, url=f"/{name}", size_bytes=len(content), content_hash=hashlib.sha256(content).hexdigest())


@pytest.fixture
async def cache(tmp_path: Path, transfer: Transfer) -> AsyncIterator[AssetCache]:
    found = AssetCache(tmp_path / "assets", bytes_max=350 * KIB, transfer=transfer)
    await found.open()
    yield found
    await found.close()


async def reopened(cache: AssetCache, transfer: Transfer, *, bytes_max: int = 350 * KIB) -> AssetCache:
    await cache.close()
    again = AssetCache(cache._folder, bytes_max=bytes_max, transfer=transfer)
    await again.open()
    return again


async def use(cache: AssetCache, *assets: Asset) -> None:
    for asset in assets:
        async with cache.hold(asset) as path:
            assert hashlib.sha256(path.read_bytes()).hexdigest() == asset.content_hash


async def until(condition: object) -> None:
    async with asyncio.timeout(WITHIN_S):
        while not condition():  # type: ignore[operator]  # noqa: ASYNC110
            await asyncio.sleep(0.005)


async def test_twenty_that_want_one_asset_download_it_once(cache: AssetCache, store: FarStore) -> None:
    asset = an_asset(store, "one", size=2_000 * KIB)
    await asyncio.gather(*(use(cache, asset) for _ in range(20)))
    await use(cache, asset)
    assert len(store.asked) == 2  # too large to be kept once nobody holds it, so the last one asked anew
    assert cache.size_bytes == 0


async def test_what_was_used_longest_ago_goes_first(cache: AssetCache, store: FarStore) -> None:
    first, second, third, fourth = (an_asset(store, name) for name in ("a", "b", "c", "d"))
    await use(cache, first, second, third, first, fourth)
    assert [each.content_hash in cache for each in (first, second, third, fourth)] == [True, False, True, True]
    assert cache.size_bytes == 300 * KIB
    await use(cache, first)
    assert len(store.asked) == 4


async def test_each_look_is_counted_and_bytes_only_when_they_came(tmp_path: Path, store: FarStore) -> None:
    looks, moved = list[bool](), list[tuple[str, int]]()
    first, second = (an_asset(store, name) for name in ("a", "b"))
    async with Transfer(base_url=store.url, on_moved=lambda way, count: moved.append((way, count))) as transfer:
        for uses in ([first, first, second], [first]):
            cache = AssetCache(tmp_path / "assets", bytes_max=350 * KIB, transfer=transfer, on_look=looks.append)
            await cache.open()
            await use(cache, *uses)
            await cache.close()
    # The last one was there from an earlier life: read again, and not downloaded.
    assert looks == [False, True, False, True]
    assert sum(count for way, count in moved if way == "in") == 200 * KIB


async def test_the_order_outlives_the_process(cache: AssetCache, store: FarStore, transfer: Transfer) -> None:
    first, second, third = (an_asset(store, name) for name in ("a", "b", "c"))
    await use(cache, first, second, third, first)
    again = await reopened(cache, transfer, bytes_max=250 * KIB)
    assert [each.content_hash in again for each in (first, second, third)] == [True, False, True]
    await use(again, first, third)
    assert len(store.asked) == 3
    await again.close()


async def test_what_is_held_is_never_evicted(cache: AssetCache, store: FarStore) -> None:
    held = an_asset(store, "held")
    async with cache.hold(held) as path:
        await use(cache, *(an_asset(store, str(number)) for number in range(6)))
        assert await cache.shrink(0) == 200 * KIB  # the others that were left
        assert hashlib.sha256(path.read_bytes()).hexdigest() == held.content_hash
    await cache.shrink(0)
    assert not path.exists()


async def test_one_who_leaves_takes_nothing_from_the_others(cache: AssetCache, store: FarStore) -> None:
    store.gate = asyncio.Event()
    asset = an_asset(store, "slow", size=200 * KIB)
    first, second = (asyncio.create_task(use(cache, asset)) for _ in range(2))
    await until(lambda: store.asked and store.asked[0].sent_bytes)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    store.gate.set()
    await second
    assert len(store.asked) == 1


async def test_what_nobody_waits_for_any_more_is_not_fetched(cache: AssetCache, store: FarStore) -> None:
    store.gate = asyncio.Event()
    asset = an_asset(store, "slow", size=200 * KIB)
    wants = [asyncio.create_task(use(cache, asset)) for _ in range(3)]
    await until(lambda: store.asked and store.asked[0].sent_bytes)
    for want in wants:
        want.cancel()
    await asyncio.gather(*wants, return_exceptions=True)
    store.gate.set()
    await use(cache, asset)  # and it can be wanted again, at once


async def test_a_url_that_ran_out_is_replaced_by_that_of_another_who_waits(cache: AssetCache, store: FarStore) -> None:
    asset = an_asset(store, "fresh", size=200 * KIB)
    old = Asset(name="old", url="/old", size_bytes=asset.size_bytes, content_hash=asset.content_hash)
    store.expired.add("/old")
    await asyncio.gather(use(cache, old), use(cache, asset))
    with pytest.raises(TransferRefused):
        await use(cache, Asset(name="x", url="/old", content_hash="0" * 64))


async def test_wrong_bytes_are_never_kept(cache: AssetCache, store: FarStore, tmp_path: Path) -> None:
    asset = an_asset(store, "a")
    store.objects["/a"] = bytes(100 * KIB)
    with pytest.raises(ContentMismatch):
        await use(cache, asset)
    assert asset.content_hash not in cache
    assert not (tmp_path / "assets" / "objects" / str(asset.content_hash)).exists()


async def test_a_file_that_went_bad_or_away_is_fetched_again(
    cache: AssetCache, store: FarStore, transfer: Transfer, tmp_path: Path
) -> None:
    asset = an_asset(store, "a")
    await use(cache, asset)
    path = tmp_path / "assets" / "objects" / str(asset.content_hash)
    path.unlink()
    await use(cache, asset)
    path.write_bytes(bytes(100 * KIB))
    again = await reopened(cache, transfer)
    await use(again, asset)
    assert len(store.asked) == 3
    await again.close()


async def test_two_workers_do_not_share_a_folder(cache: AssetCache, transfer: Transfer, tmp_path: Path) -> None:
    with pytest.raises(FolderInUse, match="--home"):
        await AssetCache(tmp_path / "assets", bytes_max=1, transfer=transfer).open()


LIFE = """
import asyncio, sys
from pathlib import Path
from comfyfleet.worker.assets import AssetCache
from comfyfleet.worker.prepare import Asset
from comfyfleet.worker.transfer import Transfer

async def main(folder, url, size, sha256):
    async with Transfer() as transfer:
        cache = AssetCache(Path(folder), bytes_max=10**9, transfer=transfer)
        await cache.open()
        async with cache.hold(Asset(name="a", url=url, size_bytes=int(size), content_hash=sha256)):
            pass

asyncio.run(main(*sys.argv[1:]))
"""


async def test_kill_in_mid_download_then_the_rest_is_fetched(
    store: FarStore, transfer: Transfer, tmp_path: Path
) -> None:
    asset = an_asset(store, "big", size=4_000 * KIB)
    store.gate = asyncio.Event()
    part = tmp_path / "assets" / "objects" / f"{asset.content_hash}{PART}"
    words = [str(tmp_path / "assets"), f"{store.url}/big", str(asset.size_bytes), str(asset.content_hash)]
    process = subprocess.Popen([sys.executable, "-c", LIFE, *words])  # noqa: ASYNC220 -- started at once
    try:
        await until(lambda: part.exists() and part.stat().st_size >= 1_000 * KIB)
        process.send_signal(signal.SIGKILL)
        await asyncio.to_thread(process.wait)
    finally:
        process.kill()
        process.wait()
    (part.parent / "junk").write_bytes(b"?")
    cache = AssetCache(tmp_path / "assets", bytes_max=10**9, transfer=transfer)
    await cache.open()
    assert asset.content_hash not in cache
    store.gate.set()
    await use(cache, asset)
    assert int(store.asked[-1].headers["range"].removeprefix("bytes=").rstrip("-")) >= 1_000 * KIB
    assert [each.name for each in part.parent.iterdir()] == [asset.content_hash]
    await cache.close()


async def test_a_jobs_files_come_together(
    cache: AssetCache, store: FarStore, transfer: Transfer, tmp_path: Path
) -> None:
    kept, own = an_asset(store, "mask"), an_asset(store, "clip", b"the user's own")
    own = msgspec.structs.replace(own, is_users_own=True)
    work = tmp_path / "work"
    async with fetched_assets([own, kept], cache=cache, transfer=transfer, folder=work) as paths:
        assert paths["clip"].read_bytes() == b"the user's own"
        assert paths["clip"].parent == work
        assert paths["mask"].read_bytes() == store.objects["/mask"]
        assert await cache.shrink(0) == 0
    assert await cache.shrink(0) == 100 * KIB
    assert own.content_hash not in cache


async def test_a_users_file_that_is_not_what_was_uploaded_is_not_used(
    cache: AssetCache, store: FarStore, transfer: Transfer, tmp_path: Path
) -> None:
    own = msgspec.structs.replace(an_asset(store, "clip", b"what was uploaded"), is_users_own=True)
    store.objects["/clip"] = b"what was not said"
    with pytest.raises(ContentMismatch, match="SHA-256"):
        async with fetched_assets([own], cache=cache, transfer=transfer, folder=tmp_path / "work"):
            raise AssertionError("it began")


async def test_urls_that_ran_out_are_renewed_for_both_kinds(
    cache: AssetCache, store: FarStore, transfer: Transfer, tmp_path: Path
) -> None:
    fresh = {"mask": an_asset(store, "mask"), "clip": an_asset(store, "clip")}
    old = [
        Asset(name="mask", url="/old-mask", content_hash=fresh["mask"].content_hash),
        Asset(name="clip", url="/old-clip"),
    ]
    store.expired |= {"/old-mask", "/old-clip"}

    async def renew(asset: Asset) -> str:
        return fresh[asset.name].url

    given = {"cache": cache, "transfer": transfer, "folder": tmp_path / "work", "renew": renew}
    async with fetched_assets(old, **given) as paths:
        assert {name: path.read_bytes() for name, path in paths.items()} == {
            name: store.objects[f"/{name}"] for name in fresh
        }


async def test_one_file_that_is_missing_stops_all_and_holds_nothing(
    cache: AssetCache, store: FarStore, transfer: Transfer, tmp_path: Path
) -> None:
    kept = an_asset(store, "mask")
    own = Asset(name="clip", url="/nowhere")
    with pytest.raises(TransferRefused, match="404"):
        async with fetched_assets([kept, own], cache=cache, transfer=transfer, folder=tmp_path / "work"):
            raise AssertionError("it began")
    assert not cache._holders
