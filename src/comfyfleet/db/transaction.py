"""Transactions. A verb's first parameter says where it works: `ControlTx` or `TenantTx`."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Executable, Row
from sqlalchemy.ext.asyncio import AsyncConnection

from comfyfleet.db.dialect import CLOCK_OFFSET
from comfyfleet.db.scope import BOUND_TENANT, UnscopedStatement, require_scope
from comfyfleet.kernel.ids import TenantId

__all__ = ["ControlTx", "PoolTx", "TenantTx", "UnscopedStatement"]


class _Tx:
    """Verbs run statements through it; edges open and commit it."""

    def __init__(self, connection: AsyncConnection, *, clock_offset_s: float = 0.0) -> None:
        self._connection = connection
        self._bound: dict[str, Any] = {CLOCK_OFFSET: clock_offset_s}

    async def one(self, statement: Executable, **values: Any) -> Row[Any]:
        """The row that must be there. `values` are for a statement that was built without them."""
        return (await self._connection.execute(statement, values | self._bound)).one()

    async def maybe(self, statement: Executable, **values: Any) -> Row[Any] | None:
        """The row, or None: for guarded writes, None means the guard did not hold."""
        return (await self._connection.execute(statement, values | self._bound)).one_or_none()

    async def all(self, statement: Executable, **values: Any) -> Sequence[Row[Any]]:
        return (await self._connection.execute(statement, values | self._bound)).all()

    async def run(self, statement: Executable, **values: Any) -> int:
        """How many rows it touched."""
        return (await self._connection.execute(statement, values | self._bound)).rowcount


class ControlTx(_Tx):
    """A transaction on the central database."""

    async def run_each(self, statement: Executable, rows: Sequence[dict[str, Any]]) -> None:
        """The same statement for each: for bytes, which a batch in one parameter cannot carry."""
        await self._connection.execute(statement, [{**row, **self._bound} for row in rows])


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
        values = [{**row, **self._bound} for row in rows]
        return (await self._connection.execute(require_scope(statement), values)).all() if values else []

    async def run_each(self, statement: Executable, rows: Sequence[dict[str, Any]]) -> None:
        await self._connection.execute(require_scope(statement), [{**row, **self._bound} for row in rows])
