"""What only the local store must prove: flat memory, nothing left behind, no way out of its folder."""

import asyncio
import errno
import hashlib
import os
import socket
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import httpx2
import pytest
from pydantic import ValidationError

from comfyfleet.api import objects
from comfyfleet.kernel.errors import AlreadyExists, NotFound, SignatureRefused, StorageUnavailable, UploadMismatch
from comfyfleet.kernel.origin import answer_to
from comfyfleet.kernel.secret import Secret
from comfyfleet.settings import Settings
from comfyfleet.storage.backends.folder import LEFTOVER_AGE_S
from comfyfleet.storage.backends.grants import PutGrant
from comfyfleet.storage.backends.local import UPLOAD_LATE_S, LocalStore
from comfyfleet.storage.model import MIB, ObjectKey, UploadedPart, object_key
from comfyfleet.upkeep import collect_outputs
from tests.contract.conftest import ObjectServer
from tests.contract.object_server import build_app

# `make soak` sends 2 GiB; what memory may grow by does not depend on it.
UPLOAD_MIB = int(os.environ.get("UPLOAD_TEST_BYTES", 256 * MIB)) // MIB
GROWTH_MIB_MAX = 64
BINARY = "application/octet-stream"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
async def lone_store(folder: Path) -> LocalStore:
    """One without a server."""
    return LocalStore(folder, Secret("a key for tests"))


def grant_for(key: ObjectKey, size_bytes: int) -> PutGrant:
    return PutGrant(key, BINARY, size_bytes, int(time.time()) + 60)


def files_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir())


async def repeat(block: bytes, count: int) -> AsyncIterator[bytes]:
    for _ in range(count):
        yield block


# --- memory


def peak_memory_mib(process_id: int) -> float:
    lines = Path(f"/proc/{process_id}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:"))


@pytest.mark.timeout(600)
async def test_a_large_upload_and_its_download_keep_memory_flat(
    object_server: ObjectServer, http: httpx2.AsyncClient, key: ObjectKey
) -> None:
    store = object_server.store()
    block = os.urandom(MIB)
    size_bytes = UPLOAD_MIB * MIB
    warm_up = store.presign_put(object_key("warm", uuid4()), media_type=BINARY, size_bytes=MIB, expires_s=60)
    assert (await http.put(warm_up.url, content=block, headers=dict(warm_up.headers))).status_code == 200
    before_mib = peak_memory_mib(object_server.process_id)

    put = store.presign_put(key, media_type=BINARY, size_bytes=size_bytes, expires_s=60)
    answer = await http.put(put.url, content=repeat(block, UPLOAD_MIB), headers=dict(put.headers), timeout=600)
    assert answer.status_code == 200
    sent, got = hashlib.sha256(), hashlib.sha256()
    for _ in range(UPLOAD_MIB):
        sent.update(block)
    get = store.presign_get(key, media_type=BINARY, expires_s=60)
    async with http.stream("GET", get.url, timeout=600) as response:
        async for chunk in response.aiter_raw():
            got.update(chunk)
    assert got.digest() == sent.digest()
    assert peak_memory_mib(object_server.process_id) - before_mib < GROWTH_MIB_MAX
    await store.delete(key)


# --- nothing is left behind


async def until(condition: Callable[[], object], *, within_s: float = 10) -> None:
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        await asyncio.sleep(0.02)


async def test_an_upload_that_breaks_off_leaves_nothing(object_server: ObjectServer, key: ObjectKey) -> None:
    store = object_server.store()
    put = store.presign_put(key, media_type=BINARY, size_bytes=8 * MIB, expires_s=60)
    url = urlsplit(put.url)
    head = "".join(f"{name}: {value}\r\n" for name, value in {"Host": url.netloc, **put.headers}.items())
    incoming = object_server.folder / "incoming"
    with socket.create_connection((url.hostname or "", url.port or 0)) as connection:
        connection.sendall(f"PUT {url.path} HTTP/1.1\r\n{head}\r\n".encode() + b"x" * (3 * MIB))
        await until(lambda: any((incoming / name).stat().st_size for name in files_in(incoming)))
    await until(lambda: not files_in(incoming))
    assert await store.head(key) is None


@pytest.mark.parametrize("count", [2, 100], ids=["too few", "too many"])
async def test_a_stream_of_another_length_is_cut_off_and_leaves_nothing(
    lone_store: LocalStore, folder: Path, key: ObjectKey, count: int
) -> None:
    taken = 0

    async def counted() -> AsyncIterator[bytes]:
        nonlocal taken
        async for block in repeat(b"x" * MIB, count):
            taken += 1
            yield block

    with pytest.raises(UploadMismatch):
        await lone_store.receive(grant_for(key, 3 * MIB), counted())
    assert taken <= 4
    assert files_in(folder) == []


