"""An order, from its first byte to its settled end, in a process that dies: at every commit, before and after it.

Whoever comes after the crash does what such people do: the user's program sends the same request with the same key,
the worker sends the same words, the loops tick. Then there is one job, with one end, exact money and one event of each
kind, and `comfyfleet audit` finds nothing.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from comfyfleet.db.tables import ai_jobs, submissions, token_transactions
from comfyfleet.dispatch import Ended, Grant, settlements
from comfyfleet.house import House
from comfyfleet.jobs import JobStatus
from comfyfleet.kernel.errors import NothingDelivered
from comfyfleet.kernel.ids import DispatchId, JobId
from comfyfleet.storage import ObjectKey
from comfyfleet.upkeep import follow_cancels
from tests.conftest import ManualClock
from tests.database.jobs.atelier import PRICE, RICH, Atelier
from tests.faults.crashing import Crash, Fuse, crashing

BEFORE, AFTER = "main, before its commit", "main, after its commit"


@pytest.fixture
async def atelier(house: House) -> Atelier:
    return await Atelier.open(house)


async def doomed_order(atelier: Atelier, key: str, *, at: int) -> Fuse:
    fuse = Fuse(at)
    with pytest.raises(Crash):
        await atelier.order(key, house=crashing(atelier.house, fuse))
    return fuse


async def test_c2_a_crash_before_the_tenants_commit_leaves_nothing_and_the_retry_is_fresh(atelier: Atelier) -> None:
    assert (await doomed_order(atelier, "k", at=0)).passed == [BEFORE]
    assert [await atelier.rows(each) for each in (ai_jobs, submissions)] == [[], []]
    assert (await atelier.balance(), (await atelier.video_now()).status) == (RICH, "uploaded")
    assert await atelier.broken() == []
    assert (await atelier.order("k")).replayed is False
    assert await atelier.balance() == RICH - PRICE


async def test_c3_a_commit_whose_outcome_was_never_told_is_found_by_its_key(atelier: Atelier) -> None:
    assert (await doomed_order(atelier, "k", at=1)).passed == [BEFORE, AFTER]
    again = await atelier.order("k")
    assert again.replayed
    assert [row.id for row in await atelier.rows(ai_jobs)] == [again.job.id]
    assert await atelier.money(again.job.id) == ["JOB_RESERVE"]
    assert await atelier.broken() == []


async def test_c4_a_crash_before_the_queue_knows_loses_no_job(atelier: Atelier) -> None:
    placed, fuse = await atelier.order("k"), Fuse(0)
    with pytest.raises(Crash):
        await atelier.relay_in(crashing(atelier.house, fuse))
    assert fuse.passed == ["central, before its commit"]
    assert await atelier.dispatches() == []
    assert await atelier.broken() == []
    assert await atelier.relay() == 1
    assert [row.id for row in await atelier.dispatches()] == [placed.job.id]


async def test_c6_a_crash_before_the_outbox_knows_queues_no_job_twice(atelier: Atelier) -> None:
    placed = await atelier.order("k")
    for at in (1, 2):
        fuse = Fuse(at)
        with pytest.raises(Crash):
            await atelier.relay_in(crashing(atelier.house, fuse))
        assert [row.sent_at for row in await atelier.submissions()] == [None]
    assert await atelier.broken() == []
    assert await atelier.relay() == 1
    assert [row.id for row in await atelier.dispatches()] == [placed.job.id]


async def test_c10_whoever_orders_for_others_and_dies_orders_each_step_once(atelier: Atelier) -> None:
    """As a pipeline does: its step's own name is the key, so a scheduler that starts again finds what it had done."""
    ids = set()
    for step in range(3):
        for at in (0, 1, 0):
            with suppress(Crash):
                await atelier.order(f"run-7/step-{step}/1", house=crashing(atelier.house, Fuse(at)))
        ids.add((await atelier.order(f"run-7/step-{step}/1")).job.id)
    assert {row.id for row in await atelier.rows(ai_jobs)} == ids
    assert len(await atelier.rows(token_transactions, type="JOB_RESERVE")) == len(ids) == 3
    assert await atelier.broken() == []


# ── every point of the whole way ────────────────────────────────────────────────────────────

Step = Callable[[House], Awaitable[object]]


async def _through(steps: list[Step], house: House, fuse: Fuse) -> int:
    """Until the process dies: which step it died in."""
    doomed = crashing(house, fuse)
    for number, step in enumerate(steps):
        try:
            await step(doomed)
        except Crash:
            return number
    return len(steps)


