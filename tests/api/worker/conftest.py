"""A fleet that may run one workflow, its secret, and workers that speak the protocol over HTTP."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI

from comfyfleet import fleet, workflows
from comfyfleet.house import House
from comfyfleet.kernel.ids import DispatchId, TenantId, new_id
from tests.api.asking import at, fault
from tests.builders import a_workflow
from tests.database.dispatch.test_queue import Queue

WORKER = "/api/worker/"


@dataclass
class HttpWorker:
    """What a worker agent does, by hand."""

    client: httpx2.AsyncClient
    name: str
    token: str = ""
    registered: dict[str, Any] = field(default_factory=dict)

    async def say(self, verb: str, status: int = 200, **said: Any) -> Any:
        headers = {"Authorization": f"Bearer {self.token}"}
        answer = await self.client.post(WORKER + verb, json={"worker_id": self.name, **said}, headers=headers)
        assert answer.status_code == status, answer.text
        return answer.json() if status == 200 else fault(answer)

    async def poll(self, **said: Any) -> Any:
        return (await self.say("poll", **said))["job"]


@dataclass
class Yard:
    house: House
    app: FastAPI
    client: httpx2.AsyncClient
    workflow: workflows.Workflow
    secret: str
    queue: Queue
    tokens: dict[str, str] = field(default_factory=dict)  # of the last life of each, as their journals have them

    async def register(
        self, name: str = "i-1", status: int = 200, *, last: str | None = "kept", next_: str | None = None, **said: Any
    ) -> HttpWorker:
        """With the last token that its journal kept, unless another one, or none, is given."""
        worker = HttpWorker(self.client, name)
        body = {"worker_id": name, "fleet_slug": "video", "stage": "production", **said}
        headers = {"X-Fleet-Secret": self.secret}
        if shown := self.tokens.get(name) if last == "kept" else last:
            headers["Authorization"] = f"Bearer {shown}"
        if next_ is not None:
            headers["X-Next-Token"] = next_
        answer = await self.client.post(WORKER + "register", json=body, headers=headers)
        assert answer.status_code == status, answer.text
        worker.registered = answer.json() if status == 200 else fault(answer)
        worker.token = worker.registered.get("token", "")
        if status == 200:
            self.tokens[name] = worker.token
        return worker

    async def add(self, **given: Any) -> DispatchId:
        said = {"workflow_id": self.workflow.id, "structure_hash": self.workflow.structure_hash}
        places = await self.queue.place(**{**said, "tenant_id": TenantId(new_id()), **given})
        self.house.desk.queued(places.values())
        return next(iter(places))

    async def parked(self, count: int) -> None:
        """Until so many polls wait."""
        async with asyncio.timeout(10):
            while len(self.house.desk.polls.room) != count:  # noqa: ASYNC110 the room signals nobody but waiters
                await asyncio.sleep(0.005)

    def elsewhere(self, address: str) -> "Yard":
        return replace(self, client=at(self.app, address=address))


@pytest.fixture
async def yard(house: House, app: FastAPI, client: httpx2.AsyncClient) -> AsyncIterator[Yard]:
    workflow = await a_workflow(house, "face-swap", structure_hash="structure-1")
    async with house.control_tx() as tx:
        made = await fleet.create_fleet(tx, slug="video", stage="production", name="Video")
        await fleet.assign_workflow(tx, made.id, workflow.id)
        _, secret = await fleet.make_fleet_secret(tx, name="tests", fleet_id=None, allows_workflows=True)
    yield Yard(house, app, client, workflow, secret.reveal(), Queue(house))
    await house.desk.stop()
