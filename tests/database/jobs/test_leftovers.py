"""Objects of attempts: a late one never touches what was delivered, and what nobody names is collected, in time."""

import random
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from comfyfleet import dispatch, jobs
from comfyfleet.dispatch import Ended, Grant, Holder
from comfyfleet.house import House
from comfyfleet.jobs import JobStatus
from comfyfleet.jobs import collect as collect_verb
from comfyfleet.kernel.errors import AlreadyExists, LeaseLost, StorageUnavailable
from comfyfleet.kernel.ids import JobId
from comfyfleet.kernel.secret import Secret
from comfyfleet.storage import ObjectKey, StoredObject
from comfyfleet.storage.backends.local import LocalStore
from comfyfleet.upkeep import collect_outputs, expire_leases
from tests.conftest import ManualClock
from tests.database.dispatch.test_queue import SIGNER, proof
from tests.database.jobs.atelier import Atelier

DAY_S = 86_400.0


@pytest.fixture
async def atelier(house: House) -> Atelier:
    return await Atelier.open(house)


async def collect(atelier: Atelier) -> int:
    return await collect_outputs.tick(atelier.house, atelier.pool)


async def head(atelier: Atelier, key: ObjectKey) -> StoredObject | None:
    return await atelier.house.store.head(key)


async def leased_again(atelier: Atelier, clock: ManualClock) -> Grant:
    """Its worker is silent; another one gets it."""
    await expire_leases.tick(atelier.house, chance=atelier.chance)
    assert await atelier.pass_time(clock, atelier.house.queue_rules.lease_ttl_s * 2) == 1
    clock.advance(600)
    await atelier.promote()
    return await atelier.lease()


async def test_u1_a_zombies_bytes_never_become_or_replace_a_result(atelier: Atelier, clock: ManualClock) -> None:
    placed = await atelier.order()
    await atelier.relay()
    zombie = await atelier.lease()
    early = await atelier.upload(zombie, content=b"half")
    winner = await leased_again(atelier, clock)
    good = await atelier.upload(winner, content=b"good")
    assert isinstance(await atelier.complete_with(winner, good), Ended)
    await atelier.settle()
    late = await atelier.upload(zombie, "output-2.png", b"late")
    for named in ([late], [good], []):
        assert isinstance(await atelier.complete_with(zombie, *named), LeaseLost)
    with pytest.raises(AlreadyExists):
        await atelier.house.store.write(good, b"evil", media_type="image/png")
    assert await atelier.house.store.read(good, bytes_max=9) == b"good"
    assert len(await atelier.outputs_of(placed.job.id)) == 1
    assert await atelier.broken() == []
    clock.advance(DAY_S - 700)
    assert await collect(atelier) == 0, "a signed request of the zombie's could still be alive"
    clock.advance(2 * 3_600)
    assert await collect(atelier) == 1
    assert [await head(atelier, key) is None for key in (early, late, good)] == [True, True, False]
    assert await collect(atelier) == 0


async def test_u4_a_result_that_was_uploaded_before_a_crash_is_completed_after_it(atelier: Atelier) -> None:
    placed = await atelier.order()
    await atelier.relay()
    grant = await atelier.lease()
    made = await atelier.upload(grant)
    reborn = Holder(atelier.holder.worker_id, 2)
    async with atelier.house.control_tx() as tx:
        tokens = await dispatch.rebind_leases(
            tx, [proof(grant, atelier.holder)], to=reborn, signer=SIGNER, rules=atelier.house.queue_rules
        )
    old, atelier.holder = atelier.holder, reborn
    again = structs.replace(grant, token=tokens[grant.dispatch_id])
    assert isinstance(await atelier.complete_with(again, made), Ended)
    await atelier.settle()
    assert (await atelier.job(placed.job.id)).status is JobStatus.COMPLETED
    assert len(await atelier.outputs_of(placed.job.id)) == 1
    atelier.holder = old
    assert isinstance(await atelier.complete_with(grant, made), LeaseLost)
    assert await atelier.broken() == []


