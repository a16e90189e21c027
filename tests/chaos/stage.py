"""What the drain is played on: tenants with wallets in two pools, a fleet, its workflows, and jobs with a price."""

import asyncio
import json
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa

from comfyfleet import dispatch, fleet, jobs
from comfyfleet.db import Database
from comfyfleet.dispatch import Provider
from comfyfleet.house import House
from comfyfleet.jobs import NewJob
from comfyfleet.kernel.errors import Unavailable
from comfyfleet.kernel.ids import DispatchId, FleetId, JobId, WorkflowId, new_id
from comfyfleet.ledger import Tokens
from comfyfleet.tenants import Role, Tenant, User
from comfyfleet.workflows import Workflow
from tests.builders import a_tenant, a_user, a_workflow, credit

T = TypeVar("T")
PROGRESS = """SELECT count(*) AS finished,
 count(*) FILTER (WHERE applied_at IS NOT NULL OR parked_at IS NOT NULL) AS settled FROM settlements"""
SIGNING_KEY = "b7c1e0d94fa25836b7c1e0d94fa25836"
POOLS = ("east", "west")
TENANTS_EACH, CREDIT = 2, 1_000_000
PRICES = {"portrait": 3, "video": 7, "upscale": 1}
PRIORITIES = (-10, 0, 0, 0, 10)
QUICK = {
    "LEASE_TTL_S": "3",
    "LEASE_GRACE_S": "2",
    "MAX_ATTEMPTS": "20",
    "BLOCK_COOLDOWN_S": "1",
    "REGISTRATIONS_PER_MINUTE": "1000000",
    "LOG_LEVEL": "warning",
    "LOG_FORMAT": "json",
}


def settings_of(folder: Path, urls: dict[str, str]) -> dict[str, str]:
    """As in production, with times that fit a test."""
    return {
        "MODE": "production",
        "PUBLIC_URL": "http://127.0.0.1",
        "HOME": str(folder / "home"),
        "SECRET_KEY": SIGNING_KEY,
        "DATABASE_URL": urls["central"],
        "POOLS": json.dumps({pool: urls[pool] for pool in POOLS}),
        **QUICK,
    }


@dataclass(frozen=True)
class Customer:
    tenant: Tenant
    user: User


@dataclass
class Stage:
    house: House
    chance: random.Random
    secret: str = ""
    fleet_id: FleetId | None = None
    customers: list[Customer] = field(default_factory=list)
    workflows: list[Workflow] = field(default_factory=list)
    created: dict[JobId, int] = field(default_factory=dict)

    async def furnish(self) -> None:
        for pool in POOLS * TENANTS_EACH:
            tenant = await a_tenant(self.house, pool=pool)
            user = await a_user(self.house, tenant, Role.ADMIN)
            await credit(self.house, tenant, user, CREDIT)
            self.customers.append(Customer(tenant, user))
        self.workflows = [await a_workflow(self.house, slug, structure_hash=f"structure of {slug}") for slug in PRICES]
        async with self.house.control_tx() as tx:
            crew = await fleet.create_fleet(tx, slug="chaos", stage="production", name="Chaos")
            for made in self.workflows:
                await fleet.assign_workflow(tx, crew.id, made.id)
            _, secret = await fleet.make_fleet_secret(tx, name="chaos", fleet_id=None, allows_workflows=True)
        self.secret, self.fleet_id = secret.reveal(), crew.id

    async def assign(self, workflow_id: WorkflowId) -> None:
        assert self.fleet_id is not None
        async with self.house.control_tx() as tx:
            await fleet.assign_workflow(tx, self.fleet_id, workflow_id)

    async def create(self, count: int) -> None:
        """For one customer. Cut off in the middle, the same jobs are created again, and are there once."""
        customer = self.chance.choice(self.customers)
        news = [self._new(customer, len(self.created) + number) for number in range(count)]

        async def write() -> None:
            async with self.house.tenant_tx(customer.tenant) as tx:
                await jobs.create_jobs(tx, news)

        await steadily(write)
        self.created |= {new.id: new.reserved_tokens for new in news}

    def _new(self, customer: Customer, number: int) -> NewJob:
        workflow = self.chance.choice(self.workflows)
        return NewJob(
            id=JobId(new_id()),
            user_id=customer.user.id,
            workflow_id=workflow.id,
            structure_hash=workflow.structure_hash,
            provider=Provider.SELF_HOSTED,
            payload={"workflow": {"1": {}}, "properties": {"number": number}},
            priority=self.chance.choice(PRIORITIES),
            reserved_tokens=Tokens(PRICES[workflow.slug]),
        )

    async def cancel_one(self, status: str) -> bool:
        """Some job that waits or runs at this instant."""
        rows = await self.ask(
            self.house.central, "SELECT id FROM ai_job_dispatches WHERE status = :status LIMIT 20", status=status
        )
        if not rows:
            return False
        dispatch_id = DispatchId(self.chance.choice(rows)[0])

        async def cancel() -> None:
            async with self.house.control_tx() as tx:
                await dispatch.cancel_dispatch(tx, dispatch_id)

        await steadily(cancel)
        return True

    async def ask(self, database: Database, question: str, **values: Any) -> Sequence[Any]:
        async def read() -> Sequence[Any]:
            async with database.control_tx(read_only=True) as tx:
                return await tx.all(sa.text(question), **values)

        return await steadily(read)

    async def progress(self) -> tuple[int, int]:
        """How many jobs are over; and how many of them are settled, or set aside, which nobody forgives."""
        [row] = await self.ask(self.house.central, PROGRESS)
        return row.finished, row.settled

    async def cut_connections(self) -> int:
        """Of everybody but the one who cuts."""
        cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        others = "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND datname <> 'postgres'"
        return len(await self.ask(self.house.central, f"{cut} {others}"))


async def steadily(work: Callable[[], Awaitable[T]]) -> T:
    """Connections are cut on purpose: whoever asks, asks again."""
    while True:
        try:
            return await work()
        except Unavailable:
            await asyncio.sleep(0.05)
