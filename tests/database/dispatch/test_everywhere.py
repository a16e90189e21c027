"""S1: the attempts that count are those of the same tenant, structure, class and time."""

import pytest
import sqlalchemy as sa

from comfyfleet.db.tables import ai_job_dispatches as d
from comfyfleet.dispatch import Dispatch, FailureClass, Holder
from comfyfleet.dispatch.everywhere import WINDOW_S, failed_everywhere
from comfyfleet.house import House
from comfyfleet.kernel.ids import DispatchId, TenantId, new_id
from tests.conftest import ManualClock
from tests.database.dispatch.test_queue import Queue, a_holder

BAD = FailureClass.EXECUTION_ERROR


@pytest.fixture
def queue(house: House) -> Queue:
    return Queue(house)


async def run(queue: Queue, holder: Holder, failure: FailureClass | None, **given: object) -> None:
    await queue.add(**given)
    grant = await queue.lease(holder)
    assert grant is not None
    await (queue.complete(grant, holder) if failure is None else queue.fail(grant, holder, failure))


async def ask(queue: Queue, failure: FailureClass = BAD, *, eligible: int = 3) -> bool:
    """A further job is leased by a new worker, which is about to say that it failed."""
    dispatch_id: DispatchId = await queue.add()
    grant = await queue.lease(a_holder())
    assert grant is not None
    async with queue.house.control_tx() as tx:
        dispatch = Dispatch.from_row(await tx.one(sa.select(*d.c).where(d.c.id == dispatch_id)))
        return await failed_everywhere(tx, dispatch, failure, eligible=eligible)


async def test_the_third_worker_on_which_it_fails_is_enough(queue: Queue) -> None:
    await run(queue, a_holder(), BAD)
    assert not await ask(queue)
    assert await ask(queue, eligible=2)
    await run(queue, a_holder(), BAD)
    assert await ask(queue)


async def test_a_success_within_the_window_speaks_for_the_workflow(queue: Queue, clock: ManualClock) -> None:
    await run(queue, a_holder(), None)
    assert not await ask(queue, eligible=1)
    clock.advance(WINDOW_S + 1)
    assert await ask(queue, eligible=1)


async def test_failures_of_long_ago_and_of_other_tenants_structures_and_classes_do_not_count(
    queue: Queue, clock: ManualClock
) -> None:
    await run(queue, a_holder(), BAD)
    clock.advance(WINDOW_S + 1)
    await run(queue, a_holder(), BAD, tenant_id=TenantId(new_id()))
    await run(queue, a_holder(), BAD, structure_hash="structure-2")
    await run(queue, a_holder(), FailureClass.OUT_OF_MEMORY)
    assert not await ask(queue, eligible=2)


@pytest.mark.parametrize("failure", [FailureClass.INFRA, FailureClass.SERVER_FAULT, FailureClass.USER_INPUT])
async def test_faults_that_say_nothing_of_the_workflow_never_do(queue: Queue, failure: FailureClass) -> None:
    assert not await ask(queue, failure, eligible=1)


async def test_the_workflow_counts_in_every_lane_it_waits_in(queue: Queue) -> None:
    await run(queue, a_holder(), BAD, priority=5)
    assert await ask(queue, eligible=2)
