"""A world, and databases that are away."""

from dataclasses import replace
from pathlib import Path

import pytest

from comfyfleet.db import open_database
from comfyfleet.desk import Desk
from comfyfleet.house import House
from tests.database.jobs.world import World


@pytest.fixture
async def world(house: House) -> World:
    return await World.make(house)


@pytest.fixture
def without_central(house: House, tmp_path: Path) -> House:
    gone = open_database("central", f"sqlite:///{tmp_path}/nowhere/central.sqlite")
    return replace(house, central=gone, desk=Desk(gone, signer=house.leases, rules=house.queue_rules))


@pytest.fixture
def without_pool(house: House, tmp_path: Path) -> House:
    """Its one pool does not answer."""
    return replace(house, pools={"main": open_database("main", f"sqlite:///{tmp_path}/nowhere/main.sqlite")})
