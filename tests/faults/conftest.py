"""A real server process over the databases of a test, and workers that speak to it over sockets."""

import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from comfyfleet.fleet import Registration
from comfyfleet.house import House
from comfyfleet.settings import Settings
from tests.database.desk.shop import Shop
from tests.server import ServerProcess, server_process


@dataclass(frozen=True, eq=False)
class SocketWorker:
    made: Registration
    client: httpx2.AsyncClient

    async def say(self, verb: str, **said: Any) -> httpx2.Response:
        return await self.client.post(
            f"/api/worker/{verb}",
            json={"worker_id": self.made.worker.worker_id, **said},
            headers={"Authorization": f"Bearer {self.made.token.reveal()}"},
        )


@pytest.fixture
def server(settings: Settings, tmp_path: Path) -> Iterator[ServerProcess]:
    """`comfyfleet up` over the same databases, with the same key, as the house of the test."""
    assert settings.secret_key is not None
    given = {
        "DATABASE_URL": settings.central_url(),
        "POOLS": json.dumps(settings.pool_urls()),
        "SECRET_KEY": settings.secret_key.get_secret_value(),
    }
    folder = tmp_path / "server"
    folder.mkdir()
    with server_process(folder, **given) as found:
        yield found


@pytest.fixture
async def shop(house: House) -> AsyncIterator[Shop]:
    """Its desk serves nobody here: the server does."""
    yield await Shop.open(house, [house.desk])
    await house.desk.stop()
