"""A fake cloud over a real socket, and a connector whose waiting costs no time."""

from collections.abc import AsyncIterator, Iterator

import pytest

from comfyfleet.comfy.cloud import CloudConnector, CloudLimits, CloudSettings
from comfyfleet.comfy.model import Prompt, new_prompt
from comfyfleet.kernel.secret import Secret
from tests.contract.comfy.cloud.walking import GRAPH, JumpingClock
from tests.fake_cloud import KEY, FakeCloud, fake_cloud


@pytest.fixture(scope="module")
def shared_cloud() -> Iterator[FakeCloud]:
    with fake_cloud() as cloud:
        yield cloud


@pytest.fixture
def cloud(shared_cloud: FakeCloud) -> FakeCloud:
    shared_cloud.reset()
    return shared_cloud


@pytest.fixture
def clock() -> JumpingClock:
    return JumpingClock()


@pytest.fixture
async def connector(cloud: FakeCloud, clock: JumpingClock) -> AsyncIterator[CloudConnector]:
    settings = CloudSettings(url=cloud.url, limits=CloudLimits(answer_bytes_max=1 << 20))
    async with CloudConnector(Secret(KEY), settings=settings, clock=clock, chance=lambda: 0.0) as opened:
        yield opened


@pytest.fixture
def prompt() -> Prompt:
    return new_prompt(GRAPH, output_node="9")


@pytest.fixture
async def impatient(cloud: FakeCloud, clock: JumpingClock) -> AsyncIterator[CloudConnector]:
    """Gives up a request after a second of real time."""
    settings = CloudSettings(url=cloud.url, limits=CloudLimits(request_s=1.0))
    async with CloudConnector(Secret(KEY), settings=settings, clock=clock, chance=lambda: 0.0) as opened:
        yield opened
