"""A hand in the database: what no verb does, and what the checks must find."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from comfyfleet.db import Database
from comfyfleet.db.tables import CENTRAL, TENANT


@dataclass(frozen=True)
class Attacker:
    """Holds the database and not the signing key. Triggers, constraints and indexes are its to put aside."""

    database: Database

    @property
    def on_sqlite(self) -> bool:
        return self.database.engine.dialect.name == "sqlite"

    async def run(self, *statements: str, **given: Any) -> int:
        """Whatever the schema forbids."""
        touched = 0
        async with self.database.engine.connect() as connection:
            await self._disarm(connection, statements)
            for statement in statements:
                touched = (await connection.execute(bound(statement, given))).rowcount
            await connection.commit()
            await connection.invalidate()
        return touched

    async def read(self, statement: str, **given: Any) -> list[Mapping[str, Any]]:
        async with self.database.engine.connect() as connection:
            return [dict(row._mapping) for row in await connection.execute(bound(statement, given))]

    async def _disarm(self, connection: AsyncConnection, statements: Iterable[str]) -> None:
        if self.on_sqlite:
            await self._disarm_sqlite(connection)
            return
        for table in {*CENTRAL.tables, *TENANT.tables}:
            if any(re.search(rf"\b{table}\b", statement) for statement in statements):
                await connection.exec_driver_sql(f"ALTER TABLE {table} DISABLE TRIGGER USER")
                for check in await _checks(connection, table):
                    await connection.exec_driver_sql(f"ALTER TABLE {table} DROP CONSTRAINT {check}")
        await connection.commit()

    async def _disarm_sqlite(self, connection: AsyncConnection) -> None:
        await connection.exec_driver_sql("PRAGMA ignore_check_constraints = ON")
        found = await connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        for (name,) in found.all():
            await connection.exec_driver_sql(f"DROP TRIGGER {name}")
        await connection.commit()
        await connection.exec_driver_sql("PRAGMA foreign_keys = OFF")
        await connection.commit()


async def _checks(connection: AsyncConnection, table: str) -> list[str]:
    found = await connection.exec_driver_sql(
        "SELECT conname FROM pg_constraint WHERE contype IN ('c', 'f') AND conrelid = %(table)s::regclass",
        {"table": table},
    )
    return [name for (name,) in found.all()]


def bound(statement: str, given: Mapping[str, Any]) -> sa.TextClause:
    """Ids are written as each engine keeps them."""
    used = {name: value for name, value in given.items() if f":{name}" in statement}
    kinds = [
        sa.bindparam(name, value, type_=sa.Uuid()) if isinstance(value, UUID) else sa.bindparam(name, value)
        for name, value in used.items()
    ]
    return sa.text(statement).bindparams(*kinds)
