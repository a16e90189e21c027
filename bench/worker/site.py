"""Everything that is measured: a control plane, a link, a server, and an effect that is ordered again and again."""

import asyncio
import io
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, LiteralString
from uuid import UUID

import httpx2
import psycopg
from PIL import Image
from psycopg.rows import dict_row

from bench.dispatch.ground import SIGNING_KEY, Ground
from bench.worker.processes import WorkerProcess, a_worker, told_address
from bench.worker.scale import FILE_BYTES, LINK_BYTES_S
from bench.worker.timeline import Execution, Passed
from comfyfleet import fleet
from comfyfleet.bootstrap import build_house
from comfyfleet.kernel.errors import SignatureRefused
from comfyfleet.kernel.secret import Secret
from comfyfleet.settings import Settings
from comfyfleet.storage.backends.grants import GrantSigner
from comfyfleet.workflows import effects, read_properties
from comfyfleet.workflows.effects import NewEffect
from tests.builders import Member, a_member, a_workflow
from tests.server import ServerProcess, server_process
from tests.worker.plant import Plant

EFFECT, FLEET, STAGE, WORKER = "work", "bench", "production", "bench-1"
ACTIVE_MAX = 1_000
LEASE_AHEAD_MAX = 5  # the control plane's; a worker takes as many as it is told
TOKENS = 10_000_000
GRAPH: dict[str, Any] = {
    "1": {
        "class_type": "BenchWork",
        "inputs": {"file": "x.png", "seconds": 1.0, "bytes": 1, "seed": 1, "filename_prefix": "bench"},
    }
}
PROPERTIES: list[dict[str, Any]] = [
    {"name": "file", "type": "image", "node": "1", "input_name": "file", "is_primary_input": True},
    {"name": "seconds", "type": "number", "node": "1", "input_name": "seconds", "default": 1.0, "minimum": 0.0},
    {"name": "bytes", "type": "integer", "node": "1", "input_name": "bytes", "default": 1, "minimum": 1},
    {"name": "seed", "type": "seed", "node": "1", "input_name": "seed"},
]


@dataclass
class Site:
    plant: Plant
    folder: Path
    link_url: str
    engine_url: str
    engine_folder: Path
    witness: "Witness"
    large_video: str = ""
    small_video: str = ""
    _workers: int = 0
    _read: dict[str, int] = field(default_factory=dict)

    @contextmanager
    def worker(self, **settings: str) -> Iterator[WorkerProcess]:
        """With a home of its own each time: nothing is in its cache."""
        self._workers += 1
        given = {
            "CONTROL_PLANE_URL": self.link_url,
            "FLEET_SECRET": self.plant.fleet_secret,
            "FLEET": FLEET,
            "STAGE": STAGE,
            "WORKER_ID": WORKER,
            "SERVERS": self.engine_url,
            "COMFYUI_DIR": str(self.engine_folder),
            **settings,
        }
        with a_worker(self.folder / f"worker-{self._workers}", **given) as process:
            yield process

    def order(self, *, seconds: float, size_bytes: int, video: str) -> str:
        return self.plant.order(EFFECT, video_id=video, seconds=seconds, bytes=size_bytes)

    def order_many(self, jobs: int, seconds: float) -> list[str]:
        return [self.order(seconds=seconds, size_bytes=FILE_BYTES, video=self.large_video) for _ in range(jobs)]

    def until_visible(self, jobs: Sequence[str], worker: WorkerProcess | None, *, within_s: float) -> None:
        def all_seen() -> bool:
            if worker is not None:
                worker.require_alive()
            return self.witness.has_seen(jobs)

        wait_for(all_seen, f"{len(jobs)} jobs are delivered", within_s=within_s)

    def executions(self) -> list[Execution]:
        """Those that have ended since this was asked last."""
        return [Execution(**line) for line in self._new_lines("engine.jsonl")]

    def passed(self) -> tuple[list[Passed], dict[str, Passed]]:
        """What came and what went since this was asked last: inputs, and outputs by their job."""
        signer = GrantSigner(Secret(SIGNING_KEY))
        fetched: list[Passed] = []
        sent: dict[str, Passed] = {}
        for line in self._new_lines("link.jsonl"):
            passed = Passed(line["began"], line["ended"], line["answered"])
            if line["verb"] == "GET":
                fetched.append(passed)
                continue
            try:
                key = signer.open(line["token"], now_s=0).key
            except SignatureRefused:
                continue
            sent[key.split("/")[3]] = passed
        return fetched, sent

    def _new_lines(self, name: str) -> list[dict[str, Any]]:
        with (self.folder / name).open() as file:
            file.seek(self._read.get(name, 0))
            whole = [line for line in file.read().splitlines(keepends=True) if line.endswith("\n")]
        self._read[name] = self._read.get(name, 0) + sum(len(line.encode()) for line in whole)
        return [json.loads(line) for line in whole]

    def dispatches(self, jobs: Sequence[str]) -> dict[str, dict[str, Any]]:
        found = self._rows("SELECT * FROM ai_job_dispatches WHERE id = ANY(%s)", jobs)
        return {str(row["id"]): row for row in found}

    def attempts(self, jobs: Sequence[str]) -> list[dict[str, Any]]:
        return self._rows("SELECT * FROM dispatch_attempts WHERE dispatch_id = ANY(%s)", jobs)

    def _rows(self, statement: LiteralString, jobs: Sequence[str]) -> list[dict[str, Any]]:
        with psycopg.connect(self.plant.settings.central_url(), row_factory=dict_row) as connection:
            return connection.execute(statement, [[UUID(job_id) for job_id in jobs]]).fetchall()


