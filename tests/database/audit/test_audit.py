"""Who did what, in chains that show any change; and what workers did. On both engines."""

import asyncio
from contextlib import suppress
from uuid import UUID

import pytest
from sqlalchemy.exc import DBAPIError

from comfyfleet import audit, checks
from comfyfleet.audit import Action, Actor, WorkerEvent, WorkerEventName
from comfyfleet.db.tables import audit_log
from comfyfleet.house import House
from comfyfleet.kernel.ids import DispatchId, new_id
from comfyfleet.kernel.page import PageRequest
from tests.builders import a_tenant

OPERATOR = Actor("operator", "op@example.com", "192.0.2.1")


async def record(house: House, name: str = "tenant.suspend", **detail: object) -> int:
    async with house.control_tx() as tx:
        return await audit.record_action(tx, OPERATOR, Action(name, "subject", detail), signer=house.chain)


async def test_actions_are_numbered_without_a_gap_and_listed_newest_first(house: House) -> None:
    assert [await record(house, f"do.{number}", number=number) for number in range(1, 6)] == [1, 2, 3, 4, 5]
    async with house.control_tx(read_only=True) as tx:
        first = await audit.list_actions(tx, PageRequest(rows=3))
        second = await audit.list_actions(tx, PageRequest.parse(rows=3, cursor=first.next_cursor))
    assert [each.seq for each in first.rows + second.rows] == [5, 4, 3, 2, 1]
    assert second.next_cursor is None
    newest = first.rows[0]
    assert (newest.actor, newest.action, newest.subject) == (OPERATOR, "do.5", "subject")
    assert newest.detail == '{"number":5}'


async def test_a_made_up_cursor_does_no_harm(house: House) -> None:
    await record(house)
    async with house.control_tx(read_only=True) as tx:
        assert len((await audit.list_actions(tx, PageRequest(after=new_id()))).rows) == 1
        assert (await audit.list_actions(tx, PageRequest(after=UUID(int=0)))).rows == []


async def test_what_is_rolled_back_was_never_recorded(house: House) -> None:
    await record(house)
    with suppress(RuntimeError):
        async with house.control_tx() as tx:
            assert await audit.record_action(tx, OPERATOR, Action("x"), signer=house.chain) == 2
            raise RuntimeError("the action failed")
    assert await record(house) == 2
    assert (await checks.verify_chains(house)).broken == []


async def test_the_database_itself_refuses_to_change_the_log(house: House) -> None:
    await record(house)
    for statement in (audit_log.update().values(actor="nobody"), audit_log.delete()):
        with pytest.raises(DBAPIError, match="append-only"):
            async with house.control_tx() as tx:
                await tx.run(statement)


async def test_each_tenant_has_a_chain_of_its_own(house: House) -> None:
    one, other = await a_tenant(house), await a_tenant(house)
    for tenant in (one, other, one):
        async with house.tenant_tx(tenant) as tx:
            await audit.record_tenant_action(tx, OPERATOR, Action("PAYMENT_CREDIT"), signer=house.chain)
    async with house.tenant_tx(one, read_only=True) as tx:
        assert [each.seq for each in (await audit.list_tenant_actions(tx, PageRequest())).rows] == [2, 1]
    report = await checks.verify_chains(house)
    assert {each.chain: each.rows for each in report.chains} == {f"tenant:{one.id}": 2, f"tenant:{other.id}": 1}
    assert report.broken == []


async def test_20_recorders_at_once_leave_a_gapless_chain(house: House) -> None:
    tenant = await a_tenant(house)

    async def both(number: int) -> None:
        await record(house, f"do.{number}")
        async with house.tenant_tx(tenant) as tx:
            await audit.record_tenant_action(tx, OPERATOR, Action(f"do.{number}"), signer=house.chain)

    await asyncio.gather(*(both(number) for number in range(20)))
    report = await checks.verify_chains(house)
    assert {(each.rows, each.head) for each in report.chains} == {(20, 20)}
    assert len(report.chains) == 2
    assert report.broken == []


async def test_worker_events_come_in_batches_and_are_found_by_worker_and_dispatch(house: House) -> None:
    dispatch_id = DispatchId(new_id())
    events = [
        WorkerEvent(WorkerEventName.REGISTER, "gpu-1", address="192.0.2.7", detail={"boot_id": "b\x00\n"}),
        WorkerEvent(WorkerEventName.REQUEUE, "gpu-1", dispatch_id),
        WorkerEvent(WorkerEventName.BLOCKED_WORKFLOW, "gpu-2", dispatch_id),
    ]
    async with house.control_tx() as tx:
        await audit.record_worker_events(tx, events)
        await audit.record_worker_events(tx, [])
    async with house.control_tx(read_only=True) as tx:
        everything = await audit.list_worker_events(tx, PageRequest(rows=2))
        rest = await audit.list_worker_events(tx, PageRequest.parse(rows=2, cursor=everything.next_cursor))
        of_worker = await audit.list_worker_events(tx, PageRequest(), worker_id="gpu-1")
        of_dispatch = await audit.list_worker_events(tx, PageRequest(), dispatch_id=dispatch_id)
    found = everything.rows + rest.rows
    assert [each.event for each in found] == ["client:blocked_workflow", "requeue", "register"]
    assert (found[2].worker_id, found[2].address, found[2].detail) == ("gpu-1", "192.0.2.7", r'{"boot_id":"b\u0000\n"}')
    assert {each.event for each in of_worker.rows} == {"register", "requeue"}
    assert {each.worker_id for each in of_dispatch.rows} == {"gpu-1", "gpu-2"}
    assert all(isinstance(each.id, UUID) and each.at.tzinfo is not None for each in found)
