"""Signed GETs and PUTs, over a line that is cut and a store that refuses."""

import asyncio
import hashlib
import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path

import pytest

from comfyfleet.wire.worker_v1 import OutputUrl
from comfyfleet.worker.landing import PART
from comfyfleet.worker.transfer import Transfer
from comfyfleet.worker.transfer_errors import ContentMismatch, TransferFailed, TransferLimits, TransferRefused
from tests.worker.files.far_store import FarStore

MIB = 1024**2
CONTENT = os.urandom(3 * MIB + 17)
SHA256 = hashlib.sha256(CONTENT).hexdigest()


async def test_a_file_arrives_whole_and_checked(store: FarStore, transfer: Transfer, tmp_path: Path) -> None:
    store.objects["/a?sign=x"] = CONTENT
    got = await transfer.download(
        f"{store.url}/a?sign=x", tmp_path / "deep" / "a", size_bytes=len(CONTENT), sha256=SHA256
    )
    assert (got.size_bytes, got.sha256) == (len(CONTENT), SHA256)
    assert [each.name for each in (tmp_path / "deep").iterdir()] == ["a"]
    assert (tmp_path / "deep" / "a").read_bytes() == CONTENT


async def test_a_relative_url_is_the_control_planes(store: FarStore, transfer: Transfer, tmp_path: Path) -> None:
    store.objects["/objects/token"] = b"few bytes"
    await transfer.download("/objects/token", tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == b"few bytes"


async def test_an_empty_file_is_a_file(store: FarStore, transfer: Transfer, tmp_path: Path) -> None:
    store.objects["/a"] = b""
    await transfer.download("/a", tmp_path / "a", size_bytes=0)
    assert (tmp_path / "a").read_bytes() == b""


async def test_a_cut_transfer_goes_on_where_it_was_cut(store: FarStore, transfer: Transfer, tmp_path: Path) -> None:
    store.objects["/a"] = CONTENT
    store.cuts.extend([MIB, 5_000, 0, MIB])
    await transfer.download("/a", tmp_path / "a", size_bytes=len(CONTENT), sha256=SHA256)
    assert (tmp_path / "a").read_bytes() == CONTENT
    assert len(store.asked) == 5
    offsets = [int(each.headers["range"].removeprefix("bytes=").rstrip("-")) for each in store.asked[1:]]
    assert offsets == sorted(offsets)
    assert offsets[-1] > MIB


async def test_a_store_without_ranges_begins_again(store: FarStore, transfer: Transfer, tmp_path: Path) -> None:
    store.objects["/a"], store.knows_ranges = CONTENT, False
    store.cuts.extend([MIB, 2 * MIB])
    await transfer.download("/a", tmp_path / "a", size_bytes=len(CONTENT), sha256=SHA256)
    assert (tmp_path / "a").read_bytes() == CONTENT


async def test_bytes_of_an_earlier_life_are_used(store: FarStore, transfer: Transfer, tmp_path: Path) -> None:
    store.objects["/a"] = CONTENT
    (tmp_path / f"a{PART}").write_bytes(CONTENT[: 2 * MIB])
    await transfer.download("/a", tmp_path / "a", size_bytes=len(CONTENT), sha256=SHA256)
    assert (tmp_path / "a").read_bytes() == CONTENT
    assert [each.headers.get("range") for each in store.asked] == [f"bytes={2 * MIB}-"]


async def test_wrong_bytes_of_an_earlier_life_are_not(store: FarStore, transfer: Transfer, tmp_path: Path) -> None:
    store.objects["/a"] = CONTENT
    (tmp_path / f"a{PART}").write_bytes(bytes(2 * MIB))
    await transfer.download("/a", tmp_path / "a", size_bytes=len(CONTENT), sha256=SHA256)
    assert (tmp_path / "a").read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("told_bytes", "told_sha256", "problem"),
    [
        (len(CONTENT), "0" * 64, "SHA-256"),
        (len(CONTENT) - 1, None, "more bytes"),
        (len(CONTENT) + 1, None, "bytes long"),
    ],
)
async def test_what_is_not_the_announced_file_is_not_kept(
    store: FarStore, transfer: Transfer, tmp_path: Path, told_bytes: int, told_sha256: str | None, problem: str
) -> None:
    store.objects["/a"] = CONTENT
    with pytest.raises((ContentMismatch, TransferFailed), match=problem):
        await transfer.download("/a", tmp_path / "a", size_bytes=told_bytes, sha256=told_sha256)
    assert not (tmp_path / "a").exists()


async def test_a_size_that_nobody_told_is_bounded(store: FarStore, tmp_path: Path) -> None:
    store.objects["/a"] = CONTENT
    async with Transfer(base_url=store.url, limits=TransferLimits(bytes_max=MIB)) as transfer:
        with pytest.raises(ContentMismatch, match="more bytes"):
            await transfer.download("/a", tmp_path / "a")


async def test_an_expired_url_is_asked_for_anew(store: FarStore, transfer: Transfer, tmp_path: Path) -> None:
    store.objects |= {"/old": CONTENT, "/new": CONTENT}
    store.expired.add("/old")

    async def renew() -> str:
        return "/new"

    await transfer.download("/old", tmp_path / "a", sha256=SHA256, renew=renew)
    assert [each.path for each in store.asked] == ["/old", "/new"]


