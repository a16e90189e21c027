"""Where the storm is: a durable PostgreSQL, two replicas behind one door, customers of two pools, a fleet of units."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from comfyfleet import fleet
from comfyfleet.bootstrap import build_house
from comfyfleet.db import Database, open_database
from comfyfleet.db.migrate import CENTRAL_HISTORY, TENANT_HISTORY, History, upgrade
from comfyfleet.house import House
from comfyfleet.kernel.ids import WorkflowId
from comfyfleet.settings import Settings
from comfyfleet.workflows import effects, read_properties
from comfyfleet.workflows.effects import NewEffect
from tests.builders import Member, a_member, a_tenant, a_workflow
from tests.chaos.fleet.customers import Customer, a_customer
from tests.chaos.fleet.orders import GRAPHS, PRICES, PROPERTIES
from tests.chaos.fleet.units import Unit, a_unit
from tests.chaos.processes import Replica
from tests.chaos.stage import steadily
from tests.server import free_port
from tests.worker.line import Line

POOLS = ("east", "west")
SIGNING_KEY = "d2a9c7e14fb35860d2a9c7e14fb35860"
CUSTOMERS, CREDIT = 6, 1_000_000
LEASE_TTL_S = float(os.environ.get("FLEET_LEASE_S", "9"))
ATTEMPTS_MAX = 8
FLEET, STAGE = "storm", "production"
QUICK = {
    "LEASE_TTL_S": str(LEASE_TTL_S),
    "LEASE_GRACE_S": str(LEASE_TTL_S * 2 / 3),
    "MAX_ATTEMPTS": str(ATTEMPTS_MAX),
    "BLOCK_COOLDOWN_S": "2",
    "MAX_ACTIVE_JOBS_PER_USER": "10000",
    "REGISTRATIONS_PER_MINUTE": "1000000",
    "REQUESTS_PER_MINUTE_PER_KEY": "1000000",
    "REQUESTS_PER_MINUTE_PER_TENANT": "1000000",
    "LOG_LEVEL": "warning",
    "LOG_FORMAT": "json",
}


@dataclass
class Stage:
    folder: Path
    settings: dict[str, str]
    house: House
    door: Line
    replicas: list[Replica]
    units: list[Unit]
    customers: list[Customer]

    @property
    def objects(self) -> Path:
        return self.folder / "home" / "objects" / "objects"


@asynccontextmanager
async def a_stage(folder: Path, urls: dict[str, str], *, workers: int) -> AsyncIterator[Stage]:
    """Everything is up; nobody has ordered anything."""
    ports = [free_port(), free_port()]
    async with AsyncExitStack() as stack:
        door = await stack.enter_async_context(Line(*ports))
        settings = settings_of(folder, urls, door.url)
        await _migrate(urls)
        house = build_house(read_settings(settings))
        stack.push_async_callback(house.close)
        members, secret = await _furnish(house)
        replicas = [Replica(f"replica-{number}", folder, port, settings) for number, port in enumerate(ports, start=1)]
        for replica in replicas:
            stack.callback(replica.end)
        own = {"FLEET": FLEET, "STAGE": STAGE, "FLEET_SECRET": secret}
        units = [
            await stack.enter_async_context(
                a_unit(f"unit-{number}", folder, ports, same_machine=number % 2 == 0, **own)
            )
            for number in range(1, workers + 1)
        ]
        for unit in units:
            unit.engine.start()
        await asyncio.gather(*(each.start() for each in replicas), *(each.engine_answers() for each in units))
        for unit in units:
            unit.worker.start()
        customers = [a_customer(member, door.url) for member in members]
        for customer in customers:
            stack.push_async_callback(customer.client.aclose)
        await asyncio.gather(*(customer.upload_all() for customer in customers))
        yield Stage(folder, settings, house, door, replicas, units, customers)


def settings_of(folder: Path, urls: dict[str, str], door: str) -> dict[str, str]:
    """As in production, with times that fit a test. The local store's files go through the door."""
    return {
        "MODE": "production",
        "PUBLIC_URL": door,
        "HOME": str(folder / "home"),
        "SECRET_KEY": SIGNING_KEY,
        "DATABASE_URL": urls["central"],
        "POOLS": json.dumps({pool: urls[pool] for pool in POOLS}),
        **QUICK,
    }


def read_settings(said: dict[str, str]) -> Settings:
    return Settings(**{name.lower(): json.loads(text) if name == "POOLS" else text for name, text in said.items()})


async def ask(database: Database, question: str, **values: Any) -> Sequence[Any]:
    async def read() -> Sequence[Any]:
        async with database.control_tx(read_only=True) as tx:
            return await tx.all(sa.text(question), **values)

    return await steadily(read)


async def _migrate(urls: dict[str, str]) -> None:
    await _upgrade(urls["central"], CENTRAL_HISTORY)
    for pool in POOLS:
        await _upgrade(urls[pool], TENANT_HISTORY)


async def _upgrade(url: str, history: History) -> None:
    database = open_database(history.name, url)
    await upgrade(database, history)
    await database.close()


async def _furnish(house: House) -> tuple[list[Member], str]:
    """Two users a tenant: what is one's must not become the other's."""
    tenants = [await a_tenant(house, pool=POOLS[number % len(POOLS)]) for number in range(CUSTOMERS // 2)]
    members = [await a_member(house, tenant=tenant, tokens=CREDIT) for tenant in tenants for _ in range(2)]
    made = {slug: await _offer(house, slug) for slug in GRAPHS}
    async with house.control_tx() as tx:
        crew = await fleet.create_fleet(tx, slug=FLEET, stage=STAGE, name="Storm")
        for workflow_id in made.values():
            await fleet.assign_workflow(tx, crew.id, workflow_id)
        _, secret = await fleet.make_fleet_secret(tx, name="storm", fleet_id=None, allows_workflows=True)
    return members, secret.reveal()


async def _offer(house: House, slug: str) -> WorkflowId:
    declared = read_properties(PROPERTIES[slug])
    workflow = await a_workflow(
        house, f"{slug}-graph", graph=GRAPHS[slug], properties=declared, output_node="save", expected_s=0.5
    )
    async with house.control_tx() as tx:
        # All workers may be down at once: orders are taken all the same.
        new = NewEffect(slug, slug.title(), credits_cost=PRICES[slug], waits_for_worker=True)
        await effects.add_effect(tx, new, workflow=workflow.slug)
        await effects.publish_effect(tx, slug)
    return workflow.id
