"""The seed's sequence, as `examples/seed_sequence.py` plays it, on PostgreSQL with S3.

On embedded defaults the tutorial `first-steps` plays it: `test_docs_run.py`.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from examples.seed_sequence import Api, SimulatedWorker, negative, picture, set_the_stage

from comfyfleet.client import Client
from tests.postgres import Cluster
from tests.seaweedfs import run_seaweedfs
from tests.server import ServerProcess, environment, free_port, run_command

SCRIPT = Path(__file__).parents[2] / "examples" / "seed_sequence.py"
pytestmark = pytest.mark.timeout(300)


def play(folder: Path, url: str, operator_key: str, settings: dict[str, str]) -> str:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--url", url],
        env={**environment(folder, **settings), "OPERATOR": operator_key},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def check(said: str) -> None:
    lines = said.splitlines()
    assert "user      GET processed_file_url     byte for byte what the worker made" in lines
    moves = [line.split()[1:3] for line in lines if line.startswith("ledger")]
    assert moves == [["PAYMENT_CREDIT", "100"], ["JOB_RESERVE", "-12"], ["JOB_CONSUME", "0"]]
    assert "wallet    88 tokens" in lines
    results = [line.rpartition("│")[2].strip() for line in lines if "│" in line]
    assert len(results) > 10
    assert set(results) == {"ok"}


def by_the_sdk(url: str, operator_key: str, out: Path) -> None:
    """The same again: its bytes go to the bucket and come from there."""
    operator = Api(url, Authorization=f"Bearer {operator_key}")
    stage = set_the_stage(url, operator)
    operator.close()
    worker = SimulatedWorker(url, stage)
    worker.start()
    with Client(url, stage.user_key) as client:
        [saved] = client.run(stage.effect, picture()).save(out)
    worker.stop()
    assert saved.path.read_bytes() == negative(picture())


@contextmanager
def serving(folder: Path, settings: dict[str, str]) -> Iterator[ServerProcess]:
    """`comfyfleet serve`, as in production: databases upgraded before, an operator made by hand."""
    server = ServerProcess(folder, free_port(), settings)
    with (folder / "out.txt").open("wb") as out, (folder / "err.txt").open("wb") as err:
        server.process = subprocess.Popen(
            [sys.executable, "-m", "comfyfleet", "serve", "--port", str(server.port)],
            env=environment(folder, **settings),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
        )
    try:
        server._wait_until_it_answers()
        yield server
    finally:
        server.kill()


def test_on_postgresql_and_s3(tmp_path: Path, cluster: Cluster) -> None:
    names = ("seed_central", "seed_pool")
    weed = tmp_path / "weed"
    weed.mkdir()
    with run_seaweedfs(weed) as s3:
        central, pool = (cluster.create(name) for name in names)
        settings = {
            "HOME": str(tmp_path / "home"),
            "DATABASE_URL": central,
            "POOLS": json.dumps({"main": pool}),
            "SECRET_KEY": "a key that only tests sign with, long enough",
            "STORAGE": "s3",
            "S3_BUCKET": s3.bucket,
            "S3_ENDPOINT_URL": s3.endpoint_url,
            "S3_ACCESS_KEY_ID": s3.access_key,
            "S3_SECRET_ACCESS_KEY": s3.secret_key,
        }
        try:
            for command in (["db", "upgrade"], ["users", "create", "op@example.com", "--role", "operator"]):
                done = run_command(tmp_path, *command, **settings)
                assert done.returncode == 0, done.stderr
            made = run_command(tmp_path, "keys", "create", "op@example.com", "--name", "example", "--json", **settings)
            operator_key = json.loads(made.stdout)["secret"]
            with serving(tmp_path, settings) as server:
                check(play(tmp_path, server.url, operator_key, settings))
                by_the_sdk(server.url, operator_key, tmp_path / "out")
        finally:
            for name in names:
                cluster.drop(name)
