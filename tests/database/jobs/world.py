"""One tenant with tokens, its jobs, and every step of a job's way as one call: what is not called has crashed."""

import random
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from comfyfleet import jobs, ledger
from comfyfleet.db.tables import ai_job_dispatches, dispatch_attempts, dispatch_payloads, settlements, submissions
from comfyfleet.desk.waiting import Waiter
from comfyfleet.dispatch import FailureClass, Grant, Holder, Provider
from comfyfleet.house import House
from comfyfleet.jobs import Job, NewJob
from comfyfleet.kernel.ids import JobId, WorkflowId, new_id
from comfyfleet.kernel.page import PageRequest
from comfyfleet.ledger import Tokens
from comfyfleet.upkeep import apply_settlements, expire_leases, promote_delayed, relay_submissions
from tests.builders import Member, a_member, balance
from tests.conftest import ManualClock
from tests.database.dispatch.test_queue import Queue, a_holder

PRICE = 10
CREDIT = 100


@dataclass
class World:
    house: House
    member: Member
    queue: Queue
    pool: str = "main"
    holder: Holder = field(default_factory=a_holder)
    workflow_id: WorkflowId = field(default_factory=lambda: WorkflowId(new_id()))
    chance: random.Random = field(default_factory=lambda: random.Random(1))

    @classmethod
    async def make(cls, house: House, *, member: Member | None = None) -> "World":
        member = member or await a_member(house, tokens=CREDIT)
        return cls(house, member, Queue(house), pool=member.tenant.pool)

    def wait_for_work(self) -> Waiter:
        """A worker that waits for this world's workflow."""
        room = self.house.desk.polls.room
        return room.park(self.holder.worker_id, [(self.workflow_id, "self_hosted")], ())

    def new(self, **given: Any) -> NewJob:
        return NewJob(
            **{
                "id": JobId(new_id()),
                "user_id": self.member.user.id,
                "workflow_id": self.workflow_id,
                "structure_hash": "structure-1",
                "provider": Provider.SELF_HOSTED,
                "payload": {"workflow": {"1": {"class_type": "SaveImage"}}},
                "reserved_tokens": Tokens(PRICE),
                **given,
            }
        )

    async def create(self, **given: Any) -> JobId:
        new = self.new(**given)
        async with self.house.tenant_tx(self.member.tenant) as tx:
            await jobs.create_job(tx, new)
        return new.id

    async def relay(self) -> int:
        return await relay_submissions.tick(self.house, self.pool)

    async def settle(self) -> int:
        return await apply_settlements.tick(self.house, self.pool, chance=self.chance)

    async def sweep(self) -> int:
        return await expire_leases.tick(self.house, chance=self.chance)

    async def pass_time(self, clock: ManualClock, seconds: float) -> int:
        """Time goes by while upkeep sweeps: how many leases ran out."""
        expired, step = 0, self.house.queue_rules.lease_ttl_s / 4
        while seconds > 0:
            clock.advance(min(step, seconds))
            seconds -= step
            expired += await self.sweep()
        return expired

    async def promote(self) -> int:
        return await promote_delayed.tick(self.house)

    async def lease(self) -> Grant:
        grant = await self.queue.lease(self.holder)
        assert grant is not None
        return grant

    async def queued(self, **given: Any) -> JobId:
        job_id = await self.create(**given)
        await self.relay()
        return job_id

    async def completed(self, **given: Any) -> JobId:
        job_id = await self.queued(**given)
        await self.queue.complete(await self.lease(), self.holder)
        return job_id

    async def failed(self, failure: FailureClass = FailureClass.USER_INPUT, **given: Any) -> JobId:
        job_id = await self.queued(**given)
        await self.queue.fail(await self.lease(), self.holder, failure)
        return job_id

    async def job(self, job_id: JobId) -> Job:
        async with self.house.tenant_tx(self.member.tenant, read_only=True) as tx:
            return await jobs.get_job(tx, job_id)

    async def balance(self) -> int:
        return await balance(self.house, self.member.tenant, self.member.user)

    async def money(self, job_id: JobId) -> list[str]:
        async with self.house.tenant_tx(self.member.tenant, read_only=True) as tx:
            page = await ledger.list_transactions(tx, self.member.user.id, PageRequest(rows=100))
        return sorted(each.type.value for each in page.rows if each.job_id == job_id)

    async def central(self, table: sa.Table) -> list[Any]:
        async with self.house.central.engine.connect() as connection:
            return list(await connection.execute(sa.select(*table.c)))

    async def dispatches(self) -> list[Any]:
        return await self.central(ai_job_dispatches)

    async def settlements(self) -> list[Any]:
        return await self.central(settlements)

    async def attempts(self) -> list[Any]:
        return await self.central(dispatch_attempts)

    async def payloads(self) -> list[Any]:
        return await self.central(dispatch_payloads)

    async def submissions(self) -> list[Any]:
        async with self.house.pool(self.pool).engine.connect() as connection:
            return list(await connection.execute(sa.select(*submissions.c)))

    async def in_pool(self, statement: str, **values: Any) -> None:
        """What no verb does: a hand in the database."""
        async with self.house.pool(self.pool).engine.begin() as connection:
            typed = [sa.bindparam(name, value, type_=sa.Uuid()) for name, value in values.items()]
            await connection.execute(sa.text(statement).bindparams(*typed))

    async def in_central(self, statement: str) -> None:
        async with self.house.central.engine.begin() as connection:
            await connection.execute(sa.text(statement))
