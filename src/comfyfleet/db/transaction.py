"""Transactions. A verb's first parameter says where it works: `ControlTx` or `TenantTx`."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Delete, Executable, Row, Update
from sqlalchemy.exc import MultipleResultsFound, NoResultFound
from sqlalchemy.ext.asyncio import AsyncConnection

from comfyfleet.db.dialect import CLOCK_OFFSET
from comfyfleet.db.direct import Plan, plan_of
from comfyfleet.db.scope import BOUND_TENANT, UnscopedStatement, require_scope
from comfyfleet.kernel.ids import TenantId

__all__ = ["ControlTx", "PoolTx", "TenantTx", "UnscopedStatement"]


class _Tx:
    """Verbs run statements through it; edges open and commit it."""

    def __init__(self, connection: AsyncConnection, *, clock_offset_s: float = 0.0) -> None:
        self._connection = connection
        self._bound: dict[str, Any] = {CLOCK_OFFSET: clock_offset_s}
        self._driver: Any = None

    async def one(self, statement: Executable, **values: Any) -> Row[Any]:
        """The row that must be there. `values` are for a statement that was built without them."""
        plan = plan_of(statement, self._connection)
        if plan is None:
            return (await self._connection.execute(statement, values | self._bound)).one()
        rows = await self._read(plan, values)
        if len(rows) != 1:
            raise NoResultFound(f"{len(rows)} rows where one must be")
        row: Row[Any] = rows[0]
        return row

    async def maybe(self, statement: Executable, **values: Any) -> Row[Any] | None:
        """The row, or None: for guarded writes, None means the guard did not hold."""
        plan = plan_of(statement, self._connection)
        if plan is None:
            return (await self._connection.execute(statement, values | self._bound)).one_or_none()
        rows = await self._read(plan, values)
        if len(rows) > 1:
            raise MultipleResultsFound(f"{len(rows)} rows where one at most may be")
        return rows[0] if rows else None

    async def all(self, statement: Executable, **values: Any) -> Sequence[Row[Any]]:
        plan = plan_of(statement, self._connection)
        if plan is None:
            return (await self._connection.execute(statement, values | self._bound)).all()
        return await self._read(plan, values)

    async def run(self, statement: Executable, **values: Any) -> int:
        """How many rows it touched."""
        plan = plan_of(statement, self._connection)
        if plan is None:
            return _counted(statement, (await self._connection.execute(statement, values | self._bound)).rowcount)
        return _counted(statement, (await self._send(plan, values)).rowcount)

    async def _run_each(self, statement: Executable, rows: Sequence[dict[str, Any]]) -> None:
        if len(rows) == 1:
            await self.run(statement, **rows[0])
        else:
            await self._connection.execute(statement, [{**row, **self._bound} for row in rows])

    async def _read(self, plan: Plan, values: dict[str, Any]) -> Sequence[Any]:
        return await plan.read(await self._send(plan, values))

    async def _send(self, plan: Plan, values: dict[str, Any]) -> Any:
        if self._driver is None:
            self._driver = (await self._connection.get_raw_connection()).driver_connection
        return await plan.run(self._driver, values | self._bound)


def _counted(statement: Executable, rows: int) -> int:
    """SQLite counts nothing for a statement that begins with WITH, and a guard that reads -1 guards nothing."""
    if rows < 0 and isinstance(statement, Update | Delete):
        raise RuntimeError("the driver did not count the rows: let the statement return them, and count those")
    return rows


class ControlTx(_Tx):
    """A transaction on the central database."""

    async def run_each(self, statement: Executable, rows: Sequence[dict[str, Any]]) -> None:
        """The same statement for each: for bytes, which a batch in one parameter cannot carry."""
        await self._run_each(statement, rows)


class PoolTx(_Tx):
    """A transaction over all tenants of one pool: for relays and checks, never for a request of anybody."""


class TenantTx(_Tx):
    """A transaction on a tenant pool, bound to one tenant: a statement that could reach another's rows is refused."""

    def __init__(self, connection: AsyncConnection, tenant_id: TenantId, *, clock_offset_s: float = 0.0) -> None:
        super().__init__(connection, clock_offset_s=clock_offset_s)
        self.tenant_id = tenant_id
        self._bound[BOUND_TENANT.key] = tenant_id

    async def one(self, statement: Executable, **values: Any) -> Row[Any]:
        return await super().one(require_scope(statement), **values)

    async def maybe(self, statement: Executable, **values: Any) -> Row[Any] | None:
        return await super().maybe(require_scope(statement), **values)

    async def all(self, statement: Executable, **values: Any) -> Sequence[Row[Any]]:
        return await super().all(require_scope(statement), **values)

    async def run(self, statement: Executable, **values: Any) -> int:
        return await super().run(require_scope(statement), **values)

    async def all_each(self, statement: Executable, rows: Sequence[dict[str, Any]]) -> Sequence[Row[Any]]:
        """The same statement for each row, whose values it names; what they return, in no order."""
        if len(rows) == 1:
            return await self.all(statement, **rows[0])
        values = [{**row, **self._bound} for row in rows]
        return (await self._connection.execute(require_scope(statement), values)).all() if values else []

    async def run_each(self, statement: Executable, rows: Sequence[dict[str, Any]]) -> None:
        await self._run_each(require_scope(statement), rows)
