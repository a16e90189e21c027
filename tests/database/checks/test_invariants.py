"""Each invariant is silent on a sound system and fires on a planted fault; on both engines."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
import sqlalchemy as sa

from comfyfleet import audit, checks, ledger
from comfyfleet.audit import Action, Actor
from comfyfleet.bootstrap import build_house
from comfyfleet.checks import Finding
from comfyfleet.checks.model import SHOWN_MAX
from comfyfleet.db.dialect import now
from comfyfleet.db.scope import BOUND_TENANT
from comfyfleet.db.tables import (
    ai_job_dispatches,
    ai_jobs,
    comfyui_workers,
    settlements,
    submissions,
)
from comfyfleet.dispatch import FailureClass, Holder
from comfyfleet.house import House
from comfyfleet.kernel.ids import DispatchId, JobId, WorkerId, new_id
from comfyfleet.ledger import Tokens
from comfyfleet.settings import Settings
from comfyfleet.upkeep import checkpoint_audit
from tests.builders import Member, a_member, a_tenant
from tests.conftest import ManualClock
from tests.database.checks.attack import Attacker
from tests.database.dispatch.test_queue import Queue

OPERATOR = Actor("operator", "op@example.com")
PRICE = 10


@dataclass(frozen=True)
class World:
    """A sound system with a job in every state, each paid for, relayed and, where it is over, settled."""

    house: House
    member: Member
    holder: Holder
    queue: Queue
    jobs: dict[str, JobId]

    def ids(self) -> dict[str, Any]:
        return {**self.jobs, "worker": self.holder.worker_id, "tenant": self.member.tenant.id, "nobody": new_id()}

    async def add(self, name: str) -> DispatchId:
        """As a job is created: everything of the tenant's at once, then the queue, then the outbox."""
        job_id = JobId(new_id())
        self.jobs[name] = job_id
        u = submissions
        async with self.house.tenant_tx(self.member.tenant) as tx:
            await ledger.reserve_tokens(tx, self.member.user.id, Tokens(PRICE), job_id=job_id)
            await tx.run(self._new_job(job_id))
            await tx.run(sa.insert(u).values(job_id=job_id, tenant_id=BOUND_TENANT, created_at=now()))
        dispatch_id = await self.queue.add(id=DispatchId(job_id), tenant_id=self.member.tenant.id)
        async with self.house.tenant_tx(self.member.tenant) as tx:
            sent = sa.update(u).where(u.c.tenant_id == BOUND_TENANT, u.c.job_id == job_id).values(sent_at=now())
            await tx.run(sent)
        return dispatch_id

    def _new_job(self, job_id: JobId) -> sa.Insert:
        return sa.insert(ai_jobs).values(
            id=job_id,
            tenant_id=BOUND_TENANT,
            user_id=self.member.user.id,
            workflow_id=new_id(),
            structure_hash="structure-1",
            provider="self_hosted",
            status="queued",
            priority=0,
            reserved_tokens=PRICE,
            expected_s=1.0,
            payload={},
            created_at=now(),
        )

    async def settle(self, name: str, outcome: str) -> None:
        """As the settlement does it: the tenant's side first."""
        job_id, j, d, s = self.jobs[name], ai_jobs, ai_job_dispatches, settlements
        end = ledger.consume_tokens if outcome == "completed" else ledger.refund_tokens
        async with self.house.tenant_tx(self.member.tenant) as tx:
            own = j.c.tenant_id == BOUND_TENANT, j.c.id == job_id
            await tx.run(sa.update(j).where(*own).values(status=outcome, completed_at=now()))
            await end(tx, job_id)
        async with self.house.control_tx() as control_tx:
            await control_tx.run(sa.update(d).where(d.c.id == job_id).values(settled_at=now()))
            await control_tx.run(sa.update(s).where(s.c.dispatch_id == job_id).values(applied_at=now()))

    async def run_one(self, name: str, failure: FailureClass | None = None) -> None:
        await self.add(name)
        grant = await self.queue.lease(self.holder)
        assert grant is not None
        assert grant.dispatch_id == self.jobs[name]
        if failure is None:
            await self.queue.complete(grant, self.holder)
        else:
            await self.queue.fail(grant, self.holder, failure)
        await self.settle(name, "failed" if failure else "completed")


