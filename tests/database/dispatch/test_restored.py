"""L6: the database is put back to an older state, and an epoch comes twice."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import sqlalchemy as sa

from comfyfleet.bootstrap import build_house
from comfyfleet.dispatch import FailureClass
from comfyfleet.kernel.errors import LeaseLost
from comfyfleet.settings import Settings
from tests.conftest import Databases
from tests.database.dispatch.test_queue import Queue, a_holder
from tests.database.dispatch.truths import broken_truths


@dataclass
class Snapshot:
    """A copy of a database that nobody has open."""

    databases: Databases
    url: str

    def take(self) -> str:
        if self.databases.cluster is None:
            path = Path(sa.make_url(self.url).database or "")
            shutil.copy(path, path.with_suffix(".copy"))
            return f"sqlite:///{path.with_suffix('.copy')}"
        name = sa.make_url(self.url).database or ""
        self.databases.made.append(f"{name}_copy")
        return self.databases.cluster.create(f"{name}_copy", template=name)


@asynccontextmanager
async def opened(settings: Settings, url: str) -> AsyncIterator[Queue]:
    house = build_house(settings.model_copy(update={"database_url": type(settings.secret_key)(url)}))
    try:
        yield Queue(house)
    finally:
        await house.close()


@pytest.mark.parametrize("taken_by", ["another worker", "the same worker"])
async def test_l6_a_token_of_a_lost_past_is_refused_though_its_epoch_is_current(
    settings: Settings, databases: Databases, taken_by: str
) -> None:
    url, holder = settings.central_url(), a_holder()
    async with opened(settings, url) as before:
        dispatch_id = await before.add()
    copy = Snapshot(databases, url).take()
    async with opened(settings, url) as lost:
        old = await lost.lease(holder, poll_id="p-1")
        assert old is not None
        assert await lost.beat(old, holder) is not None
    async with opened(settings, copy) as restored:
        now = holder if taken_by == "the same worker" else a_holder()
        new = await restored.lease(now, poll_id="p-2")
        assert new is not None
        assert (new.dispatch_id, new.epoch) == (old.dispatch_id, old.epoch) == (dispatch_id, 1)
        assert new.nonce != old.nonce, "the objects of the two have different keys"
        row = await restored.row(dispatch_id)
        assert await restored.beat(old, holder) is None
        assert isinstance(await restored.complete(old, holder), LeaseLost)
        assert isinstance(await restored.fail(old, holder, FailureClass.INFRA), LeaseLost)
        assert isinstance(await restored.requeue(old, holder), LeaseLost)
        assert await restored.row(dispatch_id) == row
        assert not isinstance(await restored.complete(new, now), LeaseLost)
        assert await broken_truths(restored.house.central) == []
