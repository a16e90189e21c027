"""Replicas over real sockets, a worker that reports, and readers of event streams."""

import asyncio
import json
import random
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import httpx2
from fastapi import FastAPI

from comfyfleet import fleet, jobs, workflows
from comfyfleet.api.app import build_app
from comfyfleet.api.options import ApiOptions
from comfyfleet.api.server import Server, build_server
from comfyfleet.bootstrap import build_house
from comfyfleet.dispatch import Provider
from comfyfleet.fleet import FleetRules, NewWorker
from comfyfleet.house import House
from comfyfleet.jobs import NewJob
from comfyfleet.kernel.ids import JobId, new_id
from comfyfleet.settings import Settings
from comfyfleet.upkeep import apply_settlements, relay_submissions
from tests.builders import Member, a_workflow

WITHIN_S = 30.0


@dataclass
class Replica:
    app: FastAPI
    house: House
    server: Server
    url: str
    client: httpx2.AsyncClient
    serving: "asyncio.Task[None]"

    async def stop(self) -> None:
        self.server._stopping.announce()
        self.server.should_exit = True
        await self.serving


@asynccontextmanager
async def a_replica(settings: Settings) -> AsyncIterator[Replica]:
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    house = build_house(settings.model_copy(update={"port": port}))
    await house.store.check()
    app = build_app(house, ApiOptions())
    server = build_server(app, host="127.0.0.1", port=port, grace_s=2, trusted_proxies=[])
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    url = f"http://127.0.0.1:{port}"
    async with httpx2.AsyncClient(base_url=url, timeout=WITHIN_S) as client:
        replica = Replica(app, house, server, url, client, serving)
        try:
            async with asyncio.timeout(WITHIN_S):
                while not server.started:  # noqa: ASYNC110 uvicorn signals nobody
                    await asyncio.sleep(0.005)
            yield replica
        finally:
            if not serving.done():
                await replica.stop()


async def acquainted(*replicas: Replica) -> None:
    """Until each of them listens to all others."""
    async with asyncio.timeout(WITHIN_S):
        while any(each.house.live.links_open < len(replicas) - 1 for each in replicas):
            for each in replicas:
                await each.house.live.meet()
            await asyncio.sleep(0.01)


@dataclass
class Worker:
    """Says what a worker says, to whichever replica."""

    name: str
    token: str
    jobs: dict[JobId, dict[str, Any]] = field(default_factory=dict)

    async def say(self, replica: Replica, verb: str, **said: Any) -> Any:
        headers = {"Authorization": f"Bearer {self.token}"}
        body = {"worker_id": self.name, **said}
        answer = await replica.client.post(f"/api/worker/{verb}", json=body, headers=headers)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def lease(self, replica: Replica) -> JobId:
        job = (await self.say(replica, "poll", max_concurrency=100, wait_seconds=10))["job"]
        job_id = JobId(UUID(job["job_id"]))
        self.jobs[job_id] = {"dispatch_id": job["dispatch_id"], "lease_token": job["lease_token"]}
        return job_id

    async def report(self, replica: Replica, job_id: JobId, *values: int, kind: str = "progress", **more: Any) -> None:
        events = [{"kind": kind, **self.jobs[job_id], "data": {"value": value, **more}} for value in values]
        await self.say(replica, "events", events=events)

    async def complete(self, replica: Replica, job_id: JobId) -> None:
        await self.say(replica, "complete", **self.jobs[job_id])
        await settle(replica)


async def settle(replica: Replica) -> None:
    await apply_settlements.tick(replica.house, "main", chance=random.Random(1))


@dataclass
class Stage:
    """A workflow that a worker may run, and jobs of it."""

    house: House
    workflow: workflows.Workflow
    worker: Worker

    async def job_of(self, owner: Member, *, replica: Replica | None = None, queued: bool = True) -> JobId:
        house = replica.house if replica else self.house
        new = NewJob(
            id=JobId(new_id()),
            user_id=owner.user.id,
            workflow_id=self.workflow.id,
            structure_hash=self.workflow.structure_hash,
            provider=Provider.SELF_HOSTED,
            payload={"workflow": {}},
            expected_s=12.0,
        )
        async with house.tenant_tx(owner.tenant) as tx:
            job = await jobs.create_job(tx, new)
        house.live.changed(job.id, user_id=owner.user.id)
        if queued:
            await relay_submissions.tick(house, "main")
        return job.id


async def a_stage(house: House) -> Stage:
    workflow = await a_workflow(house, "face-swap", structure_hash="structure-1")
    async with house.control_tx() as tx:
        crew = await fleet.create_fleet(tx, slug="video", stage="production", name="Video")
        await fleet.assign_workflow(tx, crew.id, workflow.id)
        new = NewWorker("i-1", "127.0.0.1", max_concurrency=100)
        made = await fleet.register_worker(tx, new, fleet=crew, rules=FleetRules())
    return Stage(house, workflow, Worker("i-1", made.token.reveal()))


@dataclass(frozen=True)
class Read:
    event: str
    data: Any
    id: str | None


class Reader:
    """One open stream."""

    def __init__(self, lines: AsyncIterator[str]) -> None:
        self._lines = lines
        self.read: list[Read] = []
        self.pings = 0

    async def next(self) -> Read | None:
        """None: the stream has ended."""
        fields: dict[str, str] = {}
        async with asyncio.timeout(WITHIN_S):
            async for line in self._lines:
                if line and not line.startswith(":"):
                    name, _, value = line.partition(": ")
                    fields[name] = value
                elif fields.get("event") == "ping":
                    self.pings, fields = self.pings + 1, {}
                elif fields:
                    found = Read(fields["event"], json.loads(fields["data"]), fields.get("id"))
                    self.read.append(found)
                    return found
        return None

    async def until(self, event: str, **facts: Any) -> Read:
        while (found := await self.next()) is not None:
            if found.event == event and facts.items() <= {**found.data, **found.data.get("data", {})}.items():
                return found
        raise AssertionError(f"no {event} {facts} in {self.read}")

    async def rest(self) -> list[Read]:
        while await self.next() is not None:
            pass
        return self.read

    def values(self, kind: str = "progress") -> list[int]:
        return [each.data["data"]["value"] for each in self.read if each.event == kind]


@asynccontextmanager
async def reading(
    replica: Replica, who: Member, job_id: JobId | None = None, *, after: str | None = None, **params: Any
) -> AsyncIterator[Reader]:
    path = f"/api/ai-jobs/{job_id}/events" if job_id else "/api/events"
    headers = {**who.headers, **({"Last-Event-ID": after} if after else {})}
    async with listening(replica, path, headers, **params) as reader:
        yield reader


@asynccontextmanager
async def listening(replica: Replica, path: str, headers: dict[str, str], **params: Any) -> AsyncIterator[Reader]:
    async with replica.client.stream("GET", path, headers=headers, params=params) as answer:
        assert answer.status_code == 200, await answer.aread()
        yield Reader(answer.aiter_lines())
