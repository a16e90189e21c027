"""A run is driven by what happens to it: a settlement wakes it, and what it begins wakes the relay."""

import random

from comfyfleet.db.tables import pipeline_runs
from comfyfleet.house import House
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
    await settle.tick()
    assert runs._woken.is_set()
    relay._woken.clear()
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
