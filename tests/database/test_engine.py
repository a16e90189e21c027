"""Transactions mean the same on both engines."""

import asyncio

import pytest
import sqlalchemy as sa

from comfyfleet.db import ControlTx, Database
from comfyfleet.db.dialect import now, seconds_from_now
from comfyfleet.db.tables import tenants
from comfyfleet.house import House
from comfyfleet.kernel.errors import DatabaseUnavailable
from tests.builders import a_tenant
from tests.conftest import Databases, ManualClock


async def test_200_read_modify_writes_lose_no_update(house: House) -> None:
    """8 tasks, 25 transactions each, reading a value and writing it back plus one. SQLite's defaults lose 175."""
    tenant = await a_tenant(house)
    # FOR UPDATE is what locks on PostgreSQL; on SQLite it vanishes, and BEGIN IMMEDIATE must do its work.
    read = sa.select(tenants.c.weight).where(tenants.c.id == tenant.id).with_for_update()

    async def add_one() -> None:
        async with house.control_tx() as tx:
            found = (await tx.one(read)).weight
            await asyncio.sleep(0)
            await tx.run(sa.update(tenants).where(tenants.c.id == tenant.id).values(weight=found + 1))

    async def task() -> None:
        for _ in range(25):
            await add_one()

    await asyncio.gather(*(task() for _ in range(8)))
    async with house.control_tx() as tx:
        assert (await tx.one(read)).weight == 1 + 200


async def test_an_error_leaves_nothing_behind(house: House) -> None:
    tenant = await a_tenant(house)

    async def fail(tx: ControlTx) -> None:
        await tx.run(sa.update(tenants).where(tenants.c.id == tenant.id).values(weight=77))
        raise RuntimeError("after the write")

    with pytest.raises(RuntimeError):
        async with house.control_tx() as tx:
            await fail(tx)
    async with house.control_tx(read_only=True) as tx:
        assert (await tx.one(sa.select(tenants.c.weight))).weight == 1


async def test_a_cancelled_task_gives_its_connection_back(house: House) -> None:
    started = asyncio.Event()

    async def hold() -> None:
        async with house.control_tx():
            started.set()
            await asyncio.sleep(60)

    for _ in range(20):
        started.clear()
        task = asyncio.create_task(hold())
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    await a_tenant(house)
    assert house.central.engine.pool.checkedout() == 0  # type: ignore[attr-defined]


async def test_the_clock_is_the_databases_and_tests_can_move_it(house: House, clock: ManualClock) -> None:
    statement = sa.select(now().label("now"), seconds_from_now(90).label("later"))
    async with house.control_tx() as tx:
        before = await tx.one(statement)
    clock.advance(3600)
    async with house.control_tx() as tx:
        after = await tx.one(statement)
    assert before.now.tzinfo is not None
    assert 89.9 < (before.later - before.now).total_seconds() < 90.1
    assert 3600 <= (after.now - before.now).total_seconds() < 3660


async def test_times_are_kept_to_the_microsecond_and_compare_as_times(house: House) -> None:
    tenant = await a_tenant(house)
    async with house.control_tx() as tx:
        rows = await tx.all(sa.select(tenants.c.created_at).where(tenants.c.created_at == tenant.created_at))
        assert [row.created_at for row in rows] == [tenant.created_at]
        assert await tx.all(sa.select(tenants.c.id).where(tenants.c.created_at > now())) == []


async def test_foreign_keys_hold(house: House) -> None:
    tenant = await a_tenant(house)
    orphan = sa.text(
        "INSERT INTO users (id, tenant_id, email, role, status, created_at) SELECT :id, :id, 'x@y.z', "
        "'member', 'active', created_at FROM tenants"
    ).bindparams(sa.bindparam("id", tenant.id.__class__(int=5), type_=sa.Uuid()))
    with pytest.raises(sa.exc.IntegrityError):
        async with house.central.engine.begin() as connection:
            await connection.execute(orphan)


async def test_a_read_only_transaction_cannot_write(house: House) -> None:
    await a_tenant(house)
    with pytest.raises((sa.exc.DBAPIError, DatabaseUnavailable)):
        async with house.control_tx(read_only=True) as tx:
            await tx.run(sa.update(tenants).values(weight=2))
    async with house.control_tx() as tx:
        assert await tx.run(sa.update(tenants).values(weight=3)) == 1


