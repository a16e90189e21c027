"""Every difference between PostgreSQL and SQLite that a statement can meet. There is no other place."""

import select
import sqlite3
import time
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any

import msgspec
import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.dialects import postgresql
from sqlalchemy.engine import Connection, Dialect
from sqlalchemy.exc import InvalidatePoolError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.pool import ConnectionPoolEntry
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import NullType, TypeEngine

from comfyfleet.db.types import TimeAsFound, UtcTime

CLOCK_OFFSET = "clock_offset_s"
READ_ONLY = "comfyfleet_read_only"
SQLITE_BUSY_TIMEOUT_MS = 10_000
WAL_ATTEMPTS = 100
WAL_PAUSE_S = 0.02
UNUSED_SINCE = "comfyfleet_unused_since"
ASK_AFTER_S = 30.0


class DatabaseTime(FunctionElement[datetime]):
    """The database's clock, plus the transaction's offset (zero but in tests), plus `seconds`."""

    inherit_cache = True
    type = UtcTime()

    def __init__(self, seconds: "float | sa.ColumnElement[float]" = 0.0) -> None:
        plus = sa.bindparam("plus_s", seconds, type_=sa.Float(), unique=True) if _is_number(seconds) else seconds
        super().__init__(sa.bindparam(CLOCK_OFFSET, type_=sa.Float()), plus)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float))


def now() -> DatabaseTime:
    return DatabaseTime()


def seconds_from_now(seconds: "float | sa.ColumnElement[float]") -> DatabaseTime:
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


class TimeText(FunctionElement[datetime]):
    """A time as its text, so that the driver cannot stumble over what somebody wrote there."""

    inherit_cache = True
    type = TimeAsFound()

    def __init__(self, column: sa.ColumnElement[Any]) -> None:
        super().__init__(column)


@compiles(TimeText)
@compiles(TimeText, "postgresql")
def _postgresql_time_text(element: TimeText, compiler: SQLCompiler, **kw: Any) -> str:
    column = compiler.process(element.clauses, **kw)
    return f"""to_char({column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')"""


@compiles(TimeText, "sqlite")
def _sqlite_time_text(element: TimeText, compiler: SQLCompiler, **kw: Any) -> str:
    return compiler.process(element.clauses, **kw)


class SecondsBetween(FunctionElement[float]):
    """How long from one instant to another."""

    inherit_cache = True
    type = sa.Float()

    def __init__(self, earlier: "sa.ColumnElement[Any] | DatabaseTime", later: "sa.ColumnElement[Any] | DatabaseTime"):
        super().__init__(earlier, later)


@compiles(SecondsBetween)
@compiles(SecondsBetween, "postgresql")
def _postgresql_between(element: SecondsBetween, compiler: SQLCompiler, **kw: Any) -> str:
    earlier, later = (compiler.process(clause, **kw) for clause in element.clauses)
    return f"EXTRACT(EPOCH FROM ({later}) - ({earlier}))::float8"


@compiles(SecondsBetween, "sqlite")
def _sqlite_between(element: SecondsBetween, compiler: SQLCompiler, **kw: Any) -> str:
    earlier, later = (compiler.process(clause, **kw) for clause in element.clauses)
    return f"((julianday({later}) - julianday({earlier})) * 86400.0)"


class WholePart(FunctionElement[int]):
    """A number without what stands behind its point; for numbers that are not negative. A cast rounds in one of them,
    and cuts in the other."""

    inherit_cache = True
    type = sa.Integer()

    def __init__(self, number: sa.ColumnElement[float]) -> None:
        super().__init__(number)


@compiles(WholePart)
@compiles(WholePart, "postgresql")
def _postgresql_whole(element: WholePart, compiler: SQLCompiler, **kw: Any) -> str:
    return f"FLOOR({compiler.process(element.clauses, **kw)})::int"


@compiles(WholePart, "sqlite")
def _sqlite_whole(element: WholePart, compiler: SQLCompiler, **kw: Any) -> str:
    return f"CAST({compiler.process(element.clauses, **kw)} AS INTEGER)"


class Larger(FunctionElement[Any]):
    """The larger of two values: GREATEST here, MAX there."""

    inherit_cache = True

    def __init__(self, one: Any, other: Any) -> None:
        super().__init__(one, other)
        self.type = self.clauses.clauses[0].type


@compiles(Larger)
@compiles(Larger, "postgresql")
def _postgresql_larger(element: Larger, compiler: SQLCompiler, **kw: Any) -> str:
    return f"GREATEST({compiler.process(element.clauses, **kw)})"


@compiles(Larger, "sqlite")
def _sqlite_larger(element: Larger, compiler: SQLCompiler, **kw: Any) -> str:
    return f"MAX({compiler.process(element.clauses, **kw)})"


class _BatchRows(FunctionElement[Any]):
    """Rows that travel in one parameter: the statement is the same text for one row and for five hundred."""

    inherit_cache = True

    def __init__(self, columns: dict[str, TypeEngine[Any]], rows: "sa.BindParameter[str]") -> None:
        self.columns_by_name = columns
        super().__init__(rows)


def batch_rows(
    name: str, columns: dict[str, TypeEngine[Any]], rows: Sequence[dict[str, Any]] | None = None
) -> sa.TableValuedAlias:
    """With `rows`, or without: then they are given when the statement runs, as `rows=batch(…)`."""
    if rows is None:
        given: sa.BindParameter[str] = sa.bindparam("rows", type_=sa.Text())
    else:
        # Named after its columns: statements over other columns must not share a cached text.
        given = sa.bindparam("rows_" + "_".join(columns), batch(rows), type_=sa.Text())
    listed = [sa.column(key, kind) for key, kind in columns.items()]
    return _BatchRows(columns, given).table_valued(*listed, name=name)