async def test_an_upload_that_ends_long_after_its_url_is_refused_and_leaves_nothing(
    lone_store: LocalStore, folder: Path, key: ObjectKey
) -> None:
    """Else it could arrive when outputs that nobody names have been collected."""
    grant = PutGrant(key, "image/png", 3 * MIB, int(time.time() - UPLOAD_LATE_S) - 1)
    with pytest.raises(SignatureRefused, match="ended"):
        await lone_store.receive(grant, repeat(b"x" * MIB, 3))
    assert files_in(folder) == []
    url_ttl_s_max = 86_400
    with pytest.raises(ValidationError, match="url_ttl_s"):
        Settings(url_ttl_s=url_ttl_s_max + 1)
    assert url_ttl_s_max + UPLOAD_LATE_S < collect_outputs.AGE_S


async def test_a_cancelled_upload_leaves_nothing(lone_store: LocalStore, folder: Path, key: ObjectKey) -> None:
    async def stall() -> AsyncIterator[bytes]:
        yield b"x" * (2 * MIB)
        await asyncio.sleep(60)

    task = asyncio.create_task(lone_store.receive(grant_for(key, 3 * MIB), stall()))
    await until(lambda: folder.exists() and files_in(folder))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert files_in(folder) == []


async def test_a_full_disk_is_said_and_leaves_nothing(
    lone_store: LocalStore, folder: Path, key: ObjectKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    await lone_store.check()
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageUnavailable) as refused:
        await lone_store.write(key, b"bytes", media_type=BINARY)
    assert "No space left" in refused.value.facts["problem"]
    assert files_in(folder) == []


async def test_the_check_sweeps_what_a_crash_left_a_day_ago(
    lone_store: LocalStore, folder: Path, key: ObjectKey
) -> None:
    await lone_store.check()
    old_parts, young_parts = [await lone_store.start_multipart(key, media_type=BINARY) for _ in range(2)]
    old, young = folder / "incoming" / "old", folder / "incoming" / "young"
    for path in (old, young, folder / "parts" / old_parts / "1", folder / "parts" / young_parts / "1"):
        path.write_bytes(b"left over")
    an_age_ago = time.time() - LEFTOVER_AGE_S - 1
    for path in (old, folder / "parts" / old_parts):
        os.utime(path, (an_age_ago, an_age_ago))
    await lone_store.check()
    assert files_in(folder) == ["incoming/young", f"parts/{young_parts}/1"]


async def test_a_completed_upload_takes_its_parts_along(lone_store: LocalStore, folder: Path, key: ObjectKey) -> None:
    multipart_id, parts = await arrived_parts(lone_store, folder, key)
    await lone_store.complete_multipart(key, multipart_id, parts)
    assert files_in(folder) == [f"objects/{key}"]


async def test_of_two_completions_at_once_exactly_one_wins(
    lone_store: LocalStore, folder: Path, key: ObjectKey
) -> None:
    multipart_id, parts = await arrived_parts(lone_store, folder, key)
    answers = await asyncio.gather(
        *(lone_store.complete_multipart(key, multipart_id, parts) for _ in range(4)), return_exceptions=True
    )
    assert sorted(type(answer).__name__ for answer in answers) == ["AlreadyExists"] * 3 + ["StoredObject"]
    assert files_in(folder) == [f"objects/{key}"]


async def arrived_parts(store: LocalStore, folder: Path, key: ObjectKey) -> tuple[str, list[UploadedPart]]:
    multipart_id = await store.start_multipart(key, media_type=BINARY)
    parts = []
    for number in (1, 2, 3):
        body = bytes([number]) * MIB
        (folder / "parts" / multipart_id / str(number)).write_bytes(body)
        parts.append(UploadedPart(number, hashlib.sha256(body).hexdigest()))
    return multipart_id, parts


# --- no way out


async def test_a_linked_folder_does_not_lead_out(lone_store: LocalStore, folder: Path, tmp_path: Path) -> None:
    await lone_store.check()
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_bytes(b"secret")
    (folder / "objects" / "tenants").symlink_to(outside)
    for call in (
        lone_store.head(object_key("tenants", "secret")),
        lone_store.read(object_key("tenants", "secret"), bytes_max=10),
        lone_store.delete(object_key("tenants", "secret")),
        lone_store.list_names(object_key("tenants")),
        lone_store.write(object_key("tenants", "new"), b"", media_type=BINARY),
        lone_store.write(object_key("tenants", "deeper", "new"), b"", media_type=BINARY),
    ):
        with pytest.raises(StorageUnavailable):
            await call
    assert files_in(outside) == ["secret"]


async def test_a_linked_object_is_neither_read_nor_written(
    object_server: ObjectServer, http: httpx2.AsyncClient, key: ObjectKey, tmp_path: Path
) -> None:
    store = object_server.store()
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret")
    path = object_server.folder / "objects" / key
    path.parent.mkdir(parents=True)
    path.symlink_to(secret)
    assert await store.head(key) is None
    with pytest.raises(NotFound):
        await store.read(key, bytes_max=10)
    with pytest.raises(AlreadyExists):
        await store.write(key, b"forged", media_type=BINARY)
    got = await http.get(store.presign_get(key, media_type=BINARY, expires_s=60).url)
    assert got.status_code == 404
    assert secret.read_bytes() == b"secret"


