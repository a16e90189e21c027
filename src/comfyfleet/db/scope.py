"""The tenant condition, and the check that no statement leaves it out.

A tenant statement never names a tenant: it says `table.c.tenant_id == BOUND_TENANT`, and the transaction
supplies the value. Before a statement runs, every table in every part of it (joins, subqueries, CTEs) must
carry that very condition; an INSERT must write it, an UPDATE must not change it, and raw text is refused wherever
it stands. So another tenant's rows are out of reach by construction.
"""

from collections.abc import Iterator
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import Executable
from sqlalchemy.dialects.postgresql.dml import OnConflictDoNothing
from sqlalchemy.sql import operators, visitors
from sqlalchemy.sql.dml import Delete, Insert, Update
from sqlalchemy.sql.elements import (
    BinaryExpression,
    BindParameter,
    BooleanClauseList,
    ClauseElement,
    ColumnClause,
    Grouping,
    Label,
    TextClause,
)
from sqlalchemy.sql.selectable import CTE, Alias, FromClause, Join, Select, Subquery

from comfyfleet.db.direct import is_built_once

BOUND_TENANT: BindParameter[object] = sa.bindparam("bound_tenant_id", type_=sa.Uuid())

GOOD_SHAPES_MAX = 2_000
_good_shapes: set[Any] = set()
_good_for_ever: set[int] = set()

Statement = TypeVar("Statement", bound=Executable)


class UnscopedStatement(Exception):
    """A programming error, not a user's: a statement could see or change another tenant's rows."""

    def __init__(self, table: str, statement: object) -> None:
        super().__init__(
            f"{table!r} stands in a tenant statement without its condition. "
            f"Add `{table}.c.tenant_id == BOUND_TENANT` to this part of it:\n{statement}"
        )


def require_scope(statement: Statement) -> Statement:
    if not isinstance(statement, (Select, Update, Delete, Insert)):
        raise UnscopedStatement("raw SQL", statement)
    if is_built_once(statement):
        return _once_checked(statement)
    # The walk costs about as much as compiling; a statement of a shape seen before is known to be good.
    shape = statement._generate_cache_key()
    if shape is None or shape.key not in _good_shapes:
        _check_every_part(statement)
        if shape is not None:
            if len(_good_shapes) >= GOOD_SHAPES_MAX:
                _good_shapes.clear()
            _good_shapes.add(shape.key)
    return statement


def _once_checked(statement: Statement) -> Statement:
    if id(statement) not in _good_for_ever:
        _check_every_part(statement)  # type: ignore[arg-type]
        _good_for_ever.add(id(statement))
    return statement


def _check_every_part(statement: Select[Any] | Update | Delete | Insert) -> None:
    for part in visitors.iterate(statement):
        if _is_opaque(part):
            raise UnscopedStatement("raw SQL", statement)
        for table in _tables_of(part):
            if not _is_scoped(table, part):
                raise UnscopedStatement(str(table), statement)


def _is_opaque(part: object) -> bool:
    """Text that this check cannot read, and so cannot vouch for; or a way to change whose row it is."""
    match part:
        case TextClause():
            return True
        case ColumnClause() if part.is_literal:
            return True
        case Update():
            return "tenant_id" in _written(part) or _is_decorated(part)
        case Insert():
            return part._post_values_clause is not None and not isinstance(
                part._post_values_clause, OnConflictDoNothing
            )
        case Select() | Delete():
            return _is_decorated(part)
        case _:
            return False


def _is_decorated(part: object) -> bool:
    names = ("_prefixes", "_suffixes", "_hints", "_statement_hints")
    return any(getattr(part, name, ()) for name in names)


def _written(update: Update) -> set[str]:
    return {str(getattr(column, "key", column)) for column in update._values or {}}


def _tables_of(part: object) -> Iterator[FromClause]:
    match part:
        case Insert():
            yield from _leaves(part.table)
        case Update() | Delete():
            # A second table named only in WHERE or SET joins the statement without being asked.
            for source in {part.table, *_sources(part.whereclause), *_set_sources(part)}:
                yield from _leaves(source)
        case Select():
            for source in part.get_final_froms():
                yield from _leaves(source)
        case _:
            return


def _sources(clause: ClauseElement | None) -> list[FromClause]:
    return list(clause._from_objects) if clause is not None else []


def _set_sources(part: Update | Delete) -> Iterator[FromClause]:
    if isinstance(part, Update):
        for value in (part._values or {}).values():
            if isinstance(value, ClauseElement):
                yield from _sources(value)


def _leaves(source: FromClause) -> Iterator[FromClause]:
    match source:
        case Join():
            yield from _leaves(source.left)
            yield from _leaves(source.right)
        case CTE() | Subquery():
            return  # its inner SELECT is a part of its own
        case Alias() | sa.Table():
            yield source
        case _:
            raise UnscopedStatement(str(source), source)


def _is_scoped(table: FromClause, part: object) -> bool:
    match part:
        case Insert():
            return _writes_the_tenant(part)
        case Select():
            conditions = list(_conjuncts(part.whereclause))
            for source in part.get_final_froms():
                conditions += _join_conditions(source)
        case Update() | Delete():
            conditions = list(_conjuncts(part.whereclause))
        case _:
            return False
    return any(_names_the_tenant(condition, table) for condition in conditions)


def _writes_the_tenant(insert: Insert) -> bool:
    if insert.select is not None:
        if not isinstance(insert.select, Select):
            return False  # of a UNION only the first branch would be seen
        names = list(insert._select_names or [])
        chosen = list(insert.select.selected_columns)
        return "tenant_id" in names and _is_the_bound_tenant(chosen[names.index("tenant_id")])
    values = {getattr(column, "key", column): value for column, value in (insert._values or {}).items()}
    return _is_the_bound_tenant(values.get("tenant_id"))


def _is_the_bound_tenant(element: object) -> bool:
    inner = element.element if isinstance(element, Label) else element
    return isinstance(inner, BindParameter) and inner.key == BOUND_TENANT.key


def _join_conditions(source: FromClause) -> list[ClauseElement]:
    # Only of inner joins: an outer join's condition does not keep foreign rows out of the preserved side.
    if not isinstance(source, Join) or source.isouter or source.full:
        return []
    return [*_conjuncts(source.onclause), *_join_conditions(source.left), *_join_conditions(source.right)]


def _conjuncts(clause: Any) -> Iterator[ClauseElement]:
    match clause:
        case None:
            return
        case BooleanClauseList() if clause.operator is operators.and_:
            for inner in clause.clauses:
                yield from _conjuncts(inner)
        case Grouping():
            yield from _conjuncts(clause.element)
        case _:
            yield clause


def _names_the_tenant(condition: ClauseElement, table: FromClause) -> bool:
    if not isinstance(condition, BinaryExpression) or condition.operator is not operators.eq:
        return False
    column = getattr(condition.left, "table", None), getattr(condition.left, "key", None)
    return column == (table, "tenant_id") and _is_the_bound_tenant(condition.right)