async def _once(atelier: Atelier, clock: ManualClock, key: str, *, at: int, good: bool) -> Fuse:
    """One order to its end, by way of a crash at this point. A worker's part is repeated in the same words."""
    grants: list[Grant] = []
    made: list[ObjectKey] = []

    async def order(house: House) -> None:
        await atelier.order(key, house=house)

    async def work(house: House) -> None:
        grants.extend([await atelier.lease()] if not grants else [])
        if good:
            made.extend([await atelier.upload(grants[0])] if not made else [])
            assert isinstance(await atelier.complete_with(grants[0], *made, house=house), Ended)
        else:
            await atelier.fail_in(house, grants[0])

    steps: list[Step] = [order, atelier.relay_in, work, atelier.settle_in]
    fuse = Fuse(at)
    died_in = await _through(steps, atelier.house, fuse)
    assert await atelier.broken() == [], fuse.passed
    clock.advance(settlements.CLAIM_S + 1)
    for step in steps[died_in:]:
        await step(atelier.house)
    return fuse


@pytest.mark.parametrize("good", [True, False], ids=["completed", "failed"])
async def test_an_order_survives_a_crash_at_every_commit_of_its_way(
    atelier: Atelier, clock: ManualClock, good: bool
) -> None:
    at, end = 0, "completed" if good else "failed"
    while (fuse := await _once(atelier, clock, f"k-{at}", at=at, good=good)).blown:
        [row] = await atelier.jobs_of_key(f"k-{at}")
        assert row.status == end, fuse.passed
        assert await atelier.money(row.id) == ["JOB_CONSUME" if good else "JOB_REFUND", "JOB_RESERVE"], fuse.passed
        assert await atelier.events_of(row.id) == sorted([f"job.{end}", "job.queued", "job.started"]), fuse.passed
        assert len(await atelier.outputs_of(row.id)) == (1 if good else 0)
        assert (await atelier.video_now()).status == end
        at += 1
    assert at == len(fuse.passed) == 14
    assert await atelier.balance() == RICH - (PRICE * (at + 1) if good else 0)
    assert await atelier.broken() == []


@pytest.mark.parametrize("relayed", [True, False], ids=["in the queue", "in the outbox"])
async def test_a_wish_to_cancel_survives_a_crash_at_every_commit_of_its_way(
    atelier: Atelier, clock: ManualClock, relayed: bool
) -> None:
    """Its user asks once. If the wish was not even written down, there was no answer, and the user asks again."""
    at = 0
    while True:
        job_id = (await atelier.order(f"c-{at}")).job.id
        if relayed:
            await atelier.relay()
        fuse = Fuse(at)
        with suppress(Crash):
            await atelier.cancel_order(job_id, house=crashing(atelier.house, fuse))
        if not fuse.blown:
            break
        assert await atelier.broken() == [], fuse.passed
        if (await atelier.job(job_id)).cancel_requested_at is None:
            await atelier.cancel_order(job_id)
        clock.advance(settlements.CLAIM_S + 1)
        await atelier.relay()
        await follow_cancels.tick(atelier.house, atelier.pool)
        await atelier.settle()
        assert (await atelier.job(job_id)).status is JobStatus.CANCELLED, fuse.passed
        assert await atelier.money(job_id) == ["JOB_REFUND", "JOB_RESERVE"], fuse.passed
        at += 1
    assert at == len(fuse.passed) == 8
    assert await atelier.balance() == RICH
    assert await atelier.broken() == []


async def test_nobody_pays_for_nothing(atelier: Atelier) -> None:
    placed = await atelier.order()
    await atelier.relay()
    grant = await atelier.lease()
    assert isinstance(await atelier.complete_with(grant), NothingDelivered)
    assert (await atelier.dispatches())[0].status == "leased"
    assert isinstance(await atelier.complete_with(grant, await atelier.upload(grant)), Ended)
    await atelier.settle()
    assert (await atelier.job(placed.job.id)).status is JobStatus.COMPLETED
    load = await atelier.queued(reserved_tokens=0)
    assert isinstance(await atelier.complete_with(await atelier.lease()), Ended), "an operator's load has no result"
    await atelier.settle()
    assert (await atelier.job(JobId(DispatchId(load)))).status is JobStatus.COMPLETED
    assert await atelier.broken() == []