async def a_worker(house: House) -> Holder:
    worker_id = WorkerId(new_id())
    row = {
        "id": worker_id,
        "worker_id": f"gpu-{worker_id}",
        "registration_source": "fleet",
        "status": "approved",
        "is_approved": True,
        "is_draining": False,
        "incarnation": 1,
        "token_hash": str(worker_id),
        "capabilities": {},
        "providers": ["self_hosted"],
        "max_concurrency": 1,
        "current_load": 0,
        "address": "192.0.2.7",
        "takeovers": 0,
        "last_seen_at": now(),
        "created_at": now(),
    }
    async with house.control_tx() as tx:
        await tx.run(sa.insert(comfyui_workers).values(**row))
    return Holder(worker_id, 1)


@pytest.fixture
async def world(house: House) -> World:
    member = await a_member(house, tokens=1000)
    made = World(house, member, await a_worker(house), Queue(house), {})
    await made.run_one("completed")
    await made.run_one("failed", FailureClass.USER_INPUT)
    await made.queue.cancel(await made.add("cancelled"))
    await made.settle("cancelled", "cancelled")
    for name in ("leased", "ahead", "uploading"):
        await made.add(name)
        assert await made.queue.lease(made.holder) is not None
    await made.add("queued")
    async with house.control_tx() as tx:
        await audit.record_action(tx, OPERATOR, Action("x"), signer=house.chain)
    await checkpoint_audit.tick(house)
    return made


async def findings(house: House) -> dict[str, Finding]:
    """What is not as it should be, by code."""
    return {each.code: each for each in await checks.check_everything(house) if each.state != "ok"}


async def test_a_sound_system_breaks_nothing_and_every_invariant_was_asked(world: World) -> None:
    found = await checks.check_everything(world.house)
    assert [each for each in found if each.state != "ok"] == []
    asked = "V1 V1b V2 V3 V4 V5 V5b V6 V7 V8 V9 V9b V10 V11 V12 V13 V14 V15 V16 V17 V18 V19 V19b V20 V21 X1 X2 X3 A1"
    runs = "R1 R2 R3 R4 R5 R6 R7 R8"
    assert {each.code for each in found} == set(f"{asked} {runs}".split())


async def test_v2_who_uploads_a_result_may_hold_another_lease(world: World) -> None:
    """As the poll grants it (DESIGN §7): up to its concurrency again, while that many results are on their way."""
    assert (await findings(world.house)).keys() == set()  # one runs, one is ahead, one uploads
    await world.add("one too many")
    assert await world.queue.lease(world.holder) is not None
    assert (await findings(world.house)).keys() == {"V2"}


ATTEMPT = "dispatch_id, epoch, nonce, worker_id, incarnation, granted_at, ended_at"
BLOCK = (
    "worker_id, structure_hash, failure_count, cooldown_s, blocked_until, probe_dispatch_id, probe_until, created_at"
)
TRANSACTION = "id, tenant_id, wallet_id, type, amount, job_id, created_at"

