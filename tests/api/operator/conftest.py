"""A fleet with a workflow, and somebody who may operate it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
import sqlalchemy as sa

from comfyfleet import dispatch, fleet, workflows
from comfyfleet.db.tables import audit_log, lanes
from comfyfleet.dispatch import Ask, FailureClass, Grant, Holder, LeaseProof, Leasing, Report
from comfyfleet.fleet import NewWorker, Registration
from comfyfleet.house import House
from comfyfleet.kernel.ids import DispatchId, LaneId, TenantId, new_id
from tests.builders import a_workflow, an_operator_key
from tests.database.dispatch.test_queue import Queue

ADMIN = "/api/admin"


@dataclass
class Depot:
    """What an operator has: a fleet that may run one workflow, and a key."""

    house: House
    client: httpx2.AsyncClient
    headers: dict[str, str]
    fleet: fleet.Fleet
    workflow: workflows.Workflow

    async def ask(
        self, method: str, path: str, status: int = 200, *, headers_extra: dict[str, str] | None = None, **sent: Any
    ) -> Any:
        headers = {**self.headers, **(headers_extra or {})}
        answer = await self.client.request(method, ADMIN + path, headers=headers, **sent)
        assert answer.status_code == status, answer.text
        return answer.json() if answer.content else None

    async def register(self, worker_id: str = "i-1", **given: Any) -> Registration:
        async with self.house.control_tx() as tx:
            new = NewWorker(worker_id, "10.0.0.7", max_concurrency=2, **given)
            return await fleet.register_worker(tx, new, fleet=self.fleet, rules=self.house.fleet_rules)

    async def enqueue(self, **given: Any) -> DispatchId:
        said = {"workflow_id": self.workflow.id, "structure_hash": self.workflow.structure_hash}
        return await Queue(self.house).add(**{**said, "tenant_id": TenantId(new_id()), **given})

    async def lease(self, made: Registration) -> Grant | None:
        """As a poll does it: what the worker may run now, and nothing else."""
        async with self.house.control_tx() as tx:
            allowed = await fleet.allowed_workflows(tx, made.worker)
            rows = await tx.all(sa.select(lanes.c.id).where(lanes.c.workflow_id.in_(allowed)))
            ask = Ask(holder_of(made), frozenset(LaneId(row.id) for row in rows), leases_max=10)
            leasing = Leasing(self.house.leases, self.house.queue_rules)
            granted = (await dispatch.lease_dispatches(tx, [ask], leasing)).grants
        return granted.get(ask)

    async def fail(self, made: Registration, grant: Grant, failure: FailureClass) -> None:
        report = Report(proof(made, grant), "digest", failure=failure, error="it broke")
        async with self.house.control_tx() as tx:
            signer, rules = self.house.leases, self.house.queue_rules
            ended = await dispatch.fail_dispatch(tx, report, signer=signer, rules=rules, chance=0.5)
        assert isinstance(ended, dispatch.Ended)

    async def audited(self) -> list[tuple[str, str | None, dict[str, Any]]]:
        return [(row.action, row.subject, json.loads(row.detail)) for row in await self.entries()]

    async def entries(self) -> Sequence[Any]:
        async with self.house.central.engine.connect() as connection:
            return (await connection.execute(sa.select(audit_log).order_by(audit_log.c.seq))).all()


def holder_of(made: Registration) -> Holder:
    return Holder(made.worker.id, made.worker.incarnation)


def proof(made: Registration, grant: Grant) -> LeaseProof:
    return LeaseProof(grant.dispatch_id, grant.token, holder_of(made))


@pytest.fixture
async def depot(house: House, client: httpx2.AsyncClient) -> Depot:
    workflow = await a_workflow(house, "face-swap")
    async with house.control_tx() as tx:
        made = await fleet.create_fleet(tx, slug="video", stage="production", name="Video")
        await fleet.assign_workflow(tx, made.id, workflow.id)
    return Depot(house, client, await an_operator_key(house), made, workflow)
