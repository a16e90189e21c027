"""Cases of the failure analysis in which many come at once, through two replicas. Each is named by its number there."""

import asyncio
from dataclasses import replace

import pytest
import sqlalchemy as sa

from comfyfleet import dispatch
from comfyfleet.db.tables import ai_job_dispatches as d
from comfyfleet.db.tables import settlements
from comfyfleet.dispatch import DispatchStatus, Ended, FailureClass, Grant
from comfyfleet.dispatch.failures import FAILED_EVERYWHERE
from comfyfleet.fleet import Worker
from comfyfleet.kernel.errors import FleetError, LeaseLost
from comfyfleet.kernel.ids import TenantId, new_id
from tests.conftest import ManualClock
from tests.database.desk.shop import Shop, a_beat, a_report
from tests.database.dispatch.truths import broken_truths


async def poll_everywhere(shop: Shop, workers: list[Worker], **given: int) -> list[tuple[Grant, Worker]]:
    """All at once, every second one at the other replica. Who got what."""
    grants = await asyncio.gather(*(shop.poll(worker, at=at % 2, **given) for at, worker in enumerate(workers)))
    return [(grant, worker) for grant, worker in zip(grants, workers, strict=True) if grant is not None]


async def sweep(shop: Shop) -> int:
    async with shop.house.control_tx() as tx:
        return len(await dispatch.expire_leases(tx, chance=shop.chance))


async def settled(shop: Shop, *ids: object) -> list[str]:
    async with shop.house.control_tx(read_only=True) as tx:
        found = await tx.all(sa.select(settlements.c.outcome).where(settlements.c.dispatch_id.in_(ids)))
    return [row.outcome for row in found]


async def test_l2_of_32_who_poll_for_one_job_one_gets_it(shop: Shop, soak: bool) -> None:
    workers = await shop.workers(32)
    for _ in range(10_000 if soak else 25):
        [dispatch_id] = await shop.place()
        [(grant, worker)] = await poll_everywhere(shop, workers)
        assert (grant.dispatch_id, grant.epoch) == (dispatch_id, 1)
        await shop.desks[0].complete(a_report(grant, worker))
    assert await broken_truths(shop.house.central) == []


async def test_l2_of_many_who_poll_for_many_jobs_each_gets_another(shop: Shop, soak: bool) -> None:
    """In several lanes, so that each replica has the same heads before it, in its own order."""
    flows = [shop.workflow_id, await shop.workflow("b"), await shop.workflow("c")]
    workers = await shop.workers(24)
    for flow in flows:
        await shop.add(workflow_id=flow)
    for _ in range(500 if soak else 5):
        ids = {each for flow in flows for each in await shop.place(4, workflow_id=flow)}
        got = await poll_everywhere(shop, workers)
        while len(got) < len(ids):  # behind a floor for a moment
            got += await poll_everywhere(shop, workers)
        assert len({grant.dispatch_id for grant, _ in got}) == len(got)
        await asyncio.gather(*(shop.desks[1].complete(a_report(*each)) for each in got))
        assert await broken_truths(shop.house.central) == []


async def test_l3_a_worker_that_dies_holds_its_job_for_one_lease(shop: Shop, clock: ManualClock) -> None:
    dead, alive = await shop.worker("dead"), await shop.worker("alive")
    [dispatch_id] = await shop.add()
    grant = await shop.poll(dead)
    assert grant is not None
    await shop.desks[0].heartbeat([a_beat(grant, dead)])
    clock.advance(shop.house.queue_rules.lease_ttl_s - 5)
    assert await sweep(shop) == 0
    clock.advance(6)
    assert await sweep(shop) == 1
    clock.advance(300)
    async with shop.house.control_tx() as tx:
        shop.desks[0].came_back(await dispatch.promote_delayed(tx))
    again = await shop.poll(alive)
    assert again is not None
    assert (again.dispatch_id, again.epoch, again.attempt) == (dispatch_id, 2, 2)


async def test_l4_one_workers_polls_at_two_replicas_never_pass_its_limit(shop: Shop, soak: bool) -> None:
    worker = await shop.worker(max_concurrency=2)
    limit = 2 + shop.house.queue_rules.lease_ahead
    for _ in range(1000 if soak else 20):
        await shop.place(8)
        got = await poll_everywhere(shop, [worker] * 8, leases_max=limit)
        assert len(got) == limit
        assert await broken_truths(shop.house.central) == []
        await asyncio.gather(*(shop.desks[0].complete(a_report(*each)) for each in got))


