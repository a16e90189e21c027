"""Both object stores, each behind a real socket."""

import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import httpx2
import pytest

from comfyfleet.kernel.secret import Secret
from comfyfleet.storage.backends.local import LocalStore
from comfyfleet.storage.backends.s3 import S3Options, S3Store
from comfyfleet.storage.model import ObjectKey, ObjectStore, object_key
from tests.seaweedfs import SeaweedFs, run_seaweedfs

READY_WITHIN_S = 30


@dataclass(frozen=True)
class ObjectServer:
    """The signing key is all that server and test share: URLs made here are checked there."""

    folder: Path
    signing_key: Secret
    base_url: str
    process_id: int

    def store(self) -> LocalStore:
        return LocalStore(self.folder, self.signing_key, self.base_url)


@pytest.fixture(scope="session")
def seaweedfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeaweedFs]:
    with run_seaweedfs(tmp_path_factory.mktemp("seaweedfs")) as server:
        yield server


@pytest.fixture(scope="session")
def object_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectServer]:
    folder = tmp_path_factory.mktemp("objects")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    key = uuid4().hex
    program = Path(__file__).with_name("object_server.py")
    process = subprocess.Popen([sys.executable, str(program), str(folder), key, str(port)])
    try:
        _wait_until_open(process, port)
        yield ObjectServer(folder, Secret(key), f"http://127.0.0.1:{port}", process.pid)
    finally:
        process.terminate()
        process.wait(20)


@pytest.fixture(params=["local", "s3"])
async def store(request: pytest.FixtureRequest) -> AsyncIterator[ObjectStore]:
    opened: ObjectStore
    if request.param == "local":
        opened = request.getfixturevalue("object_server").store()
    else:
        opened = s3_store(request.getfixturevalue("seaweedfs"))
    yield opened
    await opened.close()


@pytest.fixture
async def local_store(object_server: ObjectServer) -> LocalStore:
    return object_server.store()


@pytest.fixture
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(timeout=30) as client:
        yield client


@pytest.fixture
def key() -> ObjectKey:
    return object_key("tenants", uuid4(), "files", uuid4())


def s3_store(server: SeaweedFs, *, bucket: str | None = None, secret_key: str | None = None) -> S3Store:
    return S3Store(
        S3Options(
            bucket=bucket or server.bucket,
            endpoint_url=server.endpoint_url,
            access_key=server.access_key,
            secret_key=Secret(secret_key or server.secret_key),
        )
    )


def _wait_until_open(process: "subprocess.Popen[bytes]", port: int) -> None:
    deadline = time.monotonic() + READY_WITHIN_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError("the object server did not start")
