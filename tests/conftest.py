"""Fixtures: a house on SQLite and on PostgreSQL, from migrated templates; a clock that tests move."""

import asyncio
import itertools
import os
import shutil
import zlib
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from uuid import uuid4

import hypothesis
import pytest

from comfyfleet.bootstrap import build_house
from comfyfleet.db import open_database
from comfyfleet.db.migrate import CENTRAL_HISTORY, TENANT_HISTORY, History, upgrade
from comfyfleet.house import House
from comfyfleet.settings import Settings
from tests.kept_logs import pytest_runtest_makereport  # noqa: F401 a hook: logs of failed tests are kept
from tests.postgres import Cluster, postgres_cluster

Engine = Literal["sqlite", "postgresql"]
# Tests of real processes, sockets and seconds: on a machine that stands still for a while one of them may fail by its
# own clock. They may try once more, and are named when they do (RERUN); in `make soak` nothing may.
REAL_SECONDS = (
    "api",
    "browser",
    "chaos",
    "cli",
    "client",
    "contract",
    "database/videos",
    "database/webhooks",
    "faults",
    "journeys",
    "live",
    "worker",
)
# These ask the edge, or whole systems, not the verbs: every verb behind them is tested on both engines in
# tests/database, whose planted faults are many and alike. `make test` runs each case on one of the two, by its name;
# `make soak`, and whoever calls pytest, on both.
ON_ONE_ENGINE = ("api", "database/checks", "faults", "live") if os.environ.get("EDGE_ON_ONE_ENGINE") else ()
LONG = ("browser", "chaos", "cli", "journeys", "worker")
LONG_BEGUN_WITHIN = 0.7
HISTORIES = {"central": CENTRAL_HISTORY, "tenant": TENANT_HISTORY}


@dataclass
class ManualClock:
    """Moves the databases' clock, as the verbs see it, without waiting."""

    offset_s: float = 0.0

    def advance(self, seconds: float) -> None:
        self.offset_s += seconds

    def read(self) -> float:
        return self.offset_s


@dataclass
class Databases:
    """Fresh, migrated databases of one engine, for one test."""

    engine: Engine
    folder: Path
    templates: Path
    cluster: Cluster | None
    made: list[str] = field(default_factory=list)

    def make(self, kind: Literal["central", "tenant"], *, empty: bool = False) -> str:
        name = f"{kind}_{uuid4().hex[:12]}"
        if self.cluster is None:
            path = self.folder / f"{name}.sqlite"
            if not empty:
                shutil.copy(self.templates / f"{kind}.sqlite", path)
            return f"sqlite:///{path}"
        self.made.append(name)
        return self.cluster.create(name, template="template0" if empty else f"cf_{kind}")

    def drop(self) -> None:
        for name in self.made:
            if self.cluster is not None:
                self.cluster.drop(name)


def pytest_configure() -> None:
    # How long an example takes says more about the machine's load than about the code.
    hypothesis.settings.register_profile("untimed", deadline=None)
    hypothesis.settings.load_profile("untimed")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if os.environ.get("HYPOTHESIS_PROFILE") == "soak":
        return
    for item in items:
        if _is_in(item, *REAL_SECONDS) and item.get_closest_marker("flaky") is None:
            item.add_marker(pytest.mark.flaky(reruns=1))
    if ON_ONE_ENGINE:
        left = [item for item in items if _is_in(item, *ON_ONE_ENGINE) and not _is_its_engine(item)]
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in left]
    items[:] = _mixed(items)


def _mixed(items: list[pytest.Item]) -> list[pytest.Item]:
    """Long files among short ones, and none of them last: else all cores are fought for at one time and idle at
    another, and at the end everybody waits for one browser. Needs `--no-loadscope-reorder`."""
    files: dict[Path, list[pytest.Item]] = defaultdict(list)
    for item in items:
        files[item.path].append(item)
    long = [each for each in files.values() if _is_in(each[0], *LONG)]
    short = [each for each in files.values() if not _is_in(each[0], *LONG)]
    before = int(len(short) * LONG_BEGUN_WITHIN / max(1, len(long)))
    mixed: list[pytest.Item] = []
    for place, file in enumerate(long):
        mixed += file
        mixed += itertools.chain(*short[place * before : (place + 1) * before])
    return mixed + list(itertools.chain(*short[len(long) * before :]))


def _is_in(item: pytest.Item, *names: str) -> bool:
    return str(item.path).startswith(tuple(_folder(name) for name in names))


def _folder(name: str) -> str:
    return str(Path(__file__).parent / name) + os.sep


def _is_its_engine(item: pytest.Item) -> bool:
    name, _, given = item.nodeid.partition("[")
    engines = ("sqlite", "postgresql")
    words = given.rstrip("]").split("-")
    case = "-".join([name, *(word for word in words if word not in engines)])
    return not set(words) & set(engines) or engines[zlib.crc32(case.encode()) % 2] in words


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """One PostgreSQL per test process, with a migrated template of each kind."""
    with postgres_cluster() as found:
        for kind, history in HISTORIES.items():
            found.drop(f"cf_{kind}")
            _migrate(found.create(f"cf_{kind}"), history)
        yield found


@pytest.fixture(scope="session")
def sqlite_templates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("templates")
    for kind, history in HISTORIES.items():
        _migrate(f"sqlite:///{folder / kind}.sqlite", history)
    return folder


def _migrate(url: str, history: History) -> None:
    async def work() -> None:
        database = open_database(history.name, url)
        await upgrade(database, history)
        await database.close()

    asyncio.run(work())


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest) -> Engine:
    chosen: Engine = request.param
    return chosen


@pytest.fixture
def databases(
    engine: Engine, tmp_path: Path, sqlite_templates: Path, request: pytest.FixtureRequest
) -> Iterator[Databases]:
    cluster = request.getfixturevalue("cluster") if engine == "postgresql" else None
    found = Databases(engine, tmp_path, sqlite_templates, cluster)
    yield found
    found.drop()


@pytest.fixture
def soak() -> bool:
    """The full counts, in `make soak`; in CI a taste of them."""
    return os.environ.get("HYPOTHESIS_PROFILE") == "soak"


@pytest.fixture
def hypothesis_steps(soak: bool) -> dict[str, int]:
    """How much a state machine may do."""
    return {"max_examples": 500, "stateful_step_count": 80} if soak else {"max_examples": 12, "stateful_step_count": 25}


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def settings(databases: Databases, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    # No .env, no developer's own settings: the test says everything.
    monkeypatch.chdir(tmp_path)
    return Settings(
        home=tmp_path / "home",
        database_url=databases.make("central"),
        pools={"main": databases.make("tenant")},
        secret_key="a key that only tests sign with, long enough",
        public_url="http://localhost",
    )


@pytest.fixture
async def house(settings: Settings, clock: ManualClock) -> AsyncIterator[House]:
    built = build_house(settings, clock_offset_s=clock.read)
    await built.store.check()
    yield built
    await built.close()
