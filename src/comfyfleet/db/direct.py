"""Statements that are built once go straight to PostgreSQL's driver.

SQLAlchemy builds and compiles them, so there is one source for both engines; but what runs thousands of times a second
need not be looked up, switched into another greenlet and wrapped in rows each time. Whatever else a transaction runs
goes the common way, on the same connection.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar, cast

import sqlalchemy as sa
from sqlalchemy import Executable
from sqlalchemy.engine import Dialect
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.sql.elements import ClauseElement

P = ParamSpec("P")
S = TypeVar("S", bound=Executable)

# By identity: each lives as long as the function that keeps it.
_kept: dict[int, Executable] = {}
_plans: dict[int, "Plan"] = {}


def built_once(build: Callable[P, S]) -> Callable[P, S]:
    """The same statement at each call with the same arguments: what changes is bound when it runs."""

    @cache
    def kept(*args: P.args, **kwargs: P.kwargs) -> S:
        statement = build(*args, **kwargs)
        _kept[id(statement)] = statement
        return statement

    return cast("Callable[P, S]", wraps(build)(kept))


def several(name: str, count: int) -> list[sa.BindParameter[Any]]:
    """So many ids in a list. A statement with such a list is built once for each length that `length_of` gives."""
    return [sa.bindparam(f"{name}_{number}", type_=sa.Uuid()) for number in range(count)]


def length_of(values: Sequence[Any]) -> int:
    """The next power of two: few lengths, so few statements are kept."""
    return 1 << max(0, len(values) - 1).bit_length()


def each_of(name: str, values: Sequence[Any]) -> dict[str, Any]:
    """They are bound when it runs, under these names; the last one again until the list is full."""
    padded = [*values, *[values[-1]] * (length_of(values) - len(values))]
    return {f"{name}_{number}": value for number, value in enumerate(padded)}


def is_built_once(statement: Executable) -> bool:
    return _kept.get(id(statement)) is statement


class Plan:
    """A statement as the driver takes it, and what is to be done to what it gives back."""

    def __init__(self, statement: Executable, dialect: Dialect) -> None:
        compiled: Any = cast("ClauseElement", statement).compile(dialect=dialect)
        # What is bound when it runs has no value yet. Lists of states are written out here, once.
        later = {bind.key: None for bind in compiled.binds.values() if bind.required}
        expanded = compiled.construct_expanded_state(later)
        self.text: str = expanded.statement
        self._given: dict[str, Any] = dict(expanded.parameters)
        found = {name: bind.type._cached_bind_processor(dialect) for bind, name in compiled.bind_names.items()}
        own = {name: processor for name, processor in found.items() if processor is not None and name in self._given}
        self._to_driver: Mapping[str, Callable[[Any], Any]] = {**own, **expanded.processors}
        self._dialect = dialect
        self._make_row: Callable[[Sequence[Any]], Any] | None = None
        self._types = [column.type for column in compiled._result_columns or ()]
        self._from_driver: list[tuple[int, Callable[[Any], Any]]] | None = None

    async def run(self, driver: Any, values: Mapping[str, Any]) -> Any:
        """The driver's cursor. Errors are the ones that SQLAlchemy raises."""
        bound = {name: values.get(name, value) for name, value in self._given.items()}
        for name, processor in self._to_driver.items():
            if name in bound:
                bound[name] = processor(bound[name])
        cursor = driver.cursor(binary=True, row_factory=self._rows)
        try:
            return await cursor.execute(self.text, bound, prepare=True)
        except self._dialect.loaded_dbapi.Error as problem:
            raise self._wrapped(problem, driver) from problem

    def _rows(self, cursor: Any) -> Callable[[Sequence[Any]], Any]:
        """Named tuples. Their names are those of the first answer: a statement's columns do not change."""
        from psycopg.rows import namedtuple_row  # an extra: only who has PostgreSQL has it

        if self._make_row is not None and cursor.pgresult is not None:
            return self._make_row
        made: Callable[[Sequence[Any]], Any] = namedtuple_row(cursor)
        if self._types and cursor.pgresult is not None:
            self._make_row = made
        return made

    def _wrapped(self, problem: Any, driver: Any) -> BaseException:
        dbapi: Any = self._dialect.loaded_dbapi
        is_lost = self._dialect.is_disconnect(problem, driver, None)
        wrapped = DBAPIError.instance(
            self.text,
            None,
            problem,
            dbapi.Error,
            hide_parameters=True,
            connection_invalidated=is_lost,
            dialect=self._dialect,
        )
        return cast("BaseException", wrapped)

    async def read(self, cursor: Any) -> Sequence[Any]:
        rows: Sequence[Any] = await cursor.fetchall()
        if self._from_driver is None:
            self._from_driver = self._processors(cursor.description)
        if not self._from_driver or not rows:
            return rows
        make = type(rows[0])._make
        return [make(_converted(row, self._from_driver)) for row in rows]

    def _processors(self, description: Sequence[Any]) -> list[tuple[int, Callable[[Any], Any]]]:
        """How a value is read may depend on the type that the server names, so the first answer decides."""
        found = []
        for at, (kind, column) in enumerate(zip(self._types, description, strict=True)):
            processor = kind._cached_result_processor(self._dialect, column.type_code)
            if processor is not None:
                found.append((at, processor))
        return found


def _converted(row: Sequence[Any], processors: Sequence[tuple[int, Callable[[Any], Any]]]) -> list[Any]:
    values = list(row)
    for at, processor in processors:
        values[at] = processor(values[at])
    return values


def plan_of(statement: Executable, connection: AsyncConnection) -> Plan | None:
    """None: it goes the common way."""
    if not is_built_once(statement) or connection.dialect.name != "postgresql":
        return None
    plan = _plans.get(id(statement))
    if plan is None:
        plan = _plans[id(statement)] = Plan(statement, connection.dialect)
    return plan
