"""One server process and simulated workers: whole jobs over HTTP, pickup by a waiting poll, and thousands that wait."""

import asyncio
import json
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg

from bench.dispatch.engine import enqueue
from bench.dispatch.ground import SIGNING_KEY, Ground
from bench.dispatch.processes import allow_many_files, cpu_s, next_line, resident_mb, simulated_workers
from bench.dispatch.wire import SimulatedWorker
from comfyfleet import fleet, workflows
from comfyfleet.dispatch import NewDispatch, Provider
from comfyfleet.fleet import FleetRules, NewWorker
from comfyfleet.house import House
from comfyfleet.kernel.ids import DispatchId, TenantId, new_id
from comfyfleet.workflows import Workflow
from tests.server import ServerProcess, free_port

WORKFLOWS = 10
CONNECTIONS = 64
BATCH, BACKLOG = 500, 5_000
REGISTERED_AT_ONCE = 100
PICKUP_EVERY_S = 0.05
GRAPH = b'{"1": {"class_type": "KSampler", "inputs": {}}}'
WARM_UP, SETTLE_S = 10, 2.0
# Looks at the heads of lanes, and claims of what was chosen there.
LEASE_CALLS = """SELECT coalesce(sum(calls), 0) FROM pg_stat_statements
WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) AND
 (query LIKE '%floor_tag%' OR query LIKE 'UPDATE ai_job_dispatches SET status=%attempts=(%')"""


@dataclass
class Served:
    """A server on a database of its own, with workers registered and something for them to run."""

    ground: Ground
    url: str
    server: ServerProcess
    workers: list[SimulatedWorker] = field(default_factory=list)
    workflows: list[Workflow] = field(default_factory=list)
    tenant: TenantId = field(default_factory=lambda: TenantId(new_id()))
    chance: random.Random = field(default_factory=lambda: random.Random(1))

    async def furnish(self, house: House, workers: int) -> None:
        """One fleet that may run everything; its workers, with tokens, straight into the database."""
        rules = FleetRules(max_fleet_workers=10**6)
        async with house.control_tx() as tx:
            crew = await fleet.create_fleet(tx, slug="bench", stage="production", name="Bench")
            for number in range(WORKFLOWS):
                version = workflows.prepare_version(GRAPH, structure_hash=f"structure-{number}")
                made = await workflows.add_workflow(tx, version, slug=f"bench-{number}", name="Bench")
                await fleet.assign_workflow(tx, crew.id, made.id)
                self.workflows.append(made)
        for first in range(0, workers, REGISTERED_AT_ONCE):
            async with house.control_tx() as tx:
                for number in range(first, min(workers, first + REGISTERED_AT_ONCE)):
                    new = NewWorker(worker_id=f"bench-{number}", address="127.0.0.1")
                    made_worker = await fleet.register_worker(tx, new, fleet=crew, rules=rules)
                    self.workers.append(SimulatedWorker(new.worker_id, made_worker.token.reveal()))

    def jobs(self, count: int) -> list[NewDispatch]:
        return [self._job(self.chance.choice(self.workflows)) for _ in range(count)]

    def _job(self, workflow: Workflow) -> NewDispatch:
        return NewDispatch(
            id=DispatchId(new_id()),
            tenant_id=self.tenant,
            pool="main",
            workflow_id=workflow.id,
            structure_hash=workflow.structure_hash,
            provider=Provider.SELF_HOSTED,
            payload=b'{"graph": 1}',
        )

    async def drain(self, house: House, seconds: float) -> float:
        """Whole jobs a second: enqueued beside, leased and completed over HTTP, while the backlog is kept up."""
        await self._fill(house)
        order = {"mode": "drain", "seconds": seconds, **self._order(CONNECTIONS)}
        async with simulated_workers(order) as process:
            feeding = asyncio.create_task(self._feed(house))
            try:
                found = await next_line(process)
            finally:
                feeding.cancel()
        return float(found["completed"] / found["seconds"])

    async def _fill(self, house: House) -> None:
        for _ in range(0, BACKLOG - self._waiting(), BATCH):
            await enqueue(house, self.jobs(BATCH))

    async def _feed(self, house: House) -> None:
        while True:
            await self._fill(house)
            await asyncio.sleep(0.05)

    def _waiting(self) -> int:
        return int(_ask(self.url, "SELECT count(*) FROM ai_job_dispatches WHERE status = 'queued'"))

    async def pick_up(self, house: House, *, parked: int, pickups: int) -> "Pickups":
        """One job at a time, to workers that all wait."""
        found = Pickups()
        async with simulated_workers({"mode": "park", **self._order(parked)}) as process:
            await next_line(process)
            for _ in range(WARM_UP):
                await self._pick_up_one(house, process)
            before = self._lease_calls()
            for _ in range(pickups):
                found.waits_s.append(await self._pick_up_one(house, process))
            after = self._lease_calls()
        if before is not None and after is not None:
            found.statements_per_job = (after - before) / pickups
        return found

    async def _pick_up_one(self, house: House, process: asyncio.subprocess.Process) -> float:
        """From the call that queues it, to the reply in its worker's hands."""
        (job,) = self.jobs(1)
        queued = time.monotonic()
        await enqueue(house, [job])
        leased = await next_line(process)
        await asyncio.sleep(PICKUP_EVERY_S)
        return float(leased["at"]) - queued

    async def idle(self, workers: int, seconds: float) -> "Idle":
        """What the server needs when everybody waits and nothing comes."""
        pid = self.server.process.pid if self.server.process is not None else 0
        bare_mb = resident_mb(pid)
        async with simulated_workers({"mode": "park", **self._order(workers)}) as process:
            await next_line(process)
            await asyncio.sleep(SETTLE_S)
            before, began = cpu_s(pid), time.perf_counter()
            await asyncio.sleep(seconds)
            share = (cpu_s(pid) - before) / (time.perf_counter() - began)
            return Idle(workers, bare_mb, resident_mb(pid), share)

    def _order(self, count: int) -> dict[str, Any]:
        chosen = self.workers[:count]
        return {"port": self.server.port, "workers": [(worker.worker_id, worker.token) for worker in chosen]}

    def _lease_calls(self) -> float | None:
        return _ask(self.url, LEASE_CALLS) if self.ground.watched else None


