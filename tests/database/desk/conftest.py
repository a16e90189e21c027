"""A house, and a second replica beside it."""

from collections.abc import AsyncIterator

import pytest

from comfyfleet.bootstrap import DESK_CONNECTIONS
from comfyfleet.db import open_database
from comfyfleet.desk import Desk
from comfyfleet.house import House
from comfyfleet.settings import Settings
from tests.conftest import ManualClock
from tests.database.desk.shop import Shop


@pytest.fixture
async def shop(house: House, settings: Settings, clock: ManualClock) -> AsyncIterator[Shop]:
    second = Desk(
        open_database(
            "central",
            settings.central_url(),
            clock_offset_s=clock.read,
            pool_size=DESK_CONNECTIONS,
            prepares=settings.prepare_statements,
        ),
        signer=house.leases,
        rules=house.queue_rules,
    )
    yield await Shop.open(house, [house.desk, second])
    await house.desk.stop()
    await second.stop()
    await second.close()
