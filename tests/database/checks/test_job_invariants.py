"""The invariants of jobs, their files and what is told of them: silent on a sound system, fired by a planted fault."""

import pytest

from comfyfleet import checks
from comfyfleet.checks import POOL, check_invariants
from comfyfleet.db import PoolTx
from comfyfleet.house import House
from comfyfleet.kernel.ids import JobId, new_id
from tests.conftest import ManualClock
from tests.database.checks.attack import Attacker, bound
from tests.database.jobs.atelier import Atelier

JOB = (
    "id, tenant_id, user_id, workflow_id, structure_hash, provider, status, priority, reserved_tokens, expected_s,"
    " payload, created_at, idempotency_key"
)


@pytest.fixture
async def ids(house: House) -> dict[str, JobId]:
    """A job that completed, one that failed, and one that takes a mask and runs."""
    atelier = await Atelier.open(house)
    done, failed = await atelier.delivered("done"), await atelier.failed_order()
    mask = await atelier.a_mask()
    running = (await atelier.order("runs", properties={"prompt": "x", "mask": str(mask)})).job.id
    await atelier.relay()
    await atelier.lease()
    assert await atelier.broken() == []
    return {"done": done, "failed": failed, "running": running, "nobody": JobId(new_id())}


# (the invariant, what is planted, whose id must be named)
FAULTS = [
    ("V17", "DELETE FROM job_files WHERE job_id = :done AND role = 'output'", "done"),
    ("V17", "UPDATE job_files SET is_primary = false WHERE job_id = :done AND role = 'output'", "done"),
    ("V19", "UPDATE webhook_events SET event_type = 'job.failed' WHERE event_type = 'job.completed'", "done"),
    ("V19", "UPDATE webhook_events SET subject_id = :nobody WHERE event_type = 'job.failed'", "nobody"),
    ("V20", "UPDATE files SET status = 'deleted', deleted_at = created_at WHERE name = 'mask.png'", "running"),
    ("V20", "DELETE FROM files WHERE name = 'mask.png'", "running"),
    ("V20", "UPDATE files SET user_id = :nobody WHERE name = 'mask.png'", "running"),
    ("V21", "UPDATE videos SET job_id = :done WHERE status = 'processing'", "done"),
    ("V21", "UPDATE ai_jobs SET video_id = NULL WHERE id = :running", "running"),
]


async def test_each_planted_fault_is_found_and_its_row_named(house: House, ids: dict[str, JobId]) -> None:
    """Each in a transaction that is undone again."""
    for code, plant, named in FAULTS:
        async with house.pool("main").engine.connect() as connection:
            assert (await connection.execute(bound(plant, ids))).rowcount >= 1, plant
            found = await check_invariants(PoolTx(connection), POOL, database="main", rules=house.queue_rules)
            await connection.rollback()
        assert {each.code for each in found if each.state == "violated"} == {code}, plant
        assert str(ids[named]) in next(str(each.rows) for each in found if each.code == code), plant


@pytest.mark.parametrize("path", ["replace(path, '/1-', '/2-')", "'elsewhere/ai-jobs/y/1-z/output'"])
async def test_v18_a_result_of_another_lease_or_another_job_is_found(
    house: House, ids: dict[str, JobId], path: str
) -> None:
    planted = f"UPDATE files SET path = {path} WHERE path LIKE '%/ai-jobs/%'"
    assert await Attacker(house.pools["main"]).run(planted) == 1
    assert str(ids["done"]) in (await violated(house))["V18"]


async def violated(house: House) -> dict[str, str]:
    found = await checks.check_everything(house)
    return {each.code: str(each.rows) for each in found if each.state == "violated"}


async def test_v16_a_key_that_made_two_jobs_is_found(house: House, ids: dict[str, JobId]) -> None:
    attacker = Attacker(house.pools["main"])
    copied = JOB.replace("id, tenant_id", ":nobody, tenant_id", 1)
    await attacker.run(
        "DROP INDEX uq_ai_jobs_idempotency_key",
        f"INSERT INTO ai_jobs ({JOB}) SELECT {copied} FROM ai_jobs WHERE id = :running",
        **ids,
    )
    assert "'runs'" in (await violated(house))["V16"]


async def test_v19b_what_never_left_the_outbox_is_noted(house: House, clock: ManualClock) -> None:
    atelier = await Atelier.open(house)
    await atelier.order()
    clock.advance(house.queue_rules.queue_deadline_s + 60)
    found = {each.code: each.state for each in await checks.check_everything(house) if each.state != "ok"}
    assert found == {"V19b": "noted"}