# (the invariant, what is planted, whose id must be named)
CENTRAL_FAULTS = [
    ("V1", "UPDATE dispatch_attempts SET ended_at = NULL WHERE dispatch_id = :completed", "completed"),
    ("V1", "UPDATE dispatch_attempts SET epoch = 2 WHERE dispatch_id = :leased", "leased"),
    ("V1", "DELETE FROM ai_job_dispatches WHERE id = :leased", "leased"),
    ("V1b", "UPDATE dispatch_attempts SET ended_at = granted_at WHERE dispatch_id = :leased", "leased"),
    ("V2", "UPDATE comfyui_workers SET max_concurrency = 0 WHERE id = :worker", "worker"),
    ("V3", "UPDATE dispatch_attempts SET epoch = 5 WHERE dispatch_id = :completed", "completed"),
    ("V4", "UPDATE ai_job_dispatches SET done_epoch = 7 WHERE id = :completed", "completed"),
    ("V4", "UPDATE ai_job_dispatches SET done_epoch = NULL WHERE id = :failed", "failed"),
    ("V5", "DELETE FROM settlements WHERE dispatch_id = :cancelled", "cancelled"),
    ("V5b", "UPDATE settlements SET outcome = 'failed' WHERE dispatch_id = :completed", "completed"),
    ("V5b", "UPDATE ai_job_dispatches SET finished_at = NULL WHERE id = :cancelled", "cancelled"),
    (
        "V6",
        f"INSERT INTO dispatch_attempts ({ATTEMPT}) SELECT dispatch_id, 2, nonce, worker_id, incarnation, granted_at,"
        " ended_at FROM dispatch_attempts WHERE dispatch_id = :completed",
        "completed",
    ),
    ("V7", "UPDATE ai_job_dispatches SET attempts = 50 WHERE id = :leased", "leased"),
    ("V7", "UPDATE ai_job_dispatches SET releases = max_releases + 1 WHERE id = :queued", "queued"),
    ("V8", "UPDATE comfyui_workers SET incarnation = 2 WHERE id = :worker", "worker"),
    (
        "V10",
        f"INSERT INTO failover_blocks ({BLOCK}) SELECT worker_id, 'h', 1, 60, granted_at, dispatch_id, granted_at,"
        " granted_at FROM dispatch_attempts WHERE dispatch_id = :completed",
        "completed",
    ),
    ("X1", "UPDATE ai_job_dispatches SET status = 'failed' WHERE id = :completed", "completed"),
    ("X2", "DELETE FROM ai_job_dispatches WHERE id = :queued", "queued"),
    ("X3", "UPDATE ai_job_dispatches SET pool = 'elsewhere' WHERE id = :queued", "queued"),
    ("X3", "UPDATE ai_job_dispatches SET tenant_id = :nobody WHERE id = :queued", "queued"),
    ("A1", "UPDATE audit_log SET actor = 'nobody'", None),
]

POOL_FAULTS = [
    ("V11", "UPDATE token_wallets SET balance = balance + 1 WHERE tenant_id = :tenant", "tenant"),
    ("V11", "DELETE FROM token_transactions WHERE type = 'PAYMENT_CREDIT'", "tenant"),
    ("V12", "DELETE FROM token_transactions WHERE job_id = :queued", "queued"),
    ("V12", "DELETE FROM token_transactions WHERE job_id = :completed AND type = 'JOB_CONSUME'", "completed"),
    (
        "V12",
        f"INSERT INTO token_transactions ({TRANSACTION}) SELECT :nobody, tenant_id, wallet_id, 'JOB_CONSUME', 0,"
        " job_id, created_at FROM token_transactions WHERE job_id = :leased",
        "leased",
    ),
    ("V13", "UPDATE token_transactions SET amount = 9 WHERE job_id = :failed AND type = 'JOB_REFUND'", "failed"),
    ("V13", "DELETE FROM token_transactions WHERE job_id = :failed AND type = 'JOB_RESERVE'", "failed"),
    (
        "V14",
        "UPDATE token_transactions SET type = 'JOB_REFUND', amount = 10"
        " WHERE job_id = :completed AND type = 'JOB_CONSUME'",
        "completed",
    ),
    (
        "V14",
        "UPDATE token_transactions SET type = 'JOB_CONSUME', amount = 0"
        " WHERE job_id = :cancelled AND type = 'JOB_REFUND'",
        "cancelled",
    ),
    ("V15", "UPDATE token_wallets SET balance = -1 WHERE tenant_id = :tenant", "tenant"),
    ("X1", "UPDATE ai_jobs SET status = 'completed' WHERE id = :cancelled", "cancelled"),
    ("X1", "UPDATE ai_jobs SET status = 'processing', completed_at = NULL WHERE id = :completed", "completed"),
    ("X2", "DELETE FROM ai_jobs WHERE id = :queued", "queued"),
    ("X2", "UPDATE ai_jobs SET tenant_id = :nobody WHERE id = :queued", "queued"),
]

FAULTS = [("central", *each) for each in CENTRAL_FAULTS] + [("main", *each) for each in POOL_FAULTS]


@pytest.mark.parametrize(
    ("database", "code", "plant", "named"), FAULTS, ids=[f"{code}-{n}" for n, (_, code, *_rest) in enumerate(FAULTS)]
)
async def test_a_planted_fault_is_found_and_its_row_named(
    world: World, database: str, code: str, plant: str, named: str | None
) -> None:
    ids = world.ids()
    attacker = Attacker(world.house.central if database == "central" else world.house.pools[database])
    assert await attacker.run(plant, **ids) == 1
    found = (await findings(world.house)).get(code)
    assert found is not None
    assert found.state == "violated"
    assert 1 <= found.count == len(found.rows)
    if named is not None:
        assert str(ids[named]) in str(found.rows)


