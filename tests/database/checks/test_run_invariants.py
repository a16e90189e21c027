"""The invariants of runs: silent on a sound tree, fired by a planted fault."""

import pytest

from comfyfleet import pipelines
from comfyfleet.checks import POOL, check_invariants
from comfyfleet.db import PoolTx
from comfyfleet.house import House
from comfyfleet.kernel.ids import new_id
from tests.database.checks.attack import bound
from tests.database.pipelines.studio import Approval, Studio


@pytest.fixture
async def ids(house: House) -> dict[str, object]:
    """A run with a rejected branch, a failure, and jobs under way."""
    studio = await Studio.open(house)
    run_id = await studio.start(variants=2, top=2, concurrency=9, approval=Approval("all"), jobs_max=50)
    await studio.advance()
    flying = await studio.under_way()
    await studio.complete(flying[0].job_id)
    await studio.fail(flying[1].job_id)
    await studio.work_once()
    good, bad = await studio.candidates(run_id, 0)
    await studio.vote(good.id, bad.id)
    await studio.say(pipelines.reject_candidate, bad.id)
    [under_way, *_] = [row for row in await studio.under_way() if row.parent_id == good.id]
    assert await studio.broken() == []
    return {
        "run": run_id,
        "good": good.id,
        "bad": bad.id,
        "done": good.job_id,
        "flying": under_way.job_id,
        "nobody": new_id(),
    }


# (the invariants, what is planted, whose id must be named)
FAULTS = [
    ({"R1"}, "UPDATE pipeline_runs SET in_flight = in_flight + 1", "run"),
    ({"R1"}, "UPDATE pipeline_runs SET tokens_spent = tokens_spent + 10", "run"),
    ({"R2"}, "UPDATE pipeline_run_steps SET made = made + 1 WHERE position = 0", "run"),
    ({"R2"}, "UPDATE pipeline_run_steps SET failures = 0 WHERE position = 0", "run"),
    ({"R2"}, "UPDATE pipeline_run_steps SET votes = 2 WHERE position = 0", "run"),
    ({"R3"}, "UPDATE candidates SET children = children + 1 WHERE id = :good", "good"),
    ({"R3"}, "UPDATE candidates SET votes = 0 WHERE id = :good", "good"),
    ({"R4"}, "UPDATE pipeline_run_steps SET variants = 1 WHERE position = 1", "run"),
    ({"R1", "R2", "R3", "R5", "R6"}, "UPDATE run_jobs SET state = 'done' WHERE job_id = :flying", "run"),
    ({"R5"}, "UPDATE ai_jobs SET run_id = :nobody WHERE id = :flying", "run"),
    ({"R6"}, "UPDATE candidates SET job_id = :nobody WHERE id = :good", "done"),
]


async def test_each_planted_fault_is_found_and_its_row_named(house: House, ids: dict[str, object]) -> None:
    """Each in a transaction that is undone again."""
    for codes, plant, named in FAULTS:
        async with house.pool("main").engine.connect() as connection:
            assert (await connection.execute(bound(plant, ids))).rowcount >= 1, plant
            found = await check_invariants(PoolTx(connection), POOL, database="main", rules=house.queue_rules)
            await connection.rollback()
        assert {each.code for each in found if each.state == "violated"} == codes, plant
        assert str(ids[named]) in str([each.rows for each in found if each.code in codes]), plant


async def test_what_lives_below_the_rejected_and_what_is_beyond_the_budget_is_found(
    house: House, ids: dict[str, object]
) -> None:
    plants = {
        "R7": "UPDATE candidates SET status = 'rejected', rejected_at = created_at WHERE id = :good",
        "R8": "UPDATE pipeline_runs SET jobs_started = 1, jobs_max = 1",
    }
    for code, plant in plants.items():
        async with house.pool("main").engine.connect() as connection:
            await connection.execute(bound("UPDATE candidates SET parent_id = :good WHERE id = :bad", ids))
            await connection.execute(
                bound("UPDATE candidates SET status = 'active', rejected_at = NULL WHERE id = :bad", ids)
            )
            await connection.execute(bound(plant, ids))
            found = await check_invariants(PoolTx(connection), POOL, database="main", rules=house.queue_rules)
            await connection.rollback()
        assert code in {each.code for each in found if each.state == "violated"}
