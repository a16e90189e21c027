"""What the desk remembers of workers, and when it looks again."""

import asyncio

import pytest

from comfyfleet import fleet
from comfyfleet.desk.roster import ASSIGNMENT_S
from comfyfleet.fleet import WorkerEvent
from comfyfleet.kernel.errors import Superseded, Unauthenticated
from comfyfleet.kernel.secret import Secret
from tests.database.desk.shop import Shop, a_report, soon


async def test_who_was_identified_is_known_and_strangers_are_not(shop: Shop) -> None:
    made, roster = await shop.register(), shop.desks[0].roster
    assert await roster.identify(made.token, "i-1") == made.worker
    assert await roster.identify(made.token, "i-1") == made.worker
    with pytest.raises(Unauthenticated):
        await roster.identify(made.token, "i-2")
    with pytest.raises(Superseded):
        await roster.identify(Secret("x" * 64), "i-1")
    with pytest.raises(Unauthenticated):
        await roster.identify(Secret("x" * 64), "nobody")


async def test_many_who_come_at_once_are_looked_up_together_each_for_itself(shop: Shop) -> None:
    made = [await shop.register(f"w-{number}") for number in range(5)]
    roster = shop.desks[0].roster
    asked = [(each.token, each.worker.worker_id) for each in made] + [(Secret("y" * 64), "nobody")]
    found = await asyncio.gather(*(roster.identify(*each) for each in asked), return_exceptions=True)
    assert found[:-1] == [each.worker for each in made]
    assert isinstance(found[-1], Unauthenticated)
    assert roster._identify.batches == 1


@pytest.mark.parametrize("change", ["revoke", "rotate", "take over", "leave"])
async def test_a_change_at_this_replica_counts_at_once(shop: Shop, change: str) -> None:
    made, desk = await shop.register(), shop.desks[0]
    await desk.roster.identify(made.token, "i-1")
    async with shop.house.control_tx() as tx:
        match change:
            case "revoke":
                await fleet.move_worker(tx, "i-1", WorkerEvent.REVOKE)
            case "rotate":
                await fleet.rotate_token(tx, "i-1")
            case "leave":
                await fleet.deregister_worker(tx, made.worker)
    if change == "take over":
        await shop.register()
    desk.worker_changed("i-1")
    with pytest.raises(Superseded if change in ("rotate", "take over") else Unauthenticated):
        await desk.roster.identify(made.token, "i-1")


async def test_whoever_is_remembered_wrongly_still_gets_nothing(shop: Shop) -> None:
    """A replica that missed the bell knows the worker as it was: what it takes is decided by the rows."""
    made = await shop.register()
    await shop.desks[1].roster.identify(made.token, "i-1")
    await shop.revoke("i-1")
    await shop.add(at=1)
    assert await shop.desks[1].roster.identify(made.token, "i-1") == made.worker
    with pytest.raises(Unauthenticated):
        await shop.poll(made.worker, at=1)
    with pytest.raises(Unauthenticated):  # and it is forgotten
        await shop.desks[1].roster.identify(made.token, "i-1")


async def test_a_changed_assignment_is_seen_within_a_second(shop: Shop) -> None:
    worker, other = await shop.worker(), await shop.workflow("other")
    assert await shop.poll(worker) is None
    async with shop.house.control_tx() as tx:
        await fleet.assign_workflow(tx, shop.fleet.id, other, is_active=False)
        await fleet.assign_workflow(tx, shop.fleet.id, shop.workflow_id, is_active=False)
    await shop.place()

    async def until_it_is_seen() -> None:
        while (found := await shop.poll(worker)) is not None:  # given back: it may not have been seen yet
            await shop.desks[0].requeue(a_report(found, worker, error="too early"))
            await asyncio.sleep(ASSIGNMENT_S / 8)

    await soon(until_it_is_seen(), ASSIGNMENT_S * 3)
    async with shop.house.control_tx() as tx:
        await fleet.assign_workflow(tx, shop.fleet.id, shop.workflow_id)

    async def until_it_may_again() -> None:
        while await shop.poll(worker) is None:  # noqa: ASYNC110 as a worker does that does not wait
            await asyncio.sleep(ASSIGNMENT_S / 20)

    await soon(until_it_may_again(), ASSIGNMENT_S * 3)


async def test_what_is_assigned_now_is_run_by_those_who_wait_already(shop: Shop) -> None:
    """They wait for what they might run before: they are sent to ask anew, and get it."""
    worker, desk = await shop.worker(), shop.desks[0]
    waiting = shop.waiting(worker, at=0)
    await shop.parked(1, at=0)
    shop.workflow_id = await shop.workflow("colorize")
    [dispatch_id] = await shop.add(at=0)
    desk.assignments_changed()
    assert await soon(waiting) is None
    grant = await shop.poll(worker, at=0)
    assert grant is not None
    assert grant.dispatch_id == dispatch_id
