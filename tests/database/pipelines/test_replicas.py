"""Any number of replicas: whoever looks at the same run at the same moment begins nothing twice."""

import asyncio
import random

import pytest

from comfyfleet.db.tables import ai_jobs
from comfyfleet.house import House
from comfyfleet.pipelines import RunStatus
from tests.database.pipelines.studio import PRICE, RICH, Approval, Studio


@pytest.fixture
async def studio(house: House) -> Studio:
    return await Studio.open(house)


async def test_replicas_that_advance_and_settle_at_once_make_each_candidate_once(studio: Studio) -> None:
    runs = [
        await studio.start(variants=2, top=2, concurrency=4, approval=Approval("all"), name=f"run {at}")
        for at in range(2)
    ]
    await asyncio.gather(*(studio.advance(rng=random.Random(seed)) for seed in range(4)))
    for seed in range(60):
        flying = await studio.under_way()
        if not flying:
            await studio.advance()
            if not await studio.under_way():
                break
        advancing = [studio.advance(rng=random.Random(seed * 10 + at)) for at in range(3)]
        await asyncio.gather(*advancing, *(studio.complete(row.job_id) for row in flying))
    for run_id in runs:
        run = await studio.run(run_id)
        assert (run.status, run.jobs_started) == (RunStatus.COMPLETED, 2 + 4 + 8)
        assert [step.made for step in await studio.steps(run_id)] == [2, 4, 8]
    assert len(await studio.rows(ai_jobs)) == 28
    assert await studio.balance() == RICH - 28 * PRICE
    assert await studio.broken() == []


async def test_two_runs_of_one_user_go_on_at_the_same_moment(studio: Studio, engine: str) -> None:
    """Both have written into the ledger before either holds the wallet: neither may wait for the other for ever."""
    if engine == "sqlite":
        pytest.skip("SQLite has one writer at a time")
    for number in range(2):
        await studio.start(variants=2, concurrency=1, name=f"run {number}")
    await studio.advance()
    flying = [row.job_id for row in await studio.under_way()]
    met = asyncio.Barrier(2)
    found = await asyncio.wait_for(asyncio.gather(*(studio.settle_and_go_on(each, met.wait) for each in flying)), 20)
    assert [len(each.jobs) for each in found] == [1, 1]
    assert len(await studio.under_way()) == 2
    assert await studio.broken() == []


async def test_a_run_begins_as_many_as_have_ended_and_leaves_the_others_their_turn(studio: Studio) -> None:
    busy = await studio.start(variants=6, concurrency=1)
    await studio.advance()
    [first] = await studio.under_way()
    waits = await studio.start(variants=2, concurrency=1)
    found = await studio.settle_and_go_on(first.job_id)
    assert (found.jobs, found.left_due) == ([], 1), "another one is due, and has its turn"
    await studio.advance()
    under_way = {row.run_id: row.job_id for row in await studio.under_way()}
    assert under_way.keys() == {busy, waits}
    found = await studio.settle_and_go_on(under_way[busy])
    assert [job.run_id for job in found.jobs] == [busy]
