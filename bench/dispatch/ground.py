"""What everything is measured on: a durable PostgreSQL of its own, and databases in it with the product's schema."""

import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict

from comfyfleet.bootstrap import build_house
from comfyfleet.db import open_database
from comfyfleet.db.migrate import CENTRAL_HISTORY, TENANT_HISTORY, upgrade
from comfyfleet.house import House
from comfyfleet.settings import Settings
from tests.postgres import Cluster, binaries, postgres_cluster

TUNED = ["shared_buffers=2GB", "max_wal_size=4GB"]
# Times every statement on the server, planning included; absent from the wheel's PostgreSQL.
WATCHED = [
    "shared_preload_libraries=pg_stat_statements",
    "pg_stat_statements.track_planning=on",
    "pg_stat_statements.track_utility=off",
]
SIGNING_KEY = "a key that only measurements sign with"


@dataclass(frozen=True)
class Ground:
    cluster: Cluster
    folder: Path
    watched: bool

    def central(self, name: str, *, flushes: bool = True) -> str:
        """A fresh central database. Without flushing, a time is the statement's own and not the disk's."""
        url = self.cluster.create(name, template="bench_central")
        if not flushes:
            self.cluster.execute(f'ALTER DATABASE "{name}" SET synchronous_commit = off')
        if self.watched:
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute("CREATE EXTENSION pg_stat_statements")
        return url

    def empty(self, name: str) -> str:
        return self.cluster.create(name)

    def pgbench(self) -> Path:
        return binaries() / "pgbench"

    def socket_folder(self) -> str:
        return str(conninfo_to_dict(self.cluster.admin_url)["host"])

    def settings(self, central_url: str) -> Settings:
        return Settings(
            home=self.folder / "home",
            database_url=central_url,
            pools={"main": self.cluster.url("bench_tenant")},
            secret_key=SIGNING_KEY,
        )

    @asynccontextmanager
    async def house(self, central_url: str) -> AsyncIterator[House]:
        built = build_house(self.settings(central_url))
        try:
            yield built
        finally:
            await built.close()


@contextmanager
def temporary_folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="cf-bench-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def stand_on(folder: Path) -> Iterator[Ground]:
    watched = _can_watch()
    with postgres_cluster(durable=True, options=[*TUNED, *(WATCHED if watched else [])]) as cluster:
        yield Ground(cluster, folder, watched)


async def migrate(ground: Ground) -> None:
    for name, history in (("bench_central", CENTRAL_HISTORY), ("bench_tenant", TENANT_HISTORY)):
        database = open_database(history.name, ground.empty(name))
        await upgrade(database, history)
        await database.close()


def _can_watch() -> bool:
    library = next(binaries().parent.glob("lib*/pg_stat_statements.so"), None)
    return library is not None and "TEST_DATABASE_URL" not in os.environ
