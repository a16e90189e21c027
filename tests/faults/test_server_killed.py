"""SIGKILL of the server while workers wait and are served: nothing is left locked, and nothing is lost."""

import asyncio
from typing import Any

import httpx2
import pytest
import sqlalchemy as sa

from comfyfleet import fleet
from comfyfleet.db import ControlTx
from comfyfleet.db.tables import ai_job_dispatches as d
from comfyfleet.db.tables import comfyui_workers as w
from comfyfleet.kernel.ids import new_id
from comfyfleet.settings import Settings
from tests.database.desk.shop import Shop
from tests.database.dispatch.truths import broken_truths
from tests.faults.conftest import SocketWorker
from tests.server import ServerProcess

WORKERS = 200
JOBS = 60
LIMITS = httpx2.Limits(max_connections=WORKERS + 10)


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """With room for all that wait: they are in no fleet."""
    return settings.model_copy(update={"max_workers_without_fleet": WORKERS})


async def test_l5_a_server_killed_under_200_long_polls_leaves_no_lock_and_loses_no_job(
    shop: Shop, server: ServerProcess
) -> None:
    made = [await shop.register_alone(f"w-{number}") for number in range(WORKERS)]
    async with httpx2.AsyncClient(base_url=server.url, limits=LIMITS, timeout=60) as client:
        workers = [SocketWorker(each, client) for each in made]
        polls = {worker: {"poll_id": str(new_id()), "wait_seconds": 30} for worker in workers}
        waiting = [asyncio.create_task(worker.say("poll", **polls[worker])) for worker in workers]
        await _nothing_is_held(shop, waiting)
        ids = set(await shop.add(JOBS))
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        server.kill()
        await asyncio.gather(*waiting, return_exceptions=True)
        await _everything_can_be_locked(shop)
        assert await broken_truths(shop.house.central) == []
        # Back again: who got no answer asks in the same words, and gets what was its own, or what is left.
        server.start()
        jobs = [job for task in waiting if (job := _job(task)) is not None]
        silent = [worker for worker, task in zip(workers, waiting, strict=True) if _job(task) is None]
        while len(jobs) < JOBS:
            again = [worker.say("poll", **{**polls[worker], "wait_seconds": 3}) for worker in silent]
            answers = await asyncio.gather(*again)
            jobs += [job for answer in answers if (job := answer.json()["job"]) is not None]
            silent = [worker for worker, each in zip(silent, answers, strict=True) if each.json()["job"] is None]
        assert sorted(job["dispatch_id"] for job in jobs) == sorted(str(each) for each in ids)
        assert {job["epoch"] for job in jobs} == {1}, "nothing was leased twice"
    assert await broken_truths(shop.house.central) == []


def _job(task: "asyncio.Task[httpx2.Response]") -> dict[str, Any] | None:
    """What it was told before the end."""
    if task.exception() is not None or task.result().status_code != 200:
        return None
    found: dict[str, Any] | None = task.result().json()["job"]
    return found


async def _nothing_is_held(shop: Shop, waiting: list["asyncio.Task[httpx2.Response]"]) -> None:
    """While they wait: no transaction is open, and everything can be locked by somebody else, again and again."""
    for _ in range(5):
        await _everything_can_be_locked(shop)
        await asyncio.sleep(0.3)
    assert not any(task.done() for task in waiting)


async def _everything_can_be_locked(shop: Shop) -> None:
    async with asyncio.timeout(8), shop.house.control_tx() as tx:
        await fleet.hold_workers(tx, [row.id for row in await tx.all(sa.select(w.c.id))])
        await _touch_all(tx)


async def _touch_all(tx: ControlTx) -> None:
    await tx.run(sa.update(w).values(current_load=w.c.current_load))
    await tx.run(sa.update(d).values(last_error=d.c.last_error))