async def test_t1_a_call_that_comes_many_times_has_one_effect(shop: Shop) -> None:
    """At both replicas, at once and later; another call with the same token is told that it is too late."""
    worker = await shop.worker(max_concurrency=3)
    await shop.add(3)
    completed, failed, returned = [g for _ in range(3) if (g := await shop.poll(worker, leases_max=3))]
    said = {"failure": FailureClass.USER_INPUT, "error": "x"}
    for grant, verb in ((completed, "complete"), (failed, "fail"), (returned, "requeue")):
        calls = [getattr(desk, verb)(a_report(grant, worker, **said)) for desk in [*shop.desks] * 5]
        answers = await asyncio.gather(*calls)
        answers.append(await getattr(shop.desks[1], verb)(a_report(grant, worker, **said)))
        assert [answer.replayed for answer in answers].count(False) == 1, verb
        assert len({answer.status for answer in answers}) == 1
        with pytest.raises(LeaseLost):
            await shop.desks[0].complete(a_report(grant, worker, "another"))
    assert await settled(shop, completed.dispatch_id) == ["completed"]
    assert await settled(shop, failed.dispatch_id) == ["failed"]
    assert await settled(shop, returned.dispatch_id) == []
    assert await broken_truths(shop.house.central) == []


async def test_t2_a_result_after_the_lease_ran_out_counts_while_nobody_has_swept(
    shop: Shop, clock: ManualClock
) -> None:
    worker = await shop.worker()
    await shop.add()
    grant = await shop.poll(worker)
    assert grant is not None
    clock.advance(shop.house.queue_rules.lease_ttl_s * 3)
    ended = await shop.desks[0].complete(a_report(grant, worker))
    assert (ended.status, ended.replayed) == (DispatchStatus.COMPLETED, False)
    assert await sweep(shop) == 0


@pytest.mark.parametrize("then", ["swept", "waiting again", "leased again", "completed by another"])
async def test_t3_a_result_after_the_sweep_has_no_effect(shop: Shop, clock: ManualClock, then: str) -> None:
    late, other = await shop.worker("late"), await shop.worker("other")
    [dispatch_id] = await shop.add()
    grant = await shop.poll(late)
    assert grant is not None
    clock.advance(shop.house.queue_rules.grace_s + 1)
    assert await sweep(shop) == 1
    if then != "swept":
        clock.advance(300)
        async with shop.house.control_tx() as tx:
            shop.desks[0].came_back(await dispatch.promote_delayed(tx))
    if then in ("leased again", "completed by another"):
        again = await shop.poll(other)
        assert again is not None
        if then == "completed by another":
            await shop.desks[0].complete(a_report(again, other))
    async with shop.house.control_tx(read_only=True) as tx:
        before = await tx.one(sa.select(*d.c).where(d.c.id == dispatch_id))
    report = a_report(grant, late, failure=FailureClass.INFRA, error="x")
    for verb in ("complete", "fail", "requeue"):
        with pytest.raises(LeaseLost) as lost:
            await getattr(shop.desks[1], verb)(report)
        assert "ended before (expired)" in str(lost.value)
    assert await shop.desks[1].heartbeat([a_beat(grant, late)]) == {}
    async with shop.house.control_tx(read_only=True) as tx:
        assert await tx.one(sa.select(*d.c).where(d.c.id == dispatch_id)) == before
    assert len(await settled(shop, dispatch_id)) == int(then == "completed by another")


async def test_t7_of_complete_fail_requeue_and_sweep_at_once_one_counts(
    shop: Shop, clock: ManualClock, soak: bool
) -> None:
    worker = await shop.worker()
    for number in range(10_000 if soak else 30):
        [dispatch_id] = await shop.place()
        [(grant, _)] = await poll_everywhere(shop, [worker])
        clock.advance(shop.house.queue_rules.grace_s + 1)
        here, there = shop.desks if number % 2 else shop.desks[::-1]
        complete, fail, requeue = (a_report(grant, worker, digest, error="x") for digest in ("c", "f", "r"))
        found = await asyncio.gather(
            here.complete(complete),
            there.fail(replace(fail, failure=FailureClass.INFRA)),
            here.requeue(requeue),
            sweep(shop),
            return_exceptions=True,
        )
        accepted = [each for each in found if isinstance(each, Ended) or each == 1]
        assert len(accepted) == 1, found
        assert all(isinstance(each, (Ended, LeaseLost, int)) for each in found), found
        assert len(await settled(shop, dispatch_id)) == int(await shop.status(dispatch_id) is DispatchStatus.COMPLETED)
        async with shop.house.control_tx() as tx:
            await dispatch.cancel_dispatch(tx, dispatch_id)
    assert await broken_truths(shop.house.central) == []


