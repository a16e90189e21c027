"""What two replicas do to each other when they reach for the same rows."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
import sqlalchemy as sa

from comfyfleet import dispatch
from comfyfleet.db import ControlTx
from comfyfleet.db.tables import ai_job_dispatches, failover_blocks
from comfyfleet.dispatch import Ask, Beat, FailureClass, Leased, Leasing, outages
from comfyfleet.house import House
from comfyfleet.kernel.ids import LaneId, WorkflowId, new_id
from tests.conftest import ManualClock
from tests.database.dispatch.test_queue import RULES, SIGNER, Queue, a_holder, proof


async def lease(tx: ControlTx, asks: Sequence[Ask]) -> Leased:
    return await dispatch.lease_dispatches(tx, asks, Leasing(SIGNER, RULES))


async def lease_alone(house: House, asks: Sequence[Ask]) -> Leased:
    """As the desk does it, on the desk's own connections."""
    async with house.desk._central.control_tx() as tx:
        return await lease(tx, asks)


async def analyze(house: House) -> None:
    """In which order a statement reaches for its rows is the planner's choice, and it learns from what is there."""
    async with house.central.engine.connect() as connection:
        await connection.execute(sa.text("ANALYZE ai_job_dispatches"))
        await connection.commit()


async def until_stuck(house: House, tasks: "Sequence[asyncio.Task[Any]]") -> None:
    """Until each of them is through, or waits for a lock that somebody else has."""
    if house.central.engine.dialect.name == "sqlite":
        return  # there a second transaction does not even begin
    async with asyncio.timeout(10), house.central.engine.connect() as connection:
        waiting = sa.text("SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted")
        while await connection.scalar(waiting) < sum(not task.done() for task in tasks):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_a_probe_whose_job_another_replica_took_is_no_probe(house: House, clock: ManualClock) -> None:
    """Else the block would stay shut until the run deadline, and wait for a job that somebody else has."""
    queue, blocked, other = Queue(house), a_holder(), a_holder()
    await queue.add()
    grant = await queue.lease(blocked)
    assert grant is not None
    await queue.fail(grant, blocked, FailureClass.EXECUTION_ERROR)
    clock.advance(RULES.block_cooldown_s + 1)
    await queue.add()
    lanes = await queue.all_lanes()
    async with house.control_tx() as tx:
        taken = await lease(tx, [Ask(other, lanes, leases_max=1)])
        probing = asyncio.create_task(lease_alone(house, [Ask(blocked, lanes, leases_max=1)]))
        await until_stuck(house, [probing])
    assert len(taken.grants) == 1
    assert (await probing).grants == {}
    async with house.control_tx() as tx:
        [block] = await tx.all(sa.select(failover_blocks))
    assert (block.worker_id, block.probe_dispatch_id) == (blocked.worker_id, None)
    await queue.add()
    assert await queue.lease(blocked) is not None, "the next job is its probe"


@pytest.mark.parametrize("jobs", [3, 30])
async def test_replicas_that_choose_the_same_jobs_in_another_order_do_not_lock_each_other_out(
    house: House, jobs: int
) -> None:
    if house.central.engine.dialect.name == "sqlite":
        pytest.skip("there one writes at a time")
    queue, lanes = Queue(house), list[LaneId]()
    for _ in range(jobs):
        places = await queue.place(workflow_id=WorkflowId(new_id()))
        lanes += [place.lane for place in places.values()]
    await analyze(house)
    first = [Ask(a_holder(), frozenset([lane]), leases_max=1) for lane in lanes]
    second = [Ask(a_holder(), frozenset([lane]), leases_max=1) for lane in reversed(lanes)]
    async with house.control_tx() as tx:
        # The one in the middle is held, until each of the two has come so far from its own end.
        d = ai_job_dispatches
        await tx.all(sa.select(d.c.id).where(d.c.lane == lanes[jobs // 2]).with_for_update())
        both = [asyncio.create_task(lease_alone(house, asks)) for asks in (first, second)]
        await until_stuck(house, both)
    leased = await asyncio.gather(*both)
    assert sum(len(each.grants) for each in leased) >= jobs - 1


async def test_i6_sparing_leases_waits_for_no_heartbeat(house: House) -> None:
    """After an outage all workers come at once: what one of them renews just now needs no sparing."""
    if house.central.engine.dialect.name == "sqlite":
        pytest.skip("there one writes at a time")
    queue, holders = Queue(house), [a_holder() for _ in range(3)]
    for _ in holders:
        await queue.add()
    grants = [await queue.lease(holder) for holder in holders]
    await analyze(house)
    beats = [Beat(proof(grant, holder)) for grant, holder in zip(grants, holders, strict=True) if grant is not None]

    async def extend(order: Sequence[Beat]) -> int:
        async with house.desk._central.control_tx() as tx:
            extended, _ = await dispatch.extend_leases(tx, order, rules=RULES)
            return len(extended)

    async def spare() -> int:
        async with house.control_tx() as tx:
            return await outages.spare_leases(tx, rules=RULES)

    for order in (beats, beats[::-1]):
        async with house.control_tx() as tx:
            await dispatch.extend_leases(tx, [beats[1]], rules=RULES)
            both = [asyncio.create_task(extend(order)), asyncio.create_task(spare())]
            await until_stuck(house, both)
        assert (await asyncio.gather(*both))[0] == 3
