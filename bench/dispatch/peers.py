"""What people would pick instead: in-process drains of no-op jobs. A rate is starts a second, first 5 % left out."""

import time
from datetime import timedelta

import asyncpg
import procrastinate
import psycopg
from pgqueuer import AsyncpgDriver, Job, PgQueuer, Queries
from pgqueuer.types import QueueExecutionMode

CONCURRENCY = 32


def rate(starts: list[float]) -> float:
    kept = starts[len(starts) // 20 :]
    return (len(kept) - 1) / (kept[-1] - kept[0])


async def drain_pgqueuer(url: str, jobs: int) -> float:
    starts: list[float] = []
    connection = await asyncpg.connect(url)
    try:
        queries = Queries(AsyncpgDriver(connection))
        await _ensure_pgqueuer(queries, connection)
        await queries.enqueue(["nothing"] * jobs, [None] * jobs, [0] * jobs)
        await connection.execute("VACUUM ANALYZE")
        queuer = PgQueuer(AsyncpgDriver(connection))

        @queuer.entrypoint("nothing")
        async def nothing(job: Job) -> None:
            starts.append(time.perf_counter())

        await queuer.run(
            batch_size=CONCURRENCY,
            max_concurrent_tasks=2 * CONCURRENCY,
            mode=QueueExecutionMode.drain,
            dequeue_timeout=timedelta(seconds=1),
        )
    finally:
        await connection.close()
    return rate(starts)


async def _ensure_pgqueuer(queries: Queries, connection: asyncpg.Connection) -> None:
    if await connection.fetchval("SELECT to_regclass('pgqueuer')") is None:
        await queries.install()


async def drain_procrastinate(url: str, jobs: int) -> float:
    starts: list[float] = []
    app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=url))

    @app.task(name="nothing")
    async def nothing() -> None:
        starts.append(time.perf_counter())

    async with app.open_async():
        if not await app.check_connection_async():
            await app.schema_manager.apply_schema_async()
        await nothing.batch_defer_async(*({} for _ in range(jobs)))
        _analyse(url)
        await app.run_worker_async(wait=False, concurrency=CONCURRENCY, install_signal_handlers=False)
    return rate(starts)


def _analyse(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
