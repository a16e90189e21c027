"""From a worker's report to a browser: 200 running jobs, two replicas, each stream at one of them, each report to one.

Plain sockets on this side: what is measured is the servers, not a client.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from bench.dispatch.ground import Ground
from bench.jobs.studio import make_databases, open_house, settings_of
from comfyfleet import fleet, jobs, tenants, workflows
from comfyfleet.dispatch import Provider
from comfyfleet.fleet import FleetRules, NewWorker
from comfyfleet.house import House
from comfyfleet.jobs import NewJob
from comfyfleet.kernel.ids import JobId, new_id
from comfyfleet.tenants import Role, Tenant, credentials
from comfyfleet.tenants.model import SCOPES
from comfyfleet.upkeep import relay_submissions
from tests.server import ServerProcess, free_port

JOBS = 200
PER_USER = 20
EVERY_S = 1.0
PREVIEW_EVERY, PREVIEW_BYTES = 5, 16_000
WARM_UP_S = 3.0
SETTLE_S = 3.0
MARK = b'"sent":'


@dataclass
class Measured:
    delays_s: list[float] = field(default_factory=list)
    counted_from: float = 0.0
    sent: int = 0

    def take(self, line: bytes) -> None:
        now, sent = time.monotonic(), float(line.partition(MARK)[2].partition(b",")[0].rstrip(b"}\r\n "))
        if sent >= self.counted_from:
            self.delays_s.append(now - sent)

    def percentile_ms(self, share: float) -> float:
        ordered = sorted(self.delays_s)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1000

    def figures(self) -> dict[str, float | None]:
        """`event_p99_ms`, and beside it the median and how many events were counted."""
        return {
            "event_p99_ms": self.percentile_ms(0.99),
            "event_p50_ms": self.percentile_ms(0.5),
            "events": len(self.delays_s),
            "events_lost": self.sent - len(self.delays_s),
        }


@dataclass(frozen=True)
class Watched:
    job_id: JobId
    key: str
    number: int

    @property
    def listens_at(self) -> int:
        return self.number // 2 % 2

    @property
    def reports_to(self) -> int:
        """Every pair of replicas comes as often."""
        return self.number % 2


async def measure(ground: Ground, seconds: float) -> Measured:
    urls = make_databases(ground, "events")
    async with open_house(ground, "events", *urls) as house, AsyncExitStack() as stack:
        token, watched = await _furnish(house)
        servers = [await stack.enter_async_context(_serve(ground, f"replica-{n}", *urls)) for n in range(2)]
        leases = await _lease(servers[0], token, len(watched))
        measured = Measured()
        readers = [asyncio.create_task(_read(servers[each.listens_at], each, measured)) for each in watched]
        try:
            await asyncio.sleep(SETTLE_S)
            await _report_all(servers, token, watched, leases, measured, seconds=seconds)
        finally:
            for task in readers:
                task.cancel()
            await asyncio.gather(*readers, return_exceptions=True)
        return measured


GRAPH = b'{"1": {"class_type": "FleetSleep", "inputs": {}}}'


async def _furnish(house: House) -> tuple[str, list[Watched]]:
    """A worker that runs them all; users with jobs that wait for it."""
    async with house.control_tx() as tx:
        version = workflows.prepare_version(GRAPH, structure_hash="s-1")
        flow = await workflows.add_workflow(tx, version, slug="bench", name="Bench")
        crew = await fleet.create_fleet(tx, slug="bench", stage="production", name="Bench")
        await fleet.assign_workflow(tx, crew.id, flow.id)
        new = NewWorker("bench-1", "127.0.0.1", max_concurrency=JOBS)
        made = await fleet.register_worker(tx, new, fleet=crew, rules=FleetRules())
        home = await tenants.create_tenant(tx, slug="bench", name="Bench", pool="main")
    watched: list[Watched] = []
    for number in range(0, JOBS, PER_USER):
        watched += await _a_user(house, home, flow, first=number)
    await relay_submissions.tick(house, "main")
    return made.token.reveal(), watched


async def _a_user(house: House, home: Tenant, flow: workflows.Workflow, *, first: int) -> list[Watched]:
    async with house.control_tx() as tx:
        user = await tenants.create_user(tx, email=f"user-{first}@example.com", role=Role.MEMBER, tenant_id=home.id)
        key = await credentials.create_key(tx, user, name="bench", scopes=SCOPES[Role.MEMBER])
    news = [
        NewJob(
            id=JobId(new_id()),
            user_id=user.id,
            workflow_id=flow.id,
            structure_hash=flow.structure_hash,
            provider=Provider.SELF_HOSTED,
            payload={"workflow": {}},
        )
        for _ in range(PER_USER)
    ]
    async with house.tenant_tx(home) as tx:
        for new in news:
            await jobs.create_job(tx, new)
    return [Watched(new.id, key.secret.reveal(), first + number) for number, new in enumerate(news)]


@asynccontextmanager
async def _serve(ground: Ground, name: str, central_url: str, pool_url: str) -> AsyncIterator[ServerProcess]:
    folder = ground.folder / name
    folder.mkdir()
    server = ServerProcess(folder, free_port(), {**settings_of(central_url, pool_url), "UPKEEP": "false"})
    try:
        await asyncio.to_thread(server.start)
        yield server
    finally:
        server.kill()


@dataclass
class Line:
    """One kept connection of a worker."""

    port: int
    token: str
    free: asyncio.Lock = field(default_factory=asyncio.Lock)
    _streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def say(self, verb: str, **said: Any) -> Any:
        async with self.free:
            if self._streams is None:
                self._streams = await asyncio.open_connection("127.0.0.1", self.port)
            reader, writer = self._streams
            body = json.dumps({"worker_id": "bench-1", **said}).encode()
            head = (
                f"POST /api/worker/{verb} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {self.token}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            )
            writer.write(head.encode() + body)
            answer = await reader.readuntil(b"\r\n\r\n")
            size = int(answer.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
            content = await reader.readexactly(size)
            if b" 200 " not in answer[:16]:
                raise RuntimeError(content.decode())
            return json.loads(content)


async def _lease(server: ServerProcess, token: str, count: int) -> dict[JobId, dict[str, str]]:
    line, found = Line(server.port, token), dict[str, dict[str, str]]()
    while len(found) < count:
        job = (await line.say("poll", max_concurrency=JOBS, wait_seconds=20))["job"]
        held = {"dispatch_id": job["dispatch_id"], "lease_token": job["lease_token"]}
        found[job["job_id"]] = held
        if len(found) % 50 == 0:  # an unconfirmed lease lives for seconds only
            await line.say("heartbeat", leases=list(found.values()))
    return {JobId(UUID(job_id)): held for job_id, held in found.items()}


async def _read(server: ServerProcess, watched: Watched, measured: Measured) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=2**20)
    try:
        head = (
            f"GET /api/ai-jobs/{watched.job_id}/events HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {watched.key}"
        )
        writer.write(f"{head}\r\n\r\n".encode())
        if b" 200 " not in await reader.readline():
            raise RuntimeError("the stream was refused")
        async for line in reader:
            if MARK in line:
                measured.take(line)
    finally:
        writer.close()


async def _report_all(
    servers: list[ServerProcess],
    token: str,
    watched: list[Watched],
    leases: dict[JobId, dict[str, str]],
    measured: Measured,
    *,
    seconds: float,
) -> None:
    began = time.monotonic()
    measured.counted_from = began + WARM_UP_S
    until = began + WARM_UP_S + seconds
    async with asyncio.TaskGroup() as group:
        for each in watched:
            line = Line(servers[each.reports_to].port, token)
            group.create_task(_report(line, each, leases[each.job_id], measured, until=until))
    await asyncio.sleep(1.0)


async def _report(line: Line, watched: Watched, lease: dict[str, str], measured: Measured, *, until: float) -> None:
    await asyncio.sleep(EVERY_S * watched.number / JOBS)
    step = 0
    while time.monotonic() < until:
        step, began = step + 1, time.monotonic()
        events = [{"kind": "progress", **lease, "data": {"step": step, "sent": began}}]
        if step % PREVIEW_EVERY == 0:
            events.append({"kind": "preview", **lease, "data": {"image": "x" * PREVIEW_BYTES}})
        measured.sent += began >= measured.counted_from
        await line.say("events", events=events)
        await asyncio.sleep(max(0.0, EVERY_S - (time.monotonic() - began)))
