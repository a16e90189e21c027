"""T13: what is told of a job is written with what became of it, and reaches its receiver whatever dies in between."""

import json
import random
from collections.abc import AsyncIterator
from ipaddress import ip_network

import pytest

from comfyfleet import webhooks
from comfyfleet.db.tables import webhook_deliveries
from comfyfleet.house import House
from comfyfleet.jobs import JobStatus
from comfyfleet.upkeep.deliver_webhooks import Courier
from comfyfleet.webhooks import WebhookType
from comfyfleet.webhooks.deliver import LEASE_S
from tests.conftest import ManualClock
from tests.database.jobs.atelier import Atelier
from tests.faults.crashing import Crash, Fuse, crashing
from tests.receiver import Receiver, a_receiver

LOOPBACK = [ip_network("127.0.0.0/8")]


@pytest.fixture
async def atelier(house: House) -> Atelier:
    return await Atelier.open(house)


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with a_receiver() as found:
        yield found


async def ended(atelier: Atelier) -> str:
    placed = await atelier.order()
    await atelier.relay()
    grant = await atelier.lease()
    await atelier.complete_with(grant, await atelier.upload(grant))
    return str(placed.job.id)


@pytest.mark.parametrize(("at", "told"), [(2, False), (3, True)], ids=["before its commit", "after its commit"])
async def test_t13_a_job_is_settled_and_its_event_written_or_neither(atelier: Atelier, at: int, told: bool) -> None:
    await ended(atelier)
    fuse = Fuse(at)
    with pytest.raises(Crash):
        await atelier.settle_in(crashing(atelier.house, fuse))
    assert fuse.passed[-1].startswith("main")
    [job] = [await atelier.job(row.id) for row in await atelier.dispatches()]
    assert (job.status is JobStatus.COMPLETED) == told
    assert ("job.completed" in await atelier.events_of(job.id)) == told
    assert await atelier.broken() == []


async def send_and_die(atelier: Atelier, *, at: int) -> None:
    courier = Courier(crashing(atelier.house, Fuse(at)), atelier.pool, chance=random.Random(1), allowed=LOOPBACK)
    try:
        await courier.tick()
        await courier.finish()
    except Crash:
        pass
    finally:
        await courier.close()


async def test_t13_a_sender_that_dies_before_it_takes_notes_sends_the_same_again(
    atelier: Atelier, clock: ManualClock, receiver: Receiver
) -> None:
    """It dies when it has taken the delivery, and when it has the receiver's word; each time once more."""
    async with atelier.house.tenant_tx(atelier.member.tenant) as tx:
        await webhooks.add_endpoint(tx, url=receiver.url, event_types=[WebhookType.JOB_COMPLETED], allowed=LOOPBACK)
    await ended(atelier)
    await atelier.settle()
    await atelier.in_pool(
        "DELETE FROM webhook_deliveries WHERE endpoint_id NOT IN (SELECT id FROM webhook_endpoints"
        " WHERE event_types IS NOT NULL)"
    )
    for at in (0, 1, 2, 3):
        await send_and_die(atelier, at=at)
        clock.advance(LEASE_S + 1)
    # Taken and not sent twice; sent twice, of which the second was noted before the end.
    assert len(receiver.received) == 2
    assert len({each.headers["webhook-id"] for each in receiver.received}) == 1
    assert {json.loads(each.body)["data"]["status"] for each in receiver.received} == {"completed"}
    assert [row.status for row in await atelier.rows(webhook_deliveries)] == ["delivered"]
    assert await atelier.broken() == []
