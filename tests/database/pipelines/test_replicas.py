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
