"""One database: where it is, how to open a transaction on it."""

import asyncio
import builtins
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from weakref import WeakKeyDictionary

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, TimeoutError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from comfyfleet.db.dialect import READ_ONLY, use_postgresql_safely, use_sqlite_safely
from comfyfleet.db.transaction import ControlTx, PoolTx, TenantTx
from comfyfleet.kernel.errors import DatabaseUnavailable
from comfyfleet.kernel.ids import TenantId

POOL_SIZE = 10
POOL_WAIT_S = 10
# Opened beyond the pool's size where many are needed at once, and closed after use.
POOL_OVERFLOW = 10
# Nothing waits for ever: a stuck session elsewhere must not drain the pool here.
POSTGRESQL_LIMITS = "-c lock_timeout=10s -c statement_timeout=30s -c idle_in_transaction_session_timeout=60s"
# The few statements of the queue are the same all day: planned once, each is a quarter cheaper. They go by index and
# row by row, always: a plan made while a table was empty would read all of it for ever after.
PLANNED_ONCE = (
    " -c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off"
    " -c jit=off"
)
# More than anybody runs on one connection: only those are prepared that ask for it.
WHEN_ASKED = 1_000_000_000
READ_ONLY_STANDBY = "25006"


def no_offset() -> float:
    return 0.0


@dataclass(frozen=True)
class Database:
    """The central database, or one tenant pool, by its name in the settings."""

    name: str
    engine: AsyncEngine
    clock_offset_s: Callable[[], float] = no_offset

    @asynccontextmanager
    async def control_tx(self, *, read_only: bool = False) -> AsyncIterator[ControlTx]:
        async with self._begin(read_only=read_only) as connection:
            yield ControlTx(connection, clock_offset_s=self.clock_offset_s())

    @asynccontextmanager
    async def tenant_tx(self, tenant_id: TenantId, *, read_only: bool = False) -> AsyncIterator[TenantTx]:
        async with self._begin(read_only=read_only) as connection:
            yield TenantTx(connection, tenant_id, clock_offset_s=self.clock_offset_s())

    @asynccontextmanager
    async def pool_tx(self, *, read_only: bool = False) -> AsyncIterator[PoolTx]:
        async with self._begin(read_only=read_only) as connection:
            yield PoolTx(connection, clock_offset_s=self.clock_offset_s())

    @asynccontextmanager
    async def _begin(self, *, read_only: bool) -> AsyncIterator[AsyncConnection]:
        try:
            async with self._turn(read_only=read_only), self.engine.connect() as connection:
                if read_only:
                    await connection.execution_options(**{READ_ONLY: True})
                async with connection.begin():
                    yield connection
        except (DBAPIError, TimeoutError) as error:
            if _is_outage(error):
                raise DatabaseUnavailable(self.name) from error
            raise

    @asynccontextmanager
    async def _turn(self, *, read_only: bool) -> AsyncIterator[None]:
        """Who writes to SQLite waits for the one before, in the order they came. The engine itself has no such order:
        it tries again after ever longer naps, and of fifty who write at once most sleep while nobody works."""
        if read_only or self.engine.dialect.name != "sqlite":
            yield
            return
        turn = turn_of(self.engine.url.database or "")
        try:
            async with asyncio.timeout(POOL_WAIT_S):
                await turn.acquire()
        except builtins.TimeoutError:
            raise DatabaseUnavailable(self.name) from None
        try:
            yield
        finally:
            turn.release()

    def connections(self) -> dict[str, int]:
        """In use, and kept open for later."""
        pool = self.engine.pool
        return {"used": pool.checkedout(), "idle": pool.checkedin()} if isinstance(pool, sa.QueuePool) else {}

    def connections_max(self) -> int | None:
        """Who needs one more waits for it."""
        pool = self.engine.pool
        return pool.size() + POOL_OVERFLOW if isinstance(pool, sa.QueuePool) else None

    async def ping(self) -> None:
        async with self._begin(read_only=True) as connection:
            await connection.execute(sa.select(1))

    async def close(self) -> None:
        await self.engine.dispose()


_turns: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, asyncio.Lock]] = WeakKeyDictionary()


def turn_of(path: str) -> asyncio.Lock:
    """One for each file, whoever opened it: the desk and the rest of the house write to the same one."""
    return _turns.setdefault(asyncio.get_running_loop(), {}).setdefault(str(Path(path).resolve()), asyncio.Lock())


def _is_outage(error: DBAPIError | TimeoutError) -> bool:
    """It does not answer, is locked, or takes no writes for now; as against a statement that is wrong."""
    if isinstance(error, TimeoutError) or error.connection_invalidated:
        return True
    if getattr(error.orig, "sqlstate", None) == READ_ONLY_STANDBY:
        return True
    # SQLite calls a wrong statement "operational" too; its own name for that tells it from a lock or a full disk.
    wrong = getattr(error.orig, "sqlite_errorname", "") == "SQLITE_ERROR"
    return isinstance(error, (OperationalError, InterfaceError)) and not wrong


def open_database(
    name: str,
    url: str,
    *,
    clock_offset_s: Callable[[], float] = no_offset,
    pool_size: int = POOL_SIZE,
    prepares: bool = False,
    prepares_built_once: bool = False,
) -> Database:
    """The one engine factory. `url` is postgresql://… or sqlite:///path. `prepares`: for few statements, run often, and
    planned without a look at the values; `prepares_built_once`: those that are built once, planned as the server likes.
    """
    parsed = sa.make_url(url)
    if parsed.get_backend_name() == "sqlite":
        engine = create_async_engine(
            parsed.set(drivername="sqlite+aiosqlite"),
            pool_timeout=POOL_WAIT_S,
            max_overflow=POOL_OVERFLOW,
            hide_parameters=True,
        )
        use_sqlite_safely(engine.sync_engine)
    else:
        engine = create_async_engine(
            parsed.set(drivername="postgresql+psycopg"),
            pool_size=pool_size,
            pool_timeout=POOL_WAIT_S,
            max_overflow=POOL_OVERFLOW,
            # Whoever was used last knows its statements, and so does its backend.
            pool_use_lifo=True,
            # An error's text must not hold a password hash or a prompt.
            hide_parameters=True,
            connect_args={
                # Server-side prepared statements break behind an older PgBouncer in transaction mode.
                "prepare_threshold": 1 if prepares else WHEN_ASKED if prepares_built_once else None,
                "connect_timeout": POOL_WAIT_S,
                "options": POSTGRESQL_LIMITS + (PLANNED_ONCE if prepares else ""),
            },
        )
        use_postgresql_safely(engine.sync_engine)
    return Database(name, engine, clock_offset_s)
