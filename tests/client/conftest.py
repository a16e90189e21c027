from collections.abc import Iterator
from pathlib import Path

import pytest

from comfyfleet.client import Client
from tests.client.fleet import PHOTO, Fleet, a_fleet


@pytest.fixture(scope="session")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    with a_fleet(tmp_path_factory.mktemp("fleet")) as found:
        yield found


@pytest.fixture
def client(fleet: Fleet) -> Iterator[Client]:
    with Client(fleet.url, fleet.key) as found:
        yield found


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    path = tmp_path / "photo.png"
    path.write_bytes(PHOTO)
    return path
