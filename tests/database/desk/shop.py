"""A fleet, its workers, and two desks over one database: two replicas of the server in one process."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from comfyfleet import dispatch, fleet
from comfyfleet.desk import Desk, Poll
from comfyfleet.dispatch import (
    Beat,
    DispatchStatus,
    Ended,
    Grant,
    Holder,
    LeaseProof,
    NewDispatch,
    Place,
    Provider,
    Report,
)
from comfyfleet.fleet import Fleet, NameProof, NewWorker, Registration, Worker, WorkerEvent
from comfyfleet.house import House
from comfyfleet.kernel.ids import DispatchId, TenantId, WorkflowId, new_id
from comfyfleet.kernel.secret import Secret
from tests.builders import a_workflow

SELF_HOSTED = frozenset(["self_hosted"])
SOON_S = 10.0

T = TypeVar("T")


@dataclass
class Shop:
    house: House
    desks: Sequence[Desk]
    fleet: Fleet
    workflow_id: WorkflowId
    tenant_id: TenantId = field(default_factory=lambda: TenantId(new_id()))
    tokens: dict[str, Secret] = field(default_factory=dict)
    chance: random.Random = field(default_factory=lambda: random.Random(1))

    @classmethod
    async def open(cls, house: House, desks: Sequence[Desk]) -> "Shop":
        async with house.control_tx() as tx:
            made = await fleet.create_fleet(tx, slug="video", stage="production", name="Video")
        shop = cls(house, desks, made, WorkflowId(new_id()))
        shop.workflow_id = await shop.workflow("face-swap")
        await shop._make_the_lane_known()
        return shop

    async def _make_the_lane_known(self) -> None:
        """A first job, wanted no more: the first of its kind is found by a look, and would hide what wakes do."""
        [dispatch_id] = await self.place()
        async with self.house.control_tx() as tx:
            await dispatch.cancel_dispatch(tx, dispatch_id)
        for desk in self.desks:
            await desk.polls.look()

    async def workflow(self, slug: str) -> WorkflowId:
        """One more that the fleet may run."""
        made = await a_workflow(self.house, slug, structure_hash=f"hash of {slug}")
        async with self.house.control_tx() as tx:
            await fleet.assign_workflow(tx, self.fleet.id, made.id)
        return made.id

    async def register(self, name: str = "i-1", *, max_concurrency: int = 1) -> Registration:
        """With the token of its last life."""
        new = NewWorker(name, "127.0.0.1", max_concurrency=max_concurrency)
        async with self.house.control_tx() as tx:
            made = await fleet.register_worker(
                tx, new, fleet=self.fleet, rules=self.house.fleet_rules, proof=NameProof(self.tokens.get(name))
            )
        self.tokens[name] = made.token
        return made

    async def register_alone(self, name: str) -> Registration:
        """In no fleet, with the shop's workflow as its own."""
        async with self.house.control_tx() as tx:
            return await fleet.register_worker(
                tx,
                NewWorker(name, "127.0.0.1"),
                fleet=None,
                own_workflows=[self.workflow_id],
                rules=self.house.fleet_rules,
            )

    async def worker(self, name: str = "i-1", *, max_concurrency: int = 1) -> Worker:
        return (await self.register(name, max_concurrency=max_concurrency)).worker

    async def workers(self, count: int, *, max_concurrency: int = 1) -> list[Worker]:
        return [await self.worker(f"w-{number}", max_concurrency=max_concurrency) for number in range(count)]

    async def revoke(self, name: str) -> list[Ended]:
        async with self.house.control_tx() as tx:
            worker = await fleet.move_worker(tx, name, WorkerEvent.REVOKE)
            return await dispatch.return_leases(tx, worker.id, "revoked")

    async def place(self, count: int = 1, **given: Any) -> dict[DispatchId, Place]:
        """Queued, and nobody is told."""
        said = {
            "tenant_id": self.tenant_id,
            "pool": "main",
            "workflow_id": self.workflow_id,
            "structure_hash": "hash of face-swap",
            "provider": Provider.SELF_HOSTED,
            "payload": b"{}",
            **given,
        }
        news = [NewDispatch(id=DispatchId(new_id()), **said) for _ in range(count)]
        async with self.house.control_tx() as tx:
            return await dispatch.enqueue_dispatches(tx, news, rules=self.house.queue_rules)

    async def add(self, count: int = 1, *, at: int = 0, **given: Any) -> list[DispatchId]:
        """Queued through one of the desks."""
        places = await self.place(count, **given)
        self.desks[at].queued(places.values())
        return list(places)

    async def poll(self, worker: Worker, *, at: int = 0, wait_s: float = 0.0, **given: Any) -> Grant | None:
        return await self.desks[at].poll(a_poll(worker, **given), wait_s=wait_s)

    def waiting(self, worker: Worker, *, at: int = 0, **given: Any) -> "asyncio.Task[Grant | None]":
        return asyncio.create_task(self.poll(worker, at=at, wait_s=30.0, **given))

    async def parked(self, count: int, *, at: int = 0) -> None:
        """Until so many polls wait there."""
        await until(lambda: len(self.desks[at].polls.room) == count)

    async def status(self, dispatch_id: DispatchId) -> DispatchStatus:
        async with self.house.control_tx(read_only=True) as tx:
            return (await dispatch.require_dispatch(tx, dispatch_id)).status


def a_poll(worker: Worker, **given: Any) -> Poll:
    return Poll(**{"worker": worker, "providers": SELF_HOSTED, "leases_max": 1, **given})


def proof(grant: Grant, worker: Worker) -> LeaseProof:
    return LeaseProof(grant.dispatch_id, grant.token, Holder(worker.id, worker.incarnation))


def a_report(grant: Grant, worker: Worker, digest: str = "d", **given: Any) -> Report:
    return Report(proof(grant, worker), digest, **given)


def a_beat(grant: Grant, worker: Worker) -> Beat:
    return Beat(proof(grant, worker))


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(SOON_S):
        while not holds():  # noqa: ASYNC110 what is waited for signals nobody
            await asyncio.sleep(0.002)


async def soon(work: "Awaitable[T]", seconds: float = SOON_S) -> T:
    return await asyncio.wait_for(work, seconds)


async def end(*tasks: "asyncio.Task[Any]") -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