@dataclass
class Pickups:
    waits_s: list[float] = field(default_factory=list)
    statements_per_job: float | None = None

    def percentile_ms(self, share: float) -> float:
        ordered = sorted(self.waits_s)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1000


@dataclass(frozen=True)
class Idle:
    workers: int
    bare_mb: float
    resident_mb: float
    core_share: float

    def scaled_to(self, workers: int) -> "Idle":
        """What so many would need, if each needs as much as each of these."""
        factor = workers / self.workers
        grown_mb = self.bare_mb + (self.resident_mb - self.bare_mb) * factor
        return Idle(workers, self.bare_mb, grown_mb, self.core_share * factor)


@asynccontextmanager
async def serve(ground: Ground, name: str, *, metrics_port: int | None = None) -> AsyncIterator[Served]:
    """`comfyfleet up` on a fresh database; it may hold as many connections as the machine lets it."""
    allow_many_files()
    url = ground.central(name)
    folder = ground.folder / name
    folder.mkdir()
    settings = {
        "DATABASE_URL": url,
        "POOLS": json.dumps({"main": ground.cluster.url("bench_tenant")}),
        "SECRET_KEY": SIGNING_KEY,
        "LOG_LEVEL": "warning",
        "ENGINE": "false",
        # The tenants' side is its own loop's work, and not measured here.
        "UPKEEP": "false",
    }
    if metrics_port is not None:
        settings["METRICS_PORT"] = str(metrics_port)
    server = ServerProcess(folder, free_port(), settings)
    try:
        await asyncio.to_thread(server.start)
        yield Served(ground, url, server)
    finally:
        server.kill()


def _ask(url: str, question: str) -> float:
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(question.encode()).fetchone()
        return float(row[0]) if row else 0.0
