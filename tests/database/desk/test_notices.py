"""A worker that is busy is told at once that a lease of its is no longer wanted."""

import asyncio

import pytest

from comfyfleet import dispatch
from comfyfleet.desk.notices import NONE, Unwanted
from comfyfleet.dispatch import Holder
from comfyfleet.fleet import Worker
from comfyfleet.kernel.ids import DispatchId
from tests.database.desk.shop import Shop, end, soon, until

EARLY_S = 1.0


async def hear(shop: Shop, worker: Worker, *, heard: Unwanted = NONE, at: int = 0) -> Unwanted:
    """What a call is answered."""
    notices = shop.desks[at].notices
    with notices.listen(Holder(worker.id, worker.incarnation), heard=heard) as listener:
        while not (unwanted := await notices.unwanted(listener)) and not listener.is_over:
            await listener.wait(30.0)
        return unwanted


async def hold(shop: Shop, worker: Worker) -> DispatchId:
    await shop.add()
    grant = await shop.poll(worker)
    assert grant is not None
    return grant.dispatch_id


async def cancel(shop: Shop, dispatch_id: DispatchId) -> None:
    async with shop.house.control_tx() as tx:
        await dispatch.cancel_dispatch(tx, dispatch_id)


async def test_who_waits_is_told_at_once(shop: Shop) -> None:
    worker, other = await shop.worker("a"), await shop.worker("b")
    mine, theirs = await hold(shop, worker), await hold(shop, other)
    calls = [asyncio.create_task(hear(shop, each)) for each in (worker, other)]
    await until(lambda: len(shop.desks[0].notices) == 2)
    await cancel(shop, mine)
    shop.desks[0].cancelled(mine)
    assert await soon(calls[0], EARLY_S) == {mine}
    assert not calls[1].done()
    await cancel(shop, theirs)
    shop.desks[0].cancelled(theirs)
    assert await soon(calls[1], EARLY_S) == {theirs}


async def test_what_was_cancelled_before_the_call_is_its_answer_and_what_was_heard_is_not(shop: Shop) -> None:
    worker = await shop.worker(max_concurrency=2)
    first = await hold(shop, worker)
    await cancel(shop, first)
    assert await soon(hear(shop, worker), EARLY_S) == {first}
    waiting = asyncio.create_task(hear(shop, worker, heard=frozenset([first])))
    await until(lambda: len(shop.desks[0].notices) == 1)
    await shop.desks[0].notices.look()
    await asyncio.sleep(0.05)
    assert not waiting.done()
    await end(waiting)
    assert len(shop.desks[0].notices) == 0


async def test_a_cancel_of_which_nobody_was_told_is_found_by_the_next_look(shop: Shop) -> None:
    worker = await shop.worker()
    mine = await hold(shop, worker)
    waiting = asyncio.create_task(hear(shop, worker))
    await until(lambda: len(shop.desks[0].notices) == 1)
    await cancel(shop, mine)
    await shop.desks[0].notices.look()
    assert await soon(waiting, EARLY_S) == {mine}


async def test_a_cancel_here_is_heard_there(shop: Shop, engine: str) -> None:
    if engine == "sqlite":
        pytest.skip("SQLite has no notices: its processes look every second")
    for desk in shop.desks:
        desk._bell.start()
    worker = await shop.worker()
    mine = await hold(shop, worker)
    waiting = asyncio.create_task(hear(shop, worker, at=1))
    await until(lambda: len(shop.desks[1].notices) == 1)
    await asyncio.sleep(0.2)
    await cancel(shop, mine)
    shop.desks[0].cancelled(mine)
    assert await soon(waiting, EARLY_S) == {mine}


async def test_an_earlier_life_of_the_worker_holds_nothing_of_this_one(shop: Shop) -> None:
    await cancel(shop, await hold(shop, await shop.worker("a")))
    again = await shop.worker("a")
    notices = shop.desks[0].notices
    with notices.listen(Holder(again.id, again.incarnation), heard=NONE) as listener:
        assert await notices.unwanted(listener) == NONE


async def test_a_second_call_ends_the_first_and_a_server_that_stops_ends_them_all(shop: Shop) -> None:
    worker = await shop.worker()
    first = asyncio.create_task(hear(shop, worker))
    await until(lambda: len(shop.desks[0].notices) == 1)
    second = asyncio.create_task(hear(shop, worker))
    assert await soon(first, EARLY_S) == NONE
    shop.desks[0].notices.close()
    assert await soon(second, EARLY_S) == NONE
    assert await soon(hear(shop, worker), EARLY_S) == NONE