async def test_u4_a_result_whose_lease_is_gone_is_collected(atelier: Atelier, clock: ManualClock) -> None:
    placed = await atelier.order()
    await atelier.relay()
    grant = await atelier.lease()
    made = await atelier.upload(grant)
    await atelier.fail_in(atelier.house, grant)
    await atelier.settle()
    assert (await atelier.job(placed.job.id)).status is JobStatus.FAILED
    clock.advance(DAY_S + 7_200)
    assert await collect(atelier) == 1
    assert await head(atelier, made) is None


async def test_u7_only_what_is_old_and_over_and_unnamed_is_erased(atelier: Atelier, clock: ManualClock) -> None:
    """Jobs of every fate and age, each with something that is kept and something that is not."""
    chance = random.Random(7)
    atelier.house = replace(atelier.house, job_rules=replace(atelier.house.job_rules, active_jobs_max=100))
    named: dict[JobId, ObjectKey] = {}
    stray: dict[JobId, ObjectKey] = {}
    ended_at: dict[JobId, float] = {}
    for _ in range(12):
        fate, job_id = chance.choice(["completed", "failed", "running"]), (await atelier.order()).job.id
        await atelier.relay()
        grant = await atelier.lease()
        stray[job_id] = await atelier.upload(grant, "output-2.png")
        if fate == "completed":
            named[job_id] = await atelier.upload(grant)
            await atelier.complete_with(grant, named[job_id])
        elif fate == "failed":
            await atelier.fail_in(atelier.house, grant)
        await atelier.settle()
        if fate != "running":
            ended_at[job_id] = clock.read()
        clock.advance(chance.uniform(0, 6 * 3_600))
    now = clock.read()
    old = {job_id for job_id, at in ended_at.items() if now - at > collect_outputs.AGE_S}
    assert 0 < len(old) < len(ended_at) < len(stray), "some of each"
    assert await collect(atelier) == len(old)
    assert {job_id for job_id, key in stray.items() if await head(atelier, key) is None} == old
    assert all([await head(atelier, key) is not None for key in named.values()])
    assert await atelier.broken() == []


async def test_what_arrives_after_the_collection_goes_when_the_job_expires(
    atelier: Atelier, clock: ManualClock
) -> None:
    """A PUT may begin while its URL lives and end at any time: S3 takes it."""
    placed = await atelier.order()
    await atelier.relay()
    zombie = await atelier.lease()
    await atelier.fail_in(atelier.house, zombie)
    await atelier.settle()
    clock.advance(DAY_S + 7_200)
    assert await collect(atelier) == 1
    late = await atelier.upload(zombie, "output-2.png", b"late")
    clock.advance(30 * DAY_S)
    async with atelier.house.pool_tx(atelier.pool) as tx:
        assert (await jobs.expire_jobs(tx, age_s=30 * DAY_S, rows=10))[0] == 1
    assert await collect(atelier) == 1
    assert await head(atelier, late) is None
    assert await collect(atelier) == 0
    assert (await atelier.job(placed.job.id)).status is JobStatus.FAILED


async def test_more_than_one_look_can_erase_is_erased_by_the_next(
    atelier: Atelier, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collect_verb, "ERASED_MAX", 3)
    await atelier.order()
    await atelier.relay()
    grant = await atelier.lease()
    made = [await atelier.upload(grant, f"output-{number}.png") for number in range(2, 10)]
    kept = await atelier.upload(grant)
    await atelier.complete_with(grant, kept)
    await atelier.settle()
    clock.advance(DAY_S + 7_200)
    assert [await collect(atelier) for _ in range(5)] == [0, 0, 1, 0, 0]
    assert [each for each in made if await head(atelier, each) is not None] == []
    assert await head(atelier, kept) is not None


class AwayStore(LocalStore):
    async def list_names(self, prefix: ObjectKey, *, names_max: int | None = None) -> list[str]:
        raise StorageUnavailable


async def test_a_store_that_is_away_keeps_the_job_on_the_list(
    atelier: Atelier, clock: ManualClock, tmp_path: Path
) -> None:
    await atelier.delivered()
    clock.advance(DAY_S + 7_200)
    away = replace(atelier.house, store=AwayStore(tmp_path, Secret("a key that only tests sign with")))
    assert await collect_outputs.tick(away, atelier.pool) == 0
    assert await collect(atelier) == 1
