"""Two histories, both engines: the schema is the tables; replicas may upgrade at once; a dead pool holds up nobody."""

import asyncio
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from comfyfleet.db import Database, open_database
from comfyfleet.db.migrate import CENTRAL_HISTORY, TENANT_HISTORY, History, current, differences, upgrade
from comfyfleet.kernel.errors import SchemaTrouble
from tests.conftest import Databases

HISTORIES = [CENTRAL_HISTORY, TENANT_HISTORY]


@pytest.fixture(params=HISTORIES, ids=lambda each: each.name)
def history(request: pytest.FixtureRequest) -> History:
    chosen: History = request.param
    return chosen


def _describe(connection: Connection) -> dict[str, Any]:
    """Everything a table promises, as the database itself tells it."""
    inspector = sa.inspect(connection)
    return {
        table: {
            "columns": [(each["name"], str(each["type"]), each["nullable"]) for each in inspector.get_columns(table)],
            "primary key": inspector.get_pk_constraint(table),
            "foreign keys": sorted(map(str, inspector.get_foreign_keys(table))),
            "unique": sorted(map(str, inspector.get_unique_constraints(table))),
            "checks": sorted((str(each["name"]), each["sqltext"]) for each in inspector.get_check_constraints(table)),
            "indexes": sorted(map(_index, inspector.get_indexes(table))),
        }
        for table in inspector.get_table_names()
        if not table.startswith("alembic_version")
    }


def _index(index: Any) -> str:
    only = {name: str(condition) for name, condition in index["dialect_options"].items()}
    return f"{index['name']} {index['column_names']} {bool(index['unique'])} {only}"


async def test_the_migrated_schema_is_the_tables(databases: Databases, history: History) -> None:
    kind: Any = history.name
    migrated = open_database("migrated", databases.make(kind, empty=True))
    declared = open_database("declared", databases.make(kind, empty=True))
    await upgrade(migrated, history)
    async with declared.engine.begin() as connection:
        await connection.run_sync(history.tables.create_all)
    async with migrated.engine.connect() as one, declared.engine.connect() as two:
        found, wanted = await one.run_sync(_describe), await two.run_sync(_describe)
    assert found == wanted
    assert set(found) == set(history.tables.tables)
    assert await differences(migrated, history) == []
    await migrated.close()
    await declared.close()


async def test_a_difference_is_found(databases: Databases, history: History) -> None:
    database = open_database("x", databases.make(history.name))  # type: ignore[arg-type]
    table = history.tables.sorted_tables[0].name
    async with database.engine.begin() as connection:
        await connection.execute(sa.text(f"ALTER TABLE {table} ADD COLUMN surprise INTEGER"))
    found = await differences(database, history)
    assert len(found) == 1
    assert "surprise" in found[0]
    await database.close()


async def test_a_database_that_is_behind_says_what_to_run(databases: Databases, history: History) -> None:
    database = open_database("x", databases.make(history.name, empty=True))  # type: ignore[arg-type]
    assert await current(database, history) is None
    assert "comfyfleet db upgrade" in (await differences(database, history))[0]
    await database.close()


async def test_replicas_that_start_together_upgrade_once(databases: Databases, history: History) -> None:
    url = databases.make(history.name, empty=True)  # type: ignore[arg-type]
    replicas: list[Database] = [open_database(f"replica {number}", url) for number in range(4)]
    done = await asyncio.gather(*(upgrade(replica, history) for replica in replicas))
    assert [each.moved for each in done].count(True) == 1
    assert {each.after for each in done} == {history.head()}
    for replica in replicas:
        await replica.close()


async def test_a_migration_that_fails_leaves_the_database_as_it_was(databases: Databases, history: History) -> None:
    database = open_database("x", databases.make(history.name, empty=True))  # type: ignore[arg-type]
    last = history.tables.sorted_tables[-1].name
    async with database.engine.begin() as connection:
        await connection.execute(sa.text(f"CREATE TABLE {last} (in_the_way INTEGER)"))
    with pytest.raises(SchemaTrouble, match="already exists"):
        await upgrade(database, history)
    async with database.engine.connect() as connection:
        names = await connection.run_sync(lambda sync: sa.inspect(sync).get_table_names())
    assert names == [last]
    async with database.engine.begin() as connection:
        await connection.execute(sa.text(f"DROP TABLE {last}"))
    assert (await upgrade(database, history)).moved
    await database.close()


async def test_a_central_database_is_not_taken_for_a_pool(databases: Databases) -> None:
    database = open_database("x", databases.make("central"))
    assert await current(database, TENANT_HISTORY) is None
    assert await current(database, CENTRAL_HISTORY) == CENTRAL_HISTORY.head()
    await database.close()


async def test_a_database_from_the_future_is_named(databases: Databases, history: History) -> None:
    database = open_database("x", databases.make(history.name))  # type: ignore[arg-type]
    async with database.engine.begin() as connection:
        await connection.execute(sa.text(f"UPDATE {history.version_table} SET version_num = '9999'"))
    with pytest.raises(SchemaTrouble, match="9999"):
        await upgrade(database, history)
    await database.close()
