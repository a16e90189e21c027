"""Short messages between the processes that share a PostgreSQL. SQLite has none: its readers look now and then."""

from collections.abc import AsyncIterator
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from comfyfleet.db.engine import Database
from comfyfleet.kernel.errors import DatabaseUnavailable


class Notices:
    def __init__(self, database: Database, channel: str) -> None:
        self._database = database
        self._channel = channel

    @property
    def supported(self) -> bool:
        return self._database.engine.dialect.name == "postgresql"

    async def send(self, text: str) -> None:
        try:
            async with self._database.engine.connect() as connection:
                autocommit = await connection.execution_options(isolation_level="AUTOCOMMIT")
                await autocommit.execute(sa.select(sa.func.pg_notify(self._channel, text)))
        except DBAPIError as error:
            raise DatabaseUnavailable(self._database.name) from error

    async def listen(self) -> AsyncIterator[str]:
        """Until the connection is lost. It is this listener's alone."""
        import psycopg  # an extra: SQLite alone does not need it

        try:
            async with self._database.engine.connect() as connection:
                autocommit = await connection.execution_options(isolation_level="AUTOCOMMIT")
                await autocommit.execute(sa.text(f"LISTEN {self._channel}"))
                driver: Any = (await autocommit.get_raw_connection()).driver_connection
                async for notice in driver.notifies():
                    yield notice.payload
        except (DBAPIError, psycopg.Error) as error:
            raise DatabaseUnavailable(self._database.name) from error