async def test_reading_does_not_keep_a_connection_from_writing(house: House) -> None:
    tenant = await a_tenant(house)
    write = sa.update(tenants).where(tenants.c.id == tenant.id).values(weight=tenants.c.weight + 1)
    for _ in range(3):
        async with house.control_tx(read_only=True) as tx:
            await tx.all(sa.select(tenants.c.id))
        async with house.control_tx() as tx:
            assert await tx.run(write) == 1


async def _backends(house: House) -> list[int]:
    """Those behind two transactions at once."""
    pid = sa.text("SELECT pg_backend_pid() AS pid")
    async with house.control_tx() as first, house.control_tx() as second:
        return [(await tx.one(pid)).pid for tx in (first, second)]


async def test_connections_that_the_server_closed_are_replaced_unnoticed(house: House) -> None:
    if house.central.engine.dialect.name != "postgresql":
        pytest.skip("SQLite has no server that could go")
    before = await _backends(house)
    async with house.pool("main").engine.connect() as elsewhere:
        for pid in before:
            await elsewhere.execute(sa.text(f"SELECT pg_terminate_backend({pid}, 10000)"))
    assert not set(before) & set(await _backends(house))


async def test_a_connection_long_unused_is_asked_whether_it_lives(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    if house.central.engine.dialect.name != "postgresql":
        pytest.skip("SQLite has no server that could go")
    before = await _backends(house)
    monkeypatch.setattr("comfyfleet.db.dialect.ASK_AFTER_S", -1.0)
    assert set(before) == set(await _backends(house))
    async with house.control_tx(read_only=True) as tx:
        await tx.all(sa.select(tenants.c.id))


async def test_a_wrong_statement_is_not_called_an_outage(house: House) -> None:
    with pytest.raises(sa.exc.DBAPIError):
        async with house.control_tx() as tx:
            await tx.all(sa.text("SELECT nothing FROM nowhere"))


async def test_waiting_for_a_lock_ends(house: House) -> None:
    """Somebody else's stuck transaction becomes a 503, on both engines, and not a wait without end."""
    tenant = await a_tenant(house)
    statement = sa.update(tenants).where(tenants.c.id == tenant.id).values(weight=5)
    async with house.control_tx() as stuck:
        await stuck.run(statement)
        with pytest.raises(DatabaseUnavailable):
            async with asyncio.timeout(20), house.control_tx() as waiting:
                await waiting.run(statement)


async def test_readers_do_not_wait_for_a_writer(house: House) -> None:
    await a_tenant(house)
    async with house.control_tx() as writer:
        await writer.run(sa.update(tenants).values(weight=9))
        async with asyncio.timeout(5), house.control_tx(read_only=True) as reader:
            assert (await reader.one(sa.select(tenants.c.weight))).weight == 1


async def test_a_database_that_does_not_answer_is_named(databases: Databases) -> None:
    from comfyfleet.db import open_database

    url = "sqlite:////nowhere/at/all.sqlite" if databases.engine == "sqlite" else "postgresql://x@127.0.0.1:1/x"
    dead: Database = open_database("eu", url)
    with pytest.raises(DatabaseUnavailable, match="'eu'"):
        await dead.ping()
    await dead.close()


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
async def test_who_writes_to_sqlite_waits_for_the_one_before_in_the_order_they_came(house: House) -> None:
    """At the desk, too: it opens the same file by itself."""
    came: list[int] = []

    async def write(number: int) -> None:
        async with house.queue_tx() if number % 2 else house.control_tx():
            came.append(number)
            await asyncio.sleep(0)

    await asyncio.gather(*(write(number) for number in range(40)))
    assert came == list(range(40))


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
async def test_a_writer_that_failed_or_was_cancelled_leaves_its_turn_to_the_next(house: House) -> None:
    tenant = await a_tenant(house)
    begun = asyncio.Event()

    async def hold() -> None:
        async with house.control_tx():
            begun.set()
            await asyncio.sleep(60)

    holding = asyncio.create_task(hold())
    await begun.wait()
    waiting = asyncio.create_task(a_tenant(house, slug="never"))
    await asyncio.sleep(0)
    waiting.cancel()
    holding.cancel()
    await asyncio.gather(holding, waiting, return_exceptions=True)
    async with house.control_tx() as tx:
        await tx.run(sa.update(tenants).where(tenants.c.id == tenant.id).values(weight=5))
