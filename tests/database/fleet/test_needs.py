"""A workflow that needs what a worker lacks is not routed to it, and operators see why; on both engines."""

from typing import Any

import pytest

from comfyfleet import dispatch, fleet, workflows
from comfyfleet.desk import Poll
from comfyfleet.dispatch import Grant, waiting
from comfyfleet.fleet import Registration, Worker
from comfyfleet.kernel.errors import Superseded
from comfyfleet.kernel.ids import DispatchId
from comfyfleet.upkeep import explain_waiting, forget_old
from comfyfleet.upkeep.rules import UpkeepRules
from tests.builders import a_version
from tests.conftest import ManualClock
from tests.database.dispatch.test_queue import Queue
from tests.database.fleet.test_fleet import Yard, yard

__all__ = ["yard"]

ABLE = {"node_classes": ["KSampler", "Other"], "weights": [], "vram_gb": 24.0}
UNABLE = {"node_classes": ["Other"], "weights": [], "vram_gb": 24.0}
WHY = "the worker lacks node classes: KSampler"


async def register(yard: Yard, capabilities: dict[str, Any], name: str = "i-1") -> Registration:
    return await yard.register(name, capabilities=capabilities)


async def poll(yard: Yard, worker: Worker) -> Grant | None:
    asked = Poll(worker=worker, providers=frozenset(["self_hosted"]), leases_max=1)
    return await yard.house.desk.poll(asked, wait_s=0)


async def queued(yard: Yard) -> DispatchId:
    dispatch_id = await Queue(yard.house).add(workflow_id=yard.workflow_id)
    await yard.house.desk.polls.look()
    return dispatch_id


async def why_not(yard: Yard, name: str = "i-1") -> tuple[str, ...]:
    async with yard.house.control_tx(read_only=True) as tx:
        [assignment] = (await fleet.show_worker(tx, name)).assignments
    assert assignment.routed is not bool(assignment.why_not)
    return assignment.why_not


async def test_only_a_worker_that_has_what_it_needs_gets_the_job_and_operators_see_why(yard: Yard) -> None:
    lacking, fit = await register(yard, UNABLE), await register(yard, ABLE, "i-2")
    await queued(yard)
    assert await poll(yard, lacking.worker) is None
    assert await why_not(yard) == (WHY,)
    assert await why_not(yard, "i-2") == ()
    async with yard.house.control_tx(read_only=True) as tx:
        able = await fleet.able_workers(tx, [yard.workflow_id])
    assert able[yard.workflow_id, "self_hosted"] == {fit.worker.id}
    assert await poll(yard, fit.worker) is not None


async def test_lists_are_kept_once_for_all_workers_that_are_alike_and_facts_are_shown(yard: Yard) -> None:
    for number in range(3):
        await register(yard, ABLE, f"i-{number}")
    async with yard.house.control_tx(read_only=True) as tx:
        assert (await fleet.show_worker(tx, "i-1")).capabilities == {"node_classes": 2, "weights": 0, "vram_gb": 24.0}
    await register(yard, UNABLE, "i-0")
    async with yard.house.control_tx() as tx:
        assert await fleet.forget_lists(tx) == 0, "both are somebody's"
        for number in range(3):
            await fleet.deregister_worker(tx, await fleet.get_worker(tx, f"i-{number}"))
    for number in range(3):
        await register(yard, {}, f"i-{number}")
    await forget_old.tick(yard.house, rules=UpkeepRules())
    async with yard.house.control_tx() as tx:
        assert await fleet.forget_lists(tx) == 0, "upkeep has forgotten them"


async def test_a_worker_that_got_what_it_lacked_gets_the_job_and_an_older_life_cannot_say_so(yard: Yard) -> None:
    before, now = await register(yard, UNABLE), await register(yard, UNABLE)
    await queued(yard)
    assert await poll(yard, now.worker) is None
    with pytest.raises(Superseded):
        await yard.house.desk.change_capabilities(before.worker, ABLE)
    await yard.house.desk.change_capabilities(now.worker, ABLE)
    assert await why_not(yard) == ()
    assert await poll(yard, now.worker) is not None


async def test_a_new_version_that_needs_more_is_seen(yard: Yard) -> None:
    made = await register(yard, ABLE)
    new = a_version(vram_gb=48.0)
    await workflows.keep_graph(yard.house.store, new)
    async with yard.house.control_tx() as tx:
        await workflows.add_version(tx, "face-swap", new)
    await queued(yard)
    assert await why_not(yard) == ("the worker lacks 48 GB of GPU memory (it has 24)",)
    assert await poll(yard, made.worker) is None


async def test_a_job_that_no_worker_can_run_says_so(yard: Yard, clock: ManualClock) -> None:
    made = await register(yard, UNABLE)
    dispatch_id = await queued(yard)
    clock.advance(explain_waiting.WAITED_S + 1)
    async with yard.house.control_tx() as tx:
        await fleet.touch_workers(tx, [fleet.Sighting(made.worker.id, ago_s=0.0, current_load=0)])
    assert await explain_waiting.tick(yard.house) == 1
    async with yard.house.control_tx(read_only=True) as tx:
        assert await waiting.reason_of(tx, await dispatch.require_dispatch(tx, dispatch_id)) == waiting.none_fit(
            "nodes"
        )
