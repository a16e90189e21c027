"""One control plane for all tests here: workers have names of their own, and jobs are told apart by their ids."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engines import EngineProcess, an_engine_process
from tests.worker.plant import Plant, a_plant


@pytest.fixture(scope="session")
def plant(tmp_path_factory: pytest.TempPathFactory, sqlite_templates: Path) -> Iterator[Plant]:
    # A heartbeat every second and a half: what it brings is waited for often enough here.
    with a_plant(tmp_path_factory.mktemp("plant"), sqlite_templates, LEASE_TTL_S="4.5", LEASE_GRACE_S="6") as found:
        yield found


@pytest.fixture(autouse=True)
def cleared(plant: Plant) -> Iterator[None]:
    yield
    plant.clear()


@pytest.fixture(scope="session")
def engine_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineProcess]:
    with an_engine_process(tmp_path_factory.mktemp("engine")) as found:
        yield found