async def test_a_url_that_is_refused_is_the_end_at_some_point(
    store: FarStore, transfer: Transfer, tmp_path: Path
) -> None:
    store.expired.add("/secret-token")

    async def renew() -> str:
        return "/secret-token"

    for again in (None, renew):
        with pytest.raises(TransferRefused, match="403") as refused:
            await transfer.download("/secret-token", tmp_path / "a", renew=again)
        assert "secret-token" not in str(refused.value) + repr(refused.value.facts)
    assert 2 < len(store.asked) < 12


async def test_a_file_that_is_not_there_is_not_asked_for_twice(
    store: FarStore, transfer: Transfer, tmp_path: Path
) -> None:
    with pytest.raises(TransferRefused, match="404"):
        await transfer.download("/nowhere", tmp_path / "a")
    assert len(store.asked) == 1


async def test_a_store_in_trouble_is_given_time(
    store: FarStore, transfer: Transfer, impatient: Transfer, tmp_path: Path
) -> None:
    store.objects["/a"] = CONTENT
    store.statuses.extend([503, 500, 429])
    await transfer.download("/a", tmp_path / "a", sha256=SHA256)
    store.statuses.extend([503] * 10_000)
    with pytest.raises(TransferFailed, match="503"):
        await impatient.download("/a", tmp_path / "b")
    assert len(store.statuses) > 1_000


async def test_a_store_that_goes_silent_is_left(store: FarStore, impatient: Transfer, tmp_path: Path) -> None:
    store.objects["/a"], store.gate = CONTENT, asyncio.Event()
    with pytest.raises(TransferFailed, match="Timeout"):
        await impatient.download("/a", tmp_path / "a", size_bytes=len(CONTENT))
    store.gate.set()


def minting(store: FarStore, *names: str) -> tuple[list[str], Callable[[], Awaitable[OutputUrl]]]:
    left, minted = list(names), []

    async def mint() -> OutputUrl:
        name = left.pop(0)
        minted.append(name)
        headers = {"Content-Type": "image/png", "Content-Length": str(len(CONTENT)), "If-None-Match": "*"}
        return OutputUrl(name=name, path=name, output_url=f"/{name}", output_headers=headers, expires_seconds=9)

    return minted, mint


class Pieces:
    size_bytes = len(CONTENT)

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        for at in range(0, len(CONTENT), MIB):
            yield CONTENT[at : at + MIB]


@pytest.fixture
def body() -> Pieces:
    return Pieces()


async def test_a_put_has_the_headers_it_was_signed_with(store: FarStore, transfer: Transfer, body: Pieces) -> None:
    _, mint = minting(store, "one")
    place = await transfer.upload(body, mint)
    assert place.path == "one"
    assert store.puts == {"/one": CONTENT}
    sent = store.asked[0].headers
    assert (sent["content-type"], sent["if-none-match"]) == ("image/png", "*")
    assert sent["content-length"] == str(len(CONTENT))
    assert "transfer-encoding" not in sent


async def test_a_cut_upload_is_sent_again(store: FarStore, transfer: Transfer, body: Pieces) -> None:
    minted, mint = minting(store, "one")
    store.cuts.append(MIB)
    await transfer.upload(body, mint)
    assert store.puts == {"/one": CONTENT}
    assert minted == ["one"]
    assert len(store.asked) == 2


async def test_a_store_that_refuses_and_hangs_up_is_given_another_place(
    store: FarStore, transfer: Transfer, body: Pieces
) -> None:
    _, mint = minting(store, "expired", "fresh")
    store.expired.add("/expired")
    store.hangs_up = True
    assert (await transfer.upload(body, mint)).path == "fresh"
    assert store.puts == {"/fresh": CONTENT}


async def test_an_upload_whose_answer_was_lost_is_there(store: FarStore, transfer: Transfer, body: Pieces) -> None:
    minted, mint = minting(store, "one")
    store.loses_answers = 1
    assert (await transfer.upload(body, mint)).path == "one"
    assert minted == ["one"]


async def test_a_place_that_is_refused_or_taken_is_asked_for_anew(
    store: FarStore, transfer: Transfer, body: Pieces
) -> None:
    minted, mint = minting(store, "expired", "taken", "free")
    store.expired.add("/expired")
    store.puts["/taken"] = b"somebody else's"
    assert (await transfer.upload(body, mint)).path == "free"
    assert minted == ["expired", "taken", "free"]
    assert store.puts == {"/taken": b"somebody else's", "/free": CONTENT}


async def test_a_store_that_does_not_take_it_ends_the_upload(
    store: FarStore, impatient: Transfer, body: Pieces
) -> None:
    _, mint = minting(store, "one", "two")
    store.statuses.append(413)
    with pytest.raises(TransferRefused, match="413"):
        await impatient.upload(body, mint)
    store.statuses.extend([500] * 10_000)
    with pytest.raises(TransferFailed, match="500"):
        await impatient.upload(body, mint)
