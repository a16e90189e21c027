"""The loops run for as long as the application does, in replicas that are told to run them."""

import asyncio
from collections import defaultdict

import pytest

from comfyfleet.api.app import build_app
from comfyfleet.api.options import ApiOptions
from comfyfleet.bootstrap import build_upkeep
from comfyfleet.house import House
from comfyfleet.jobs import JobStatus
from comfyfleet.settings import Settings
from comfyfleet.upkeep import Upkeep, relay_submissions
from tests.database.jobs.world import World

CENTRAL = (
    *("checkpoint_audit", "deliver_notifications", "expire_leases", "explain_waiting", "fail_overdue", "forget_old"),
    *("promote_delayed", "report_replica", "retire_workers", "scale_fleets", "tell_starts", "verify_audit"),
    "watch_conditions",
)
OF_POOL = (
    *("advance_runs", "apply_settlements", "apply_settlements beside", "collect_outputs", "collect_uploads"),
    *("deliver_webhooks", "draw_thumbs", "expire_files", "expire_jobs", "expire_videos", "follow_cancels"),
    *("forget_sent", "relay_submissions", "resume_runs", "score_candidates"),
)


def loops_by_pool(upkeep: Upkeep) -> dict[str | None, list[str]]:
    found: dict[str | None, list[str]] = defaultdict(list)
    for each in upkeep._loops:
        found[each.pool].append(each.name)
    return {pool: sorted(names) for pool, names in found.items()}


def upkeep_tasks() -> list[str]:
    return [task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith("upkeep")]


async def test_a_job_is_relayed_when_the_loop_is_woken_and_the_loops_end_with_the_application(
    house: House, settings: Settings
) -> None:
    upkeep = build_upkeep(house, settings)
    assert isinstance(upkeep, Upkeep)
    app = build_app(house, ApiOptions(), upkeep=upkeep)
    world = await World.make(house)
    async with app.router.lifespan_context(app):
        assert len(upkeep_tasks()) == len(CENTRAL) + len(OF_POOL)
        job_id = await world.create()
        waiter = world.wait_for_work()
        upkeep.wake(relay_submissions.NAME)
        await asyncio.wait_for(waiter.woken, 10)
        assert [row.id for row in await world.dispatches()] == [job_id]
        assert (await world.job(job_id)).status is JobStatus.QUEUED
    assert upkeep_tasks() == []


async def test_a_replica_can_leave_upkeep_to_others(house: House, settings: Settings) -> None:
    off = settings.model_copy(update={"upkeep": False})
    app = build_app(house, ApiOptions(), upkeep=build_upkeep(house, off))
    async with app.router.lifespan_context(app):
        own = ["upkeep report_replica", "upkeep tell_starts"]
        assert sorted(upkeep_tasks()) == own, "nobody else knows what this process was told, and how it is"
        app.state.upkeep.wake(relay_submissions.NAME, pool="main")
    assert upkeep_tasks() == []


async def test_each_pool_has_loops_of_its_own(house: House, settings: Settings) -> None:
    two = House(**{**vars(house), "pools": {**house.pools, "second": house.pools["main"]}})
    one, both = build_upkeep(house, settings), build_upkeep(two, settings)
    assert isinstance(one, Upkeep)
    assert isinstance(both, Upkeep)
    assert loops_by_pool(one) == {None: sorted(CENTRAL), "main": sorted(OF_POOL)}
    assert loops_by_pool(both) == {**loops_by_pool(one), "second": sorted(OF_POOL)}


@pytest.mark.parametrize("days", [1, 30])
async def test_the_retention_of_the_settings_is_kept(house: House, settings: Settings, days: int) -> None:
    upkeep = build_upkeep(house, settings.model_copy(update={"retention_days": days}))
    assert isinstance(upkeep, Upkeep)
    [loop] = [each for each in upkeep._loops if each.name == "forget_old"]
    assert loop.tick.keywords["rules"].retention_s == days * 86_400  # type: ignore[attr-defined]
