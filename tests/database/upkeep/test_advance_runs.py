"""A run is driven by what happens to it: a settlement wakes it, and what it begins wakes the relay."""

import random

import pytest

from comfyfleet import pipelines, tenants
from comfyfleet.db.tables import pipeline_runs
from comfyfleet.house import House
from comfyfleet.tenants.lifecycle import TenantEvent
from comfyfleet.upkeep import UpkeepRules, advance_runs, apply_settlements, loops_of, relay_submissions
from comfyfleet.upkeep.loop import Loop
from tests.database.jobs.atelier import Atelier
from tests.database.pipelines.studio import STEPS, Approval, Studio


def named(loops: list[Loop], name: str) -> Loop:
    [loop] = [each for each in loops if each.name == name]
    return loop


async def test_what_settles_wakes_the_runs_and_what_they_begin_wakes_the_relay(house: House) -> None:
    studio = await Studio.open(house, steps=STEPS[:2])
    atelier = await Atelier.open(house, member=studio.member, tokens=1)
    loops = loops_of(house, rules=UpkeepRules())
    settle, runs, relay = (named(loops, each.NAME) for each in (apply_settlements, advance_runs, relay_submissions))
    await studio.start(variants=1, approval=Approval("all"))
    await runs.tick()
    assert (relay._woken.is_set(), runs._woken.is_set()) == (True, False)
    await relay.tick()
    grant = await atelier.lease()
    await atelier.complete_with(grant, await atelier.upload(grant))
    relay._woken.clear()
    await settle.tick()
    [child] = await studio.under_way()
    assert (child.position, runs._woken.is_set(), relay._woken.is_set()) == (1, False, False), "all of it in one go"
    assert (await atelier.lease()).dispatch_id == child.job_id, "and the child stands in the queue"


async def test_runs_whose_effects_nobody_has_read_lately_are_left_to_their_loop(house: House) -> None:
    studio = await Studio.open(house, steps=STEPS[:2])
    atelier = await Atelier.open(house, member=studio.member, tokens=1)
    await studio.start(variants=1, approval=Approval("all"))
    await studio.advance()
    await atelier.relay()
    grant = await atelier.lease()
    await atelier.complete_with(grant, await atelier.upload(grant))
    loops = loops_of(house, rules=UpkeepRules())
    settle, runs, relay = (named(loops, each.NAME) for each in (apply_settlements, advance_runs, relay_submissions))
    await settle.tick()
    assert (runs._woken.is_set(), await studio.under_way()) == (True, [])
    await runs.tick()
    [child] = await studio.under_way()
    assert (child.position, relay._woken.is_set()) == (1, True)


async def test_a_tenant_in_trouble_stops_nobody_else(house: House) -> None:
    broken = await Studio.open(house)
    await broken.start()
    async with house.pool("main").engine.begin() as connection:
        await connection.execute(pipeline_runs.update().values(approval={"no": "rule"}))
    sound = await Studio.another(broken)
    run_id = await sound.start()
    await advance_runs.tick(house, "main", rng=random.Random(1))
    assert [row.run_id for row in await sound.under_way()] == [run_id]


async def test_a_run_that_somebody_holds_is_left_and_looked_at_again(house: House, engine: str) -> None:
    if engine == "sqlite":
        pytest.skip("SQLite has one writer at a time: nobody meets a run that is held")
    studio = await Studio.open(house)
    held, free = await studio.start(), await studio.start()
    missed: list[None] = []

    async def look() -> set[object]:
        await advance_runs.tick(house, "main", rng=random.Random(1), on_missed=lambda: missed.append(None))
        return {row.run_id for row in await studio.under_way()}

    async with house.tenant_tx(studio.member.tenant) as tx:
        await pipelines.pause_run(tx, held, studio.member.user.id)
        assert (await look(), len(missed)) == ({free}, 1)
    assert (await look(), len(missed)) == ({free}, 1), "paused by whoever held it"


async def test_many_due_runs_of_one_tenant_hide_nobody_elses(house: House) -> None:
    busy = await Studio.open(house)
    runs = [await busy.start() for _ in range(3)]
    late = await Studio.another(busy)
    run_id = await late.start()
    async with house.pool_tx("main", read_only=True) as tx:
        assert [each.id for each in await pipelines.list_due(tx, rows=2)] == [runs[0], run_id]
        assert {each.id for each in await pipelines.list_due(tx, rows=9)} == {*runs, run_id}


async def test_runs_of_a_suspended_tenant_pause_and_say_so_and_go_on_when_resumed_later(house: House) -> None:
    """One that is due, one that waits for a job, one that waits at a gate; one that is over stays over."""
    studio = await Studio.open(house)
    other = await Studio.another(studio)
    due, busy, waiting = await studio.start(), await studio.start(variants=1), await studio.start(variants=1)
    theirs = await other.start()
    await studio.advance()
    for run_id in (due, waiting):
        for row in await studio.under_way(run_id):
            await studio.complete(row.job_id)
    await studio.advance()
    assert (await studio.run(waiting)).status == "waiting_for_approval"
    before = {row.job_id for row in await studio.under_way()}
    await suspend(house, studio)
    await studio.advance()
    for run_id in (due, busy, waiting):
        run = await studio.run(run_id)
        assert (run.status, run.status_reason) == ("paused", "tenant_suspended")
    assert (await other.run(theirs)).status == "running"
    [row] = await studio.under_way(busy)
    await studio.complete(row.job_id)
    await studio.advance()
    assert {row.job_id for row in await studio.under_way()} == before - {row.job_id}, "and begins nothing after it"
    async with house.control_tx() as tx:
        await tenants.move_tenant(tx, studio.member.tenant.id, TenantEvent.RESUME)
    await studio.advance()
    assert (await studio.run(busy)).status == "paused", "it is its user who resumes it"
    await studio.say(pipelines.resume_run, busy)
    await studio.advance()
    assert (await studio.run(busy)).status == "waiting_for_approval"


async def test_what_settles_begins_nothing_for_a_suspended_tenant(house: House) -> None:
    studio = await Studio.open(house, steps=STEPS[:2])
    atelier = await Atelier.open(house, member=studio.member, tokens=1)
    loops = loops_of(house, rules=UpkeepRules())
    settle, runs, relay = (named(loops, each.NAME) for each in (apply_settlements, advance_runs, relay_submissions))
    run_id = await studio.start(variants=1, approval=Approval("all"))
    await runs.tick()
    await relay.tick()
    grant = await atelier.lease()
    await atelier.complete_with(grant, await atelier.upload(grant))
    async with house.control_tx() as tx:  # and no more: as if the process that suspends it died here
        await tenants.move_tenant(tx, studio.member.tenant.id, TenantEvent.SUSPEND)
    await settle.tick()
    assert await studio.under_way() == []
    await runs.tick()
    run = await studio.run(run_id)
    assert (run.status, run.status_reason) == ("paused", "tenant_suspended")


async def suspend(house: House, studio: Studio) -> None:
    async with house.control_tx() as tx:
        tenant = await tenants.move_tenant(tx, studio.member.tenant.id, TenantEvent.SUSPEND)
    await house.pause_runs_of(tenant)
