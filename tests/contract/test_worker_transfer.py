"""A worker's transfers against both real stores: signed by the control plane's code, sent by the worker's."""

import asyncio
import hashlib
import os
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from pathlib import Path
from uuid import uuid4

import pytest

from comfyfleet.storage.model import MIB, ObjectKey, ObjectStore, object_key
from comfyfleet.wire.worker_v1 import OutputUrl
from comfyfleet.worker.landing import PART
from comfyfleet.worker.transfer import Transfer
from comfyfleet.worker.transfer_errors import TransferLimits, TransferRefused

CONTENT = os.urandom(3 * MIB + 5)
SHA256 = hashlib.sha256(CONTENT).hexdigest()
PNG = "image/png"


class Pieces:
    size_bytes = len(CONTENT)

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        for at in range(0, len(CONTENT), MIB):
            yield CONTENT[at : at + MIB]


def a_place(store: ObjectStore, key: ObjectKey, *, expires_s: int = 60) -> OutputUrl:
    """As /api/worker/outputs gives them."""
    signed = store.presign_put(key, media_type=PNG, size_bytes=len(CONTENT), expires_s=expires_s)
    return OutputUrl(
        name="x", path=key, output_url=signed.url, output_headers=dict(signed.headers), expires_seconds=expires_s
    )


def minting(*places: OutputUrl) -> Callable[[], Awaitable[OutputUrl]]:
    left = list(places)

    async def mint() -> OutputUrl:
        return left.pop(0)

    return mint


@pytest.fixture
async def transfer() -> AsyncIterator[Transfer]:
    async with Transfer(limits=TransferLimits(base_s=0.05, ceiling_s=0.2)) as found:
        yield found


def a_key() -> ObjectKey:
    return object_key("tenants", uuid4(), "files", uuid4())


async def test_there_and_back(store: ObjectStore, transfer: Transfer, tmp_path: Path) -> None:
    taken, free = a_key(), a_key()
    await store.write(taken, b"somebody else's", media_type=PNG)
    mint = minting(a_place(store, taken), a_place(store, free))
    assert (await transfer.upload(Pieces(), mint)).path == free
    assert await store.read(taken, bytes_max=100) == b"somebody else's"
    (tmp_path / f"a{PART}").write_bytes(CONTENT[:MIB])
    url = store.presign_get(free, media_type=PNG, expires_s=60).url
    await transfer.download(url, tmp_path / "a", size_bytes=len(CONTENT), sha256=SHA256)
    assert (tmp_path / "a").read_bytes() == CONTENT
    gone = store.presign_get(a_key(), media_type=PNG, expires_s=60).url
    with pytest.raises(TransferRefused, match="404"):
        await transfer.download(gone, tmp_path / "b")


async def test_what_has_expired_is_signed_anew(store: ObjectStore, transfer: Transfer, tmp_path: Path) -> None:
    key = a_key()
    old = store.presign_get(key, media_type=PNG, expires_s=1).url
    places = (a_place(store, key, expires_s=1), a_place(store, key))
    await asyncio.sleep(2.1)
    assert await transfer.upload(Pieces(), minting(*places)) == places[1]

    async def renew() -> str:
        return store.presign_get(key, media_type=PNG, expires_s=60).url

    await transfer.download(old, tmp_path / "a", sha256=SHA256, renew=renew)
    with pytest.raises(TransferRefused, match="403"):
        await transfer.download(old, tmp_path / "b")
