"""One replica with a stage, on both engines; and two of them on one PostgreSQL."""

from collections.abc import AsyncIterator

import pytest

from comfyfleet.settings import Settings
from tests.builders import Member, a_member
from tests.watching import Replica, Stage, a_replica, a_stage, acquainted


@pytest.fixture
async def replica(settings: Settings) -> AsyncIterator[Replica]:
    async with a_replica(settings) as found:
        yield found


@pytest.fixture
async def other(settings: Settings, replica: Replica) -> AsyncIterator[Replica]:
    async with a_replica(settings) as found:
        await acquainted(replica, found)
        yield found


@pytest.fixture
async def stage(replica: Replica) -> Stage:
    return await a_stage(replica.house)


@pytest.fixture
async def owner(replica: Replica) -> Member:
    return await a_member(replica.house)