def batch(rows: Sequence[dict[str, Any]]) -> str:
    return msgspec.json.encode(rows).decode()


def ordered_batch(rows: Sequence[dict[str, Any]]) -> str:
    """By id. Two batches that lock the same rows must take them in one order, or each may wait for the other."""
    return batch(sorted(rows, key=lambda row: row["id"].int))


@compiles(_BatchRows)
@compiles(_BatchRows, "postgresql")
def _postgresql_rows(element: _BatchRows, compiler: SQLCompiler, **kw: Any) -> str:
    kinds = {key: kind.compile(dialect=compiler.dialect) for key, kind in element.columns_by_name.items()}
    listed = ", ".join(f"{key} {kind}" for key, kind in kinds.items())
    rows = compiler.process(element.clauses, **kw)
    return f"(SELECT * FROM jsonb_to_recordset(CAST({rows} AS jsonb)) AS r({listed}))"  # noqa: S608 names of ours


@compiles(_BatchRows, "sqlite")
def _sqlite_rows(element: _BatchRows, compiler: SQLCompiler, **kw: Any) -> str:
    listed = ", ".join(f"{_sqlite_value(key, kind)} AS {key}" for key, kind in element.columns_by_name.items())
    rows = compiler.process(element.clauses, **kw)
    return f"(SELECT {listed} FROM json_each({rows}))"  # noqa: S608 names of ours


def _sqlite_value(key: str, kind: TypeEngine[Any]) -> str:
    """Here ids are kept without their hyphens."""
    value = f"json_extract(value, '$.{key}')"
    return f"replace({value}, '-', '')" if isinstance(kind, sa.Uuid) else value


def constant(value: StrEnum) -> sa.ColumnElement[str]:
    """Written into the statement, not bound: a plan that is made once sees a partial index only through a constant."""
    return sa.literal_column(f"'{value.value}'", sa.Text())


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
    """A connection that died while nobody used it is replaced before anybody notices.

    A server that goes says goodbye, so something waits in the socket of a connection where nothing should: seeing that
    takes no round trip. Only one that was long unused is asked whether it lives; somebody between may have dropped it.
    """

    @event.listens_for(engine, "checkin")
    def note(_connection: Any, entry: ConnectionPoolEntry) -> None:
        entry.info[UNUSED_SINCE] = time.monotonic()

    @event.listens_for(engine, "checkout")
    def look(connection: Any, entry: ConnectionPoolEntry, _fairy: Any) -> None:
        unused_since = entry.info.get(UNUSED_SINCE)
        if unused_since is None:
            return
        if _has_something_to_say(connection.driver_connection):
            raise InvalidatePoolError
        if time.monotonic() - unused_since > ASK_AFTER_S:
            _require_alive(engine.dialect, connection)

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        read_only = bool(connection.get_execution_options().get(READ_ONLY, False))
        if connection.info.get(READ_ONLY, False) != read_only:
            driver: Any = connection.connection.dbapi_connection
            # Said with the BEGIN that comes before the first statement. None: as the server has it.
            driver.set_read_only(True if read_only else None)
            connection.info[READ_ONLY] = read_only


def _has_something_to_say(driver: Any) -> bool:
    if driver.closed:
        return True
    poll = select.poll()
    poll.register(driver.fileno(), select.POLLIN)
    return bool(poll.poll(0))


def _require_alive(dialect: Dialect, connection: Any) -> None:
    try:
        dialect.do_ping(connection)
    except dialect.loaded_dbapi.Error as problem:
        if dialect.is_disconnect(problem, connection, None):
            raise InvalidatePoolError from problem
        raise


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


class InEach(FunctionElement[Any]):
    """`column` is one of the few rows of a correlated, limited subquery: a lateral join that both engines can do."""

    inherit_cache = True
    # Not Boolean: for SQLite that is written `… = 1`, and an index is no longer seen behind it.
    type = NullType()

    def __init__(self, column: sa.ColumnElement[Any], rows: sa.Select[Any]) -> None:
        super().__init__(column, rows.scalar_subquery())


@compiles(InEach)
@compiles(InEach, "postgresql")
def _postgresql_in_each(element: InEach, compiler: SQLCompiler, **kw: Any) -> str:
    column, rows = (compiler.process(clause, **kw) for clause in element.clauses)
    return f"{column} = ANY(ARRAY{rows})"


@compiles(InEach, "sqlite")
def _sqlite_in_each(element: InEach, compiler: SQLCompiler, **kw: Any) -> str:
    column, rows = (compiler.process(clause, **kw) for clause in element.clauses)
    return f"{column} IN {rows}"


class HeldToTheEnd(FunctionElement[Any]):
    """A lock on an id until the transaction ends, without a write. SQLite's transactions exclude each other already."""

    inherit_cache = True
    type = NullType()

    def __init__(self, column: sa.ColumnElement[Any]) -> None:
        super().__init__(column)


@compiles(HeldToTheEnd)
@compiles(HeldToTheEnd, "postgresql")
def _postgresql_held(element: HeldToTheEnd, compiler: SQLCompiler, **kw: Any) -> str:
    return f"pg_advisory_xact_lock(hashtextextended(CAST({compiler.process(element.clauses, **kw)} AS text), 0))"


@compiles(HeldToTheEnd, "sqlite")
def _sqlite_held(element: HeldToTheEnd, compiler: SQLCompiler, **kw: Any) -> str:
    return compiler.process(element.clauses, **kw)
