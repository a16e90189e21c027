"""Bring a database to the schema of this code: two histories (central, tenant), one way to run them.

All pending migrations of one database run in one transaction, under a lock: several replicas may start
at once, the second finds nothing left to do; and a migration that fails leaves the database as it was.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from comfyfleet.db.dialect import READ_ONLY
from comfyfleet.db.engine import Database
from comfyfleet.db.tables import CENTRAL, TENANT
from comfyfleet.kernel.errors import SchemaTrouble

MIGRATION_LOCK = 7_246_113  # any number, as long as nothing else in the database uses it

T = TypeVar("T")


@dataclass(frozen=True)
class History:
    """The migrations of one kind of database."""

    name: str
    tables: sa.MetaData

    @property
    def version_table(self) -> str:
        """One per history: a central database is not mistaken for a pool, nor a pool for central."""
        return f"alembic_version_{self.name}"

    def config(self) -> Config:
        config = Config()
        config.set_main_option("script_location", str(Path(__file__).parent / "migrations" / self.name))
        return config

    def head(self) -> str | None:
        return ScriptDirectory.from_config(self.config()).get_current_head()


CENTRAL_HISTORY = History("central", CENTRAL)
TENANT_HISTORY = History("tenant", TENANT)


@dataclass(frozen=True)
class Upgrade:
    before: str | None
    after: str | None

    @property
    def moved(self) -> bool:
        return self.before != self.after


async def upgrade(database: Database, history: History) -> Upgrade:
    """To the newest revision. Nothing to do is a fine outcome."""

    def work(connection: Connection) -> Upgrade:
        if connection.dialect.name == "postgresql":
            # A migration may take long, and so may waiting for another replica's.
            connection.execute(sa.text("SET LOCAL statement_timeout = 0"))
            connection.execute(sa.text("SET LOCAL lock_timeout = 0"))
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(MIGRATION_LOCK)))
        before = _revision(connection, history)
        config = history.config()
        config.attributes["connection"] = connection
        config.attributes["history"] = history
        command.upgrade(config, "head")
        return Upgrade(before, _revision(connection, history))

    return await _in_transaction(database, work)


async def current(database: Database, history: History) -> str | None:
    return await _in_transaction(database, lambda connection: _revision(connection, history), read_only=True)


async def differences(database: Database, history: History) -> list[str]:
    """What the database has, or lacks, against the tables in this code; empty when they agree."""

    def work(connection: Connection) -> list[str]:
        found = _revision(connection, history)
        if found != history.head():
            return [f"revision {found} where {history.head()} is the newest: run `comfyfleet db upgrade`"]
        opts = {"compare_type": True, "version_table": history.version_table}
        context = MigrationContext.configure(connection, opts=opts)
        return [_describe(change) for change in compare_metadata(context, history.tables)]

    return await _in_transaction(database, work, read_only=True)


def run_environment() -> None:
    """What Alembic's env.py of either history does."""
    from alembic import context  # a proxy that only exists while Alembic runs env.py

    connection: Connection = context.config.attributes["connection"]
    history: History = context.config.attributes["history"]
    context.configure(
        connection=connection,
        target_metadata=history.tables,
        render_as_batch=True,
        version_table=history.version_table,
    )
    with context.begin_transaction():
        context.run_migrations()


async def _in_transaction(database: Database, work: Callable[[Connection], T], *, read_only: bool = False) -> T:
    try:
        async with database.engine.connect() as connection:
            if read_only:
                await connection.execution_options(**{READ_ONLY: True})
            async with connection.begin():
                return await connection.run_sync(work)
    except (SQLAlchemyError, CommandError, OSError) as error:
        raise SchemaTrouble(database.name, _first_line(error)) from error


def _first_line(error: Exception) -> str:
    cause = error.orig if isinstance(error, DBAPIError) else error
    return (str(cause).strip() or type(cause).__name__).splitlines()[0]


def _revision(connection: Connection, history: History) -> str | None:
    opts = {"version_table": history.version_table}
    return MigrationContext.configure(connection, opts=opts).get_current_revision()


def _describe(change: object) -> str:
    parts = change if isinstance(change, tuple) else (change,)
    return " ".join(str(part) for part in parts)