class Witness:
    """A user who watches all of their jobs, as a browser does; when each was seen to be ready."""

    def __init__(self, url: str, member: Member) -> None:
        self._client = httpx2.Client(base_url=url, headers=member.headers, timeout=None)
        self._thread = threading.Thread(target=self._watch, name="witness", daemon=True)
        self._problem: str | None = None
        self.seen: dict[str, float] = {}
        self._thread.start()

    def has_seen(self, jobs: Sequence[str]) -> bool:
        if self._problem is not None:
            raise RuntimeError(f"the user who watches saw: {self._problem}")
        return all(job_id in self.seen for job_id in jobs)

    def _watch(self) -> None:
        try:
            with self._client.stream("GET", "/api/events") as stream:
                kind = ""
                for line in stream.iter_lines():
                    if line.startswith("event:"):
                        kind = line.removeprefix("event:").strip()
                    elif line.startswith("data:") and kind == "status":
                        self._note(json.loads(line.removeprefix("data:")), time.time())
            self._problem = self._problem or "the end of the stream"
        except (httpx2.HTTPError, OSError) as error:
            self._problem = self._problem or str(error) or type(error).__name__

    def _note(self, told: dict[str, Any], now: float) -> None:
        status, job_id = told["status"], told["job_id"]
        if status == "completed":
            self.seen.setdefault(job_id, now)
        elif status in ("failed", "cancelled"):
            self._problem = f"{job_id} {status}: {told['error']}"


def wait_for(look: Callable[[], bool], what: str, *, within_s: float, every_s: float = 0.05) -> None:
    ends = time.monotonic() + within_s
    while time.monotonic() < ends:
        if look():
            return
        time.sleep(every_s)
    raise RuntimeError(f"not within {within_s:g} s: {what}")


@contextmanager
def open_site(ground: Ground, *, link_bytes_s: float = LINK_BYTES_S, file_bytes: int = FILE_BYTES) -> Iterator[Site]:
    """On ground that was migrated."""
    folder = ground.folder
    with ExitStack() as stack:
        server, settings = stack.enter_context(_control_plane(ground))
        secret, member = asyncio.run(_furnish(settings))
        plant = Plant(server, settings, secret, member)
        stack.callback(plant.client.close)
        link = (server.port, folder / "link.jsonl", link_bytes_s)
        link_url = stack.enter_context(told_address("bench.worker.link", link, folder / "link.log"))
        engine_folder = folder / "engine"
        engine = (engine_folder, folder / "engine.jsonl", file_bytes)
        engine_url = stack.enter_context(told_address("bench.worker.engine", engine, folder / "engine.log"))
        site = Site(plant, folder, link_url, engine_url, engine_folder, Witness(server.url, member))
        site.large_video = plant.upload(picture_of(file_bytes))
        site.small_video = plant.upload(picture_of(10_000))
        yield site


@contextmanager
def _control_plane(ground: Ground) -> Iterator[tuple[ServerProcess, Settings]]:
    central_url = ground.central("worker_central")
    pools = {"main": ground.cluster.create("worker_pool", template="bench_tenant")}
    given = {
        "DATABASE_URL": central_url,
        "POOLS": json.dumps(pools),
        "SECRET_KEY": SIGNING_KEY,
        "LOG_LEVEL": "warning",
        "LEASE_AHEAD": str(LEASE_AHEAD_MAX),
        "MAX_ACTIVE_JOBS_PER_USER": str(ACTIVE_MAX),
        "REGISTRATIONS_PER_MINUTE": "1000",
        "REQUESTS_PER_MINUTE_PER_KEY": "1000000",
        "REQUESTS_PER_MINUTE_PER_TENANT": "1000000",
    }
    home = ground.folder / "server"
    home.mkdir()
    with server_process(home, **given) as server:
        yield (
            server,
            Settings(
                home=server.home, database_url=central_url, pools=pools, secret_key=SIGNING_KEY, public_url=server.url
            ),
        )


async def _furnish(settings: Settings) -> tuple[str, Member]:
    house = build_house(settings)
    try:
        member = await a_member(house, tokens=TOKENS)
        workflow = await a_workflow(house, f"{EFFECT}-graph", graph=GRAPH, properties=read_properties(PROPERTIES))
        async with house.control_tx() as tx:
            await effects.add_effect(
                tx, NewEffect(EFFECT, "Work", credits_cost=1, waits_for_worker=True), workflow=workflow.slug
            )
            await effects.publish_effect(tx, EFFECT)
            crew = await fleet.create_fleet(tx, slug=FLEET, stage=STAGE, name="Bench")
            await fleet.assign_workflow(tx, crew.id, workflow.id)
            _, secret = await fleet.make_fleet_secret(tx, name="bench", fleet_id=None, allows_workflows=True)
        return secret.reveal(), member
    finally:
        await house.close()


def picture_of(size_bytes: int) -> bytes:
    """A picture that cannot be packed, of about so many bytes."""
    side = max(1, round((size_bytes / 3) ** 0.5))
    written = io.BytesIO()
    Image.frombytes("RGB", (side, side), os.urandom(side * side * 3)).save(written, "PNG", compress_level=0)
    return written.getvalue()
