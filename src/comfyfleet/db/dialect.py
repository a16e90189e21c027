"""Every difference between PostgreSQL and SQLite that a statement can meet. There is no other place."""

import sqlite3
import time
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.dialects import postgresql
from sqlalchemy.engine import Connection
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.pool import ConnectionPoolEntry
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from comfyfleet.db.types import UtcTime

CLOCK_OFFSET = "clock_offset_s"
READ_ONLY = "comfyfleet_read_only"
SQLITE_BUSY_TIMEOUT_MS = 10_000
WAL_ATTEMPTS = 100
WAL_PAUSE_S = 0.02


class DatabaseTime(FunctionElement[datetime]):
    """The database's clock, plus the transaction's offset (zero but in tests), plus `seconds`."""

    inherit_cache = True
    type = UtcTime()

    def __init__(self, seconds: float = 0.0) -> None:
        super().__init__(
            sa.bindparam(CLOCK_OFFSET, type_=sa.Float()),
            sa.bindparam("plus_s", float(seconds), type_=sa.Float(), unique=True),
        )


def now() -> DatabaseTime:
    return DatabaseTime()


def seconds_from_now(seconds: float) -> DatabaseTime:
    return DatabaseTime(seconds)


@compiles(DatabaseTime)  # also for printing a statement without a database at hand
@compiles(DatabaseTime, "postgresql")
def _postgresql_time(element: DatabaseTime, compiler: SQLCompiler, **kw: Any) -> str:
    offset, plus = (compiler.process(clause, **kw) for clause in element.clauses)
    # clock_timestamp() moves on while a transaction waits for a lock; now() would not.
    return f"(clock_timestamp() + make_interval(secs => {offset} + {plus}))"


@compiles(DatabaseTime, "sqlite")
def _sqlite_time(element: DatabaseTime, compiler: SQLCompiler, **kw: Any) -> str:
    offset, plus = (compiler.process(clause, **kw) for clause in element.clauses)
    return f"(strftime('%Y-%m-%dT%H:%M:%f', 'now', ({offset} + {plus}) || ' seconds') || '000Z')"


def insert_once(table: sa.Table) -> postgresql.Insert:
    """INSERT … ON CONFLICT DO NOTHING: a row comes back, or it was there before. Both engines read it."""
    return postgresql.insert(table).on_conflict_do_nothing()


def use_sqlite_safely(engine: sa.Engine) -> None:
    """Without this SQLite loses updates in silence: its driver starts transactions too late.

    `BEGIN IMMEDIATE` takes the write lock before the first read, which is what `FOR UPDATE` means
    here: the lock clause itself vanishes on this engine.
    """

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _entry: ConnectionPoolEntry) -> None:
        connection.isolation_level = None
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout = {SQLITE_BUSY_TIMEOUT_MS}")
        _switch_to_wal(cursor)
        # NORMAL may forget the last commits in a power cut: a credit, an accepted job.
        cursor.execute("PRAGMA synchronous = FULL")
        cursor.execute("PRAGMA foreign_keys = ON")
        # REPLACE would otherwise delete rows without firing the triggers that forbid it.
        cursor.execute("PRAGMA recursive_triggers = ON")
        cursor.close()

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        read_only = bool(connection.get_execution_options().get(READ_ONLY, False))
        if connection.info.get(READ_ONLY, False) != read_only:
            connection.exec_driver_sql(f"PRAGMA query_only = {int(read_only)}")
            connection.info[READ_ONLY] = read_only
        connection.exec_driver_sql("BEGIN" if read_only else "BEGIN IMMEDIATE")


def _switch_to_wal(cursor: Any) -> None:
    """SQLite does not wait its busy timeout for this one statement when several open a new file at once."""
    for attempt in range(WAL_ATTEMPTS):
        try:
            cursor.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError:
            if attempt == WAL_ATTEMPTS - 1:
                raise
            time.sleep(WAL_PAUSE_S)


def use_postgresql_safely(engine: sa.Engine) -> None:
    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        if connection.get_execution_options().get(READ_ONLY, False):
            connection.exec_driver_sql("SET TRANSACTION READ ONLY")


def append_only(dialect: str, table: str) -> list[str]:
    """DDL by which the database itself refuses to change or remove a row once written."""
    message = f"{table} is append-only"
    if dialect == "sqlite":
        return [
            f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} "
            f"BEGIN SELECT RAISE(ABORT, '{message}'); END"
            for verb in ("UPDATE", "DELETE")
        ]
    return [
        f"CREATE FUNCTION {table}_refuse() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{message}' USING ERRCODE = 'integrity_constraint_violation'; END $$",
        f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE ON {table} "
        f"FOR EACH ROW EXECUTE FUNCTION {table}_refuse()",
        f"CREATE TRIGGER {table}_no_truncate BEFORE TRUNCATE ON {table} "
        f"FOR EACH STATEMENT EXECUTE FUNCTION {table}_refuse()",
    ]