@pytest.mark.parametrize("path", ["../../etc/passwd", "..%2f..%2fetc%2fpasswd", "objects", ".", "a.b", "%00"])
async def test_a_path_instead_of_a_token_is_refused(
    object_server: ObjectServer, http: httpx2.AsyncClient, path: str
) -> None:
    for method in ("GET", "PUT"):
        answer = await http.request(method, f"{object_server.base_url}/objects/{path}")
        assert answer.status_code in (403, 404)


async def test_another_servers_signature_is_refused(
    object_server: ObjectServer, http: httpx2.AsyncClient, key: ObjectKey
) -> None:
    stranger = LocalStore(object_server.folder, Secret("another key"), object_server.base_url)
    await stranger.write(key, b"bytes", media_type=BINARY)
    refused = await http.get(stranger.presign_get(key, media_type=BINARY, expires_s=60).url)
    assert refused.status_code == 403
    assert refused.json()["error"]["code"] == "signature_refused"


# --- as a web server


async def test_what_is_served_can_do_nothing_in_a_browser(
    object_server: ObjectServer, http: httpx2.AsyncClient, key: ObjectKey
) -> None:
    store = object_server.store()
    await store.write(key, b"<svg onload=alert(1)>", media_type="image/svg+xml")
    request = store.presign_get(key, media_type="image/svg+xml", expires_s=60)
    got, head = await http.get(request.url), await http.head(request.url)
    for answer in (got, head):
        assert answer.status_code == 200
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["content-security-policy"] == "sandbox; default-src 'none'"
        assert answer.headers["content-length"] == "21"
    assert (got.content, head.content) == (b"<svg onload=alert(1)>", b"")


@pytest.mark.parametrize(
    ("header", "value", "status", "code"),
    [
        ("Content-Length", None, 411, "length_required"),
        ("Content-Length", "4", 403, "length_mismatch"),
        ("Content-Type", "text/html", 403, "signature_refused"),
        ("If-None-Match", None, 403, "signature_refused"),
    ],
)
async def test_a_refusal_has_a_code_of_its_own(
    object_server: ObjectServer,
    http: httpx2.AsyncClient,
    key: ObjectKey,
    header: str,
    value: str | None,
    status: int,
    code: str,
) -> None:
    put = object_server.store().presign_put(key, media_type=BINARY, size_bytes=5, expires_s=60)
    headers = {name: given for name, given in {**put.headers, header: value}.items() if given is not None}
    sent = int(headers.get("Content-Length", "5"))
    refused = await http.put(put.url, content=repeat(b"x" * sent, 1), headers=headers)
    assert refused.status_code == status
    assert refused.json()["error"]["code"] == code


async def test_a_sender_that_goes_silent_is_let_go(
    folder: Path, key: ObjectKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def stall() -> AsyncIterator[bytes]:
        yield b"x"
        await asyncio.sleep(60)

    monkeypatch.setattr(objects, "CHUNK_WITHIN_S", 0.1)
    signing_key = Secret("a key for tests")
    put = LocalStore(folder, signing_key).presign_put(key, media_type=BINARY, size_bytes=5, expires_s=60)
    assert put.url.startswith("/objects/")
    transport = httpx2.ASGITransport(build_app(folder, signing_key))
    async with httpx2.AsyncClient(transport=transport, base_url="http://store") as client:
        answer = await client.put(put.url, content=stall(), headers=dict(put.headers))
    assert answer.status_code == 408
    assert answer.json()["error"]["code"] == "upload_stalled"
    assert files_in(folder) == []


async def test_a_folder_that_cannot_be_written_fails_the_check(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StorageUnavailable) as refused:
        await LocalStore(tmp_path / "file" / "store", Secret("a key for tests")).check()
    assert refused.value.facts["problem"].startswith("the object folder: ")


async def test_urls_are_whole_for_who_asks_by_http_and_as_configured_where_an_address_is(
    folder: Path, key: ObjectKey
) -> None:
    free, fixed = LocalStore(folder, Secret("a key")), LocalStore(folder, Secret("a key"), "https://fleet.example.com/")
    answer_to("http", "127.0.0.1:8700", is_page=False)
    for store, start in ((free, "http://127.0.0.1:8700/objects/"), (fixed, "https://fleet.example.com/objects/")):
        assert store.presign_get(key, media_type=BINARY, expires_s=60).url.startswith(start)
    answer_to("http", "127.0.0.1:8700", is_page=True)
    assert free.presign_get(key, media_type=BINARY, expires_s=60).url.startswith("/objects/")
