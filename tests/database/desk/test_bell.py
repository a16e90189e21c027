"""Two replicas over one PostgreSQL tell each other what has come and who has changed."""

import asyncio

import pytest
import sqlalchemy as sa

from comfyfleet.db.notices import Notices
from comfyfleet.desk.bell import CHANNEL
from comfyfleet.desk.desk import LOOK_EVERY_S
from comfyfleet.kernel.errors import Superseded, Unauthenticated
from comfyfleet.upkeep import Elsewhere, Upkeep
from tests.database.desk.shop import Shop, a_report, end, soon, until

# Well before the look that would find it anyway.
EARLY_S = LOOK_EVERY_S / 2


LISTENERS = "FROM pg_stat_activity WHERE starts_with(query, 'LISTEN') AND datname = current_database()"


@pytest.fixture(autouse=True)
async def listening(shop: Shop, engine: str) -> None:
    if engine == "sqlite":
        pytest.skip("SQLite has no notices: its processes look every two seconds")
    for desk in shop.desks:
        desk._bell.start()
    await listeners(shop, 2)


async def listeners(shop: Shop, count: int) -> None:
    async with shop.house.central.engine.connect() as connection, asyncio.timeout(10):
        watcher = await connection.execution_options(isolation_level="AUTOCOMMIT")
        while await watcher.scalar(sa.text(f"SELECT count(*) {LISTENERS}")) != count:  # noqa: ASYNC110 signals nobody
            await asyncio.sleep(0.01)


async def test_a_job_queued_here_wakes_one_who_waits_there(shop: Shop) -> None:
    waiting = shop.waiting(await shop.worker(), at=1)
    await shop.parked(1, at=1)
    [dispatch_id] = await shop.add(at=0)
    grant = await soon(waiting, EARLY_S)
    assert grant is not None
    assert grant.dispatch_id == dispatch_id


async def test_a_hundred_jobs_queued_here_are_a_few_notices_and_wake_as_many_there(shop: Shop) -> None:
    workers = await shop.workers(20)
    waiting = [shop.waiting(worker, at=1) for worker in workers]
    await shop.parked(20, at=1)
    third = asyncio.create_task(_collect(Notices(shop.house.central, CHANNEL), heard := list[str]()))
    await listeners(shop, 3)
    for place in (await shop.place(100)).values():
        shop.desks[0].queued([place])
    grants = await soon(asyncio.gather(*waiting), EARLY_S)
    assert len({grant.dispatch_id for grant in grants if grant}) == 20
    await until(lambda: len(heard) > 0)
    assert len(heard) == 1, "one tick, one notice"
    await end(third)


async def _collect(notices: Notices, heard: list[str]) -> None:
    async for text in notices.listen():
        heard.append(text)


async def test_a_replica_without_upkeep_calls_one_that_has_it(shop: Shop) -> None:
    heard: list[tuple[str, str | None]] = []
    for desk in shop.desks:
        desk.on_called = lambda loop, pool: heard.append((loop, pool))
    for _ in range(2):
        Elsewhere(shop.desks[0], Upkeep([])).wake("advance_runs", pool="main")
    await until(lambda: len(heard) > 0)
    assert heard == [("advance_runs", "main")]


async def test_a_job_given_back_here_wakes_one_who_waits_there(shop: Shop) -> None:
    here, there = await shop.worker("here"), await shop.worker("there")
    await shop.add(at=0)
    grant = await shop.poll(here, at=0)
    assert grant is not None
    waiting = shop.waiting(there, at=1)
    await shop.parked(1, at=1)
    await shop.desks[0].requeue(a_report(grant, here, error="spot"))
    assert await soon(waiting, EARLY_S) is not None


async def test_a_kind_of_job_nobody_has_seen_is_found_there_too(shop: Shop) -> None:
    flow = await shop.workflow("new")
    waiting = shop.waiting(await shop.worker(), at=1)
    await shop.parked(1, at=1)
    await shop.add(at=0, workflow_id=flow, structure_hash="new")
    assert await soon(waiting, EARLY_S) is not None


@pytest.mark.parametrize("change", ["revoke", "take over"])
async def test_a_worker_that_changed_here_is_a_stranger_there(shop: Shop, change: str) -> None:
    made, there = await shop.register(), shop.desks[1].roster
    assert await there.identify(made.token, "i-1") == made.worker
    if change == "revoke":
        await shop.revoke("i-1")
    else:
        await shop.register("i-1")
    shop.desks[0].worker_changed("i-1")
    await until(lambda: made.token.digest() not in there._known)
    with pytest.raises(Unauthenticated if change == "revoke" else Superseded):
        await there.identify(made.token, "i-1")


async def test_one_that_hears_nothing_hears_again_when_the_line_is_back(shop: Shop) -> None:
    async with shop.house.central.engine.connect() as connection:
        await connection.execute(sa.text(f"SELECT pg_terminate_backend(pid) {LISTENERS}"))
    waiting = shop.waiting(await shop.worker(), at=1)
    await shop.parked(1, at=1)
    await listeners(shop, 0)
    await listeners(shop, 2)
    await shop.add(at=0)
    assert await soon(waiting) is not None


async def test_workflows_that_are_assigned_here_are_asked_for_there(shop: Shop) -> None:
    waiting = shop.waiting(await shop.worker(), at=1)
    await shop.parked(1, at=1)
    await shop.workflow("colorize")
    shop.desks[0].assignments_changed()
    assert await soon(waiting, EARLY_S) is None
