"""Each guard alone. Most races end at the first guard that holds; here every one has to hold by itself."""

from typing import Any

import pytest
import sqlalchemy as sa
from msgspec import structs
from sqlalchemy.exc import IntegrityError

from comfyfleet import dispatch
from comfyfleet.db.dialect import batch
from comfyfleet.dispatch import Ended, FailureClass, Holder, LeaseProof, QueueRules, blocks, sql
from comfyfleet.dispatch.lease import sql as lease_sql
from comfyfleet.house import House
from comfyfleet.kernel.errors import LeaseLost
from comfyfleet.kernel.ids import DispatchId, new_id
from comfyfleet.kernel.secret import Secret
from tests.conftest import ManualClock
from tests.database.dispatch.test_queue import SIGNER, Queue, a_holder


@pytest.fixture
def queue(house: House) -> Queue:
    return Queue(house)


async def _damage(house: House, statement: str, dispatch_id: DispatchId) -> None:
    """What no verb does: a restored snapshot, a hand in the database."""
    async with house.central.engine.connect() as connection:
        if house.central.engine.dialect.name == "sqlite":
            await connection.exec_driver_sql("PRAGMA ignore_check_constraints = ON")
            await connection.commit()
        text = sa.text(statement).bindparams(sa.bindparam("id", dispatch_id, type_=sa.Uuid()))
        await connection.execute(text)
        await connection.commit()
        await connection.invalidate()


async def test_a_token_of_another_epoch_is_refused_even_if_its_hash_fits(queue: Queue, house: House) -> None:
    """After a lossy failover an epoch can come twice."""
    dispatch_id, holder = await queue.add(), a_holder()
    grant = await queue.lease(holder)
    assert grant is not None
    await _damage(house, "UPDATE ai_job_dispatches SET epoch = epoch + 1 WHERE id = :id", dispatch_id)
    assert await queue.beat(grant, holder) is None
    assert isinstance(await queue.complete(grant, holder), LeaseLost)


async def test_only_a_leased_row_can_be_ended_under_a_lease(queue: Queue, house: House) -> None:
    if house.central.engine.dialect.name != "sqlite":
        pytest.skip("PostgreSQL's CHECK cannot be put aside, so the state cannot be made")
    dispatch_id, holder = await queue.add(), a_holder()
    grant = await queue.lease(holder)
    assert grant is not None
    await _damage(house, "UPDATE ai_job_dispatches SET status = 'queued' WHERE id = :id", dispatch_id)
    assert isinstance(await queue.complete(grant, holder), LeaseLost)


async def test_a_row_that_was_cancelled_since_it_was_seen_is_not_claimed(queue: Queue, house: House) -> None:
    dispatch_id, holder = await queue.add(), a_holder()
    await queue.cancel(dispatch_id)
    seen: dict[str, Any] = {
        "id": dispatch_id,
        "epoch": 1,
        "lease_hash": "x",
        "worker_id": holder.worker_id,
        "incarnation": holder.incarnation,
    }
    async with house.control_tx() as tx:
        assert await tx.all(lease_sql.claim(), rows=batch([seen]), grace_s=15.0) == []
    assert (await queue.row(dispatch_id)).status == "cancelled"


async def test_a_second_open_attempt_is_refused_by_the_index(queue: Queue, house: House) -> None:
    dispatch_id, holder = await queue.add(), a_holder()
    assert await queue.lease(holder) is not None
    second = {
        "id": dispatch_id,
        "epoch": 2,
        "nonce": "n",
        "poll_id": None,
        "worker_id": holder.worker_id,
        "incarnation": 1,
    }
    with pytest.raises(IntegrityError):
        async with house.control_tx() as tx:
            await tx.run(lease_sql.insert_attempts(), rows=batch([second]))


async def test_a_second_settlement_is_refused_by_the_index(queue: Queue, house: House) -> None:
    dispatch_id, holder = await queue.add(), a_holder()
    grant = await queue.lease(holder)
    assert grant is not None
    assert isinstance(await queue.complete(grant, holder), Ended)
    again = {"settlement_id": new_id(), "id": dispatch_id, "detail": "{}"}
    with pytest.raises(IntegrityError):
        async with house.control_tx() as tx:
            await tx.run(sql.insert_settlements(), rows=batch([again]))


async def test_of_two_probes_the_second_is_refused(queue: Queue, house: House, clock: ManualClock) -> None:
    _, holder = await queue.add(), a_holder()
    grant = await queue.lease(holder)
    assert grant is not None
    await queue.fail(grant, holder, FailureClass.EXECUTION_ERROR)
    async with house.control_tx() as tx:
        early = await blocks.start_probe(tx, holder.worker_id, "structure-1", grant.dispatch_id, probe_s=60)
    clock.advance(QueueRules().block_cooldown_s + 1)
    async with house.control_tx() as tx:
        first = await blocks.start_probe(tx, holder.worker_id, "structure-1", grant.dispatch_id, probe_s=60)
        second = await blocks.start_probe(tx, holder.worker_id, "structure-1", dispatch_id_of(grant), probe_s=60)
    assert (early, first, second) == (False, True, False)


def dispatch_id_of(grant: dispatch.Grant) -> DispatchId:
    return grant.dispatch_id


async def test_a_heartbeat_with_a_foreign_token_confirms_nobodys_attempt(queue: Queue, house: House) -> None:
    dispatch_id, holder = await queue.add(), a_holder()
    grant = await queue.lease(holder)
    assert grant is not None
    foreign = structs.replace(grant, token=Secret(f"{grant.epoch}.{'x' * 43}"))
    assert await queue.beat(foreign, holder) is None
    async with house.control_tx(read_only=True) as tx:
        [attempt] = (await dispatch.get_dispatch(tx, dispatch_id)).attempts
    assert attempt.confirmed_at is None


async def test_a_row_that_was_leased_and_returned_since_it_was_seen_is_not_claimed(queue: Queue, house: House) -> None:
    """It waits again, and at another epoch: the token made for the one that was seen would fit no attempt."""
    dispatch_id, holder = await queue.add(), a_holder()
    grant = await queue.lease(holder)
    assert grant is not None
    await queue.requeue(grant, holder)
    seen = {
        "id": dispatch_id,
        "epoch": 1,
        "lease_hash": "x",
        "worker_id": holder.worker_id,
        "incarnation": holder.incarnation,
    }
    async with house.control_tx() as tx:
        assert await tx.all(lease_sql.claim(), rows=batch([seen]), grace_s=15.0) == []


async def test_a_restarted_worker_goes_on_with_nothing_that_it_does_not_prove(queue: Queue, house: House) -> None:
    """The name and the number of the lease are no secret; its token is."""
    dispatch_id, before = await queue.add(), a_holder()
    grant = await queue.lease(before)
    assert grant is not None
    forged = LeaseProof(dispatch_id, Secret(f"{grant.epoch}.{'x' * 43}"), before)
    another = LeaseProof(dispatch_id, (await _leased_elsewhere(queue)).token, before)
    after = Holder(before.worker_id, before.incarnation + 1)
    async with house.control_tx() as tx:
        for proof in (forged, another):
            assert await dispatch.rebind_leases(tx, [proof], to=after, signer=SIGNER, rules=QueueRules()) == {}
    assert await queue.beat(grant, before) is not None


async def _leased_elsewhere(queue: Queue) -> dispatch.Grant:
    await queue.add()
    grant = await queue.lease(a_holder())
    assert grant is not None
    return grant
