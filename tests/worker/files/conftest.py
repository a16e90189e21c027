"""A store that misbehaves, and the worker's end of the line to it."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from comfyfleet.worker.transfer import Transfer
from comfyfleet.worker.transfer_errors import TransferLimits
from tests.worker.files.far_store import FarStore

QUICK = TransferLimits(patience_s=60, base_s=0.01, ceiling_s=0.05)


@pytest.fixture(autouse=True)
def cleared() -> None:
    """Most tests here need no control plane, so none is started to be cleared."""


@pytest.fixture
async def store() -> AsyncIterator[FarStore]:
    async with FarStore() as found:
        yield found


@pytest.fixture
async def transfer(store: FarStore) -> AsyncIterator[Transfer]:
    async with Transfer(base_url=store.url, limits=QUICK) as found:
        yield found


@pytest.fixture
async def impatient(store: FarStore) -> AsyncIterator[Transfer]:
    async with Transfer(base_url=store.url, limits=replace(QUICK, patience_s=0.1, idle_s=0.1)) as found:
        yield found