async def test_two_settlements_of_one_dispatch_are_found(world: World) -> None:
    attacker = Attacker(world.house.central)
    if attacker.on_sqlite:
        pytest.skip("SQLite cannot drop the UNIQUE of a table, so the state cannot be made")
    columns = "dispatch_id, tenant_id, pool, outcome, detail, tries, next_try_at, created_at"
    await attacker.run(
        "ALTER TABLE settlements DROP CONSTRAINT uq_settlements_dispatch_id",
        f"INSERT INTO settlements (id, {columns}) SELECT :nobody, {columns} FROM settlements"
        " WHERE dispatch_id = :completed",
        **world.ids(),
    )
    assert (await findings(world.house))["V5"].count == 1


async def test_what_waits_too_long_is_noted_and_breaks_nothing(world: World, clock: ManualClock) -> None:
    await Attacker(world.house.central).run("UPDATE settlements SET applied_at = NULL")
    assert await findings(world.house) == {}
    clock.advance(world.house.queue_rules.queue_deadline_s + 60)
    found = await findings(world.house)
    assert {code: (each.state, each.count) for code, each in found.items()} == {"V9": ("noted", 4), "V9b": ("noted", 3)}


async def test_all_are_counted_and_the_first_few_named(world: World) -> None:
    attacker = Attacker(world.house.pools["main"])
    columns = "tenant_id, user_id, balance, created_at"
    for _ in range(SHOWN_MAX + 5):
        await attacker.run(
            f"INSERT INTO token_wallets (id, {columns}) SELECT :id, :user, :user, -1, created_at FROM token_wallets"
            " WHERE tenant_id = :tenant",
            id=new_id(),
            user=new_id(),
            tenant=world.member.tenant.id,
        )
    found = (await findings(world.house))["V15"]
    assert (found.count, len(found.rows)) == (SHOWN_MAX + 5, SHOWN_MAX)


@pytest.fixture
async def half(settings: Settings, clock: ManualClock) -> AsyncIterator[House]:
    """The same house with a second pool that does not answer."""
    pools = {"dead": "postgresql://x:y@127.0.0.1:1/x", **settings.pool_urls()}
    built = build_house(Settings(**{**settings.model_dump(), "pools": pools}), clock_offset_s=clock.read)
    yield built
    await built.close()


async def test_a_dead_pool_is_named_and_the_others_are_still_checked(world: World, half: House) -> None:
    found = await checks.check_everything(half)
    states = {(each.database, each.state) for each in found}
    assert states == {("central", "ok"), ("dead", "unchecked"), ("main", "ok"), ("all", "ok")}
    await Attacker(world.house.pools["main"]).run("UPDATE token_wallets SET balance = balance + 1")
    violated = [each for each in await checks.check_everything(half) if each.state == "violated"]
    assert [(each.code, each.database) for each in violated] == [("V11", "main")]


async def test_a_dead_pool_keeps_its_place_in_the_checkpoint(world: World, half: House) -> None:
    await a_tenant(half)
    async with half.control_tx() as tx:
        await audit.record_action(tx, OPERATOR, Action("y"), signer=half.chain)
    assert await checkpoint_audit.tick(half) == 1
    assert (await checks.verify_chains(half)).unreachable == ["dead"]


async def test_asked_while_work_goes_on_it_finds_nothing(world: World) -> None:
    async def work(start: int) -> None:
        for number in range(start, start + 8):
            await world.add(f"live-{number}")
            await world.queue.cancel(DispatchId(world.jobs[f"live-{number}"]))
            await world.settle(f"live-{number}", "cancelled")
            async with world.house.control_tx() as tx:
                await audit.record_action(tx, OPERATOR, Action("x"), signer=world.house.chain)

    async def ask() -> list[Finding]:
        return [each for _ in range(4) for each in await checks.check_everything(world.house) if each.state != "ok"]

    asked, _, _ = await asyncio.gather(ask(), work(0), work(100))
    assert asked == []