async def test_s1_what_fails_on_every_worker_is_not_tried_again(shop: Shop, clock: ManualClock) -> None:
    workers = await shop.workers(2)
    [dispatch_id] = await shop.add()
    for number, worker in enumerate(workers, start=1):
        grant = await shop.poll(worker)
        assert grant is not None
        report = a_report(grant, worker, failure=FailureClass.EXECUTION_ERROR, error="node 4 broke")
        ended = await shop.desks[0].fail(report)
        assert ended.status == ("failed" if number == 2 else "delayed")
        clock.advance(5)
        async with shop.house.control_tx() as tx:
            shop.desks[0].came_back(await dispatch.promote_delayed(tx))
    async with shop.house.control_tx(read_only=True) as tx:
        found = await dispatch.require_dispatch(tx, dispatch_id)
    assert (found.last_error or "").startswith(FAILED_EVERYWHERE)
    assert await settled(shop, dispatch_id) == ["failed"]


async def test_s3_when_a_block_ends_exactly_one_job_tries(shop: Shop, clock: ManualClock, soak: bool) -> None:
    worker = await shop.worker(max_concurrency=20)
    await shop.add()
    grant = await shop.poll(worker, leases_max=20)
    assert grant is not None
    await shop.desks[0].fail(a_report(grant, worker, failure=FailureClass.SERVER_FAULT, error="no CUDA"))
    await shop.add(500 if soak else 40)
    assert await poll_everywhere(shop, [worker] * 8, leases_max=20) == []
    clock.advance(shop.house.queue_rules.block_cooldown_s + 1)
    [(probe, _)] = await poll_everywhere(shop, [worker] * 16, leases_max=20)
    assert await poll_everywhere(shop, [worker] * 4, leases_max=20) == []
    await shop.desks[0].fail(a_report(probe, worker, failure=FailureClass.SERVER_FAULT, error="no CUDA"))
    clock.advance(shop.house.queue_rules.block_cooldown_s + 1)
    assert await poll_everywhere(shop, [worker] * 4, leases_max=20) == [], "failure doubles it"
    clock.advance(shop.house.queue_rules.block_cooldown_s)
    [(probe, _)] = await poll_everywhere(shop, [worker] * 16, leases_max=20)
    await shop.desks[0].complete(a_report(probe, worker))
    assert len(await poll_everywhere(shop, [worker] * 8, leases_max=20)) == 8, "success deletes it"


async def test_s4_one_tenants_bad_jobs_keep_nobody_elses_away(shop: Shop) -> None:
    worker, theirs = await shop.worker(), TenantId(new_id())
    for failure in (FailureClass.USER_INPUT, FailureClass.WORKFLOW_INVALID, FailureClass.EXECUTION_ERROR):
        await shop.add()
        grant = await shop.poll(worker)
        assert grant is not None, failure
        await shop.desks[0].fail(a_report(grant, worker, failure=failure, error="x"))
    await shop.add()
    assert await shop.poll(worker) is None, "the last of them blocked its own tenant"
    [other] = await shop.add(tenant_id=theirs)
    grant = await shop.poll(worker)
    assert grant is not None
    assert grant.dispatch_id == other
    await shop.desks[0].fail(a_report(grant, worker, failure=FailureClass.EXECUTION_ERROR, error="x"))
    await shop.add(tenant_id=TenantId(new_id()))
    assert await shop.poll(worker) is None, "two tenants: now it lies with the worker"


async def test_every_refusal_names_its_reason(shop: Shop) -> None:
    worker = await shop.worker()
    await shop.add()
    grant = await shop.poll(worker)
    assert grant is not None
    await shop.desks[0].complete(a_report(grant, worker))
    with pytest.raises(FleetError, match=r"ended before \(completed\)"):
        await shop.desks[0].fail(a_report(grant, worker, "late", failure=FailureClass.INFRA, error="x"))
