"""Events are written once, delivered at least once, and nobody waits for a receiver that hangs."""

import asyncio
import json
import random
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from ipaddress import ip_network
from typing import Any

import pytest
from standardwebhooks import Webhook

from comfyfleet import jobs, webhooks
from comfyfleet.dispatch.model import Provider
from comfyfleet.house import House
from comfyfleet.jobs import NewJob
from comfyfleet.kernel.errors import InvalidInput, NotFound
from comfyfleet.kernel.ids import DeliveryId, EndpointId, WorkflowId, new_id
from comfyfleet.kernel.page import PageRequest
from comfyfleet.kernel.secret import Secret
from comfyfleet.upkeep import forget_old
from comfyfleet.upkeep.deliver_webhooks import EACH_TENANT_MAX, IN_FLIGHT_MAX, Courier
from comfyfleet.upkeep.rules import UpkeepRules
from comfyfleet.webhooks import Delivery, DeliveryStatus, Endpoint, Sent, WebhookType
from comfyfleet.webhooks.addresses import AddressNotPublic
from comfyfleet.webhooks.deliver import LEASE_S
from comfyfleet.webhooks.endpoints import ENDPOINTS_MAX, TooManyEndpoints
from comfyfleet.webhooks.model import ATTEMPTS_MAX
from tests.builders import Member, Tenant, a_job_id, a_member, a_tenant
from tests.conftest import ManualClock
from tests.receiver import Receiver, a_receiver

LOOPBACK = [ip_network("127.0.0.0/8")]
AT = datetime(2026, 11, 16, tzinfo=UTC)


class Post:
    """One tenant's webhooks, and a courier for its pool."""

    def __init__(self, house: House, tenant: Tenant, courier: Courier) -> None:
        self.house, self.tenant, self.courier = house, tenant, courier

    def tx(self):  # type: ignore[no-untyped-def]
        return self.house.pool(self.tenant.pool).tenant_tx(self.tenant.id)

    async def endpoint(self, url: str, *kinds: WebhookType) -> Endpoint:
        async with self.tx() as tx:
            return await webhooks.add_endpoint(tx, url=url, event_types=kinds or None, allowed=LOOPBACK)

    async def happen(self, kind: WebhookType = WebhookType.JOB_COMPLETED, subject=None) -> bool:  # type: ignore[no-untyped-def]
        async with self.tx() as tx:
            return await webhooks.record_event(tx, kind, subject or new_id(), {"job_id": "1"}, at=AT)

    async def round(self) -> int:
        count = await self.courier.tick()
        await self.courier.finish()
        return count

    async def deliveries(self, endpoint: Endpoint) -> list[Delivery]:
        async with self.tx() as tx:
            return (await webhooks.list_deliveries(tx, endpoint.id, PageRequest())).rows

    async def find(self, endpoint: Endpoint) -> Endpoint:
        async with self.tx() as tx:
            return await webhooks.find_endpoint(tx, endpoint.id)


def a_waiting_job(member: Member, **given: Any) -> NewJob:
    graph, ids = (
        {"workflow": {"1": {"class_type": "SaveImage"}}},
        {"id": a_job_id(), "workflow_id": WorkflowId(new_id())},
    )
    return NewJob(
        **ids, user_id=member.user.id, structure_hash="s", provider=Provider.SELF_HOSTED, payload=graph, **given
    )


@pytest.fixture
async def post(house: House) -> AsyncIterator[Post]:
    courier = Courier(house, house.default_pool, chance=random.Random(1), allowed=LOOPBACK)
    yield Post(house, await a_tenant(house), courier)
    await courier.close()


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with a_receiver() as found:
        yield found


async def test_an_event_arrives_signed_and_once(post: Post, receiver: Receiver) -> None:
    endpoint = await post.endpoint(receiver.url)
    assert await post.happen()
    assert await post.round() == 1
    assert await post.round() == 0
    [got] = receiver.received
    body = Webhook(endpoint.secret.reveal()).verify(got.body.decode(), got.headers)
    assert body == {"type": "job.completed", "timestamp": AT.isoformat(), "data": {"job_id": "1"}}
    [delivery] = await post.deliveries(endpoint)
    assert (delivery.status, delivery.attempts, delivery.response_status) == (DeliveryStatus.DELIVERED, 1, 204)


async def test_the_same_event_written_again_is_sent_once(post: Post, receiver: Receiver) -> None:
    """A settlement that is applied again after a crash."""
    await post.endpoint(receiver.url)
    subject = new_id()
    assert [await post.happen(subject=subject) for _ in range(3)] == [True, False, False]
    await post.round()
    assert len(receiver.received) == 1


async def test_only_what_was_asked_for_is_sent(post: Post, receiver: Receiver) -> None:
    failures = await post.endpoint(receiver.url + "/failures", WebhookType.JOB_FAILED)
    await post.endpoint(receiver.url + "/all")
    await post.happen(WebhookType.JOB_COMPLETED)
    await post.happen(WebhookType.JOB_FAILED)
    await post.round()
    await post.round()
    paths = sorted(each.path for each in receiver.received)
    assert paths == ["/hook/all", "/hook/all", "/hook/failures"]
    assert [each.event_type for each in await post.deliveries(failures)] == [WebhookType.JOB_FAILED]


async def test_nobody_asked_and_nothing_is_written(post: Post) -> None:
    assert not await post.happen()


async def test_what_does_not_arrive_is_tried_again_under_the_same_id(
    post: Post, receiver: Receiver, clock: ManualClock
) -> None:
    receiver.statuses = [500, 302]
    endpoint = await post.endpoint(receiver.url)
    await post.happen()
    for _ in range(3):
        await post.round()
        assert await post.round() == 0
        clock.advance(60)
    assert len(receiver.received) == 3
    assert len({got.headers["webhook-id"] for got in receiver.received}) == 1
    [delivery] = await post.deliveries(endpoint)
    assert delivery.status is DeliveryStatus.DELIVERED
    async with post.tx() as tx:
        story = await webhooks.read_delivery(tx, delivery.id)
    assert [(each.number, each.response_status) for each in story.attempts] == [(1, 500), (2, 302), (3, 204)]
    assert json.loads(story.payload)["type"] == "job.completed"


async def test_after_days_it_is_given_up_and_can_be_sent_again_by_hand(
    post: Post, receiver: Receiver, clock: ManualClock
) -> None:
    receiver.statuses = [503] * ATTEMPTS_MAX
    endpoint = await post.endpoint(receiver.url)
    await post.happen()
    rounds = 0
    while await post.round():
        rounds += 1
        clock.advance(2 * 86_400)
    assert rounds == ATTEMPTS_MAX
    [delivery] = await post.deliveries(endpoint)
    assert (delivery.status, delivery.last_error) == (DeliveryStatus.FAILED, "answered 503")
    receiver.statuses = [503]
    async with post.tx() as tx:
        await webhooks.replay_delivery(tx, delivery.id)
    for _ in range(2):
        await post.round()
        clock.advance(60)
    [delivery] = await post.deliveries(endpoint)
    assert (delivery.status, delivery.attempts) == (DeliveryStatus.DELIVERED, ATTEMPTS_MAX + 2)


async def test_410_switches_the_endpoint_off_and_drops_what_waits(post: Post, receiver: Receiver) -> None:
    receiver.statuses = [410]
    endpoint = await post.endpoint(receiver.url)
    await post.happen()
    await post.round()
    await post.happen()
    found = await post.find(endpoint)
    assert (found.is_active, found.disabled_reason) == (False, "The endpoint answered 410 Gone.")
    assert await post.round() == 0
    async with post.tx() as tx:
        await webhooks.change_endpoint(tx, endpoint.id, is_active=True)
    assert (await post.find(endpoint)).disabled_reason is None


async def test_an_address_that_nothing_would_reach_is_neither_added_nor_taken_in_a_change(post: Post) -> None:
    endpoint = await post.endpoint("http://127.0.0.1:9/hook")
    async with post.tx() as tx:
        with pytest.raises(AddressNotPublic):
            await webhooks.add_endpoint(tx, url="http://127.0.0.1:9/hook")
        with pytest.raises(AddressNotPublic):
            await webhooks.change_endpoint(tx, endpoint.id, url="http://10.1.2.3/hook", allowed=LOOPBACK)
        changed = await webhooks.change_endpoint(tx, endpoint.id, url="http://127.0.0.2/hook", allowed=LOOPBACK)
        assert changed.url == "http://127.0.0.2/hook"
        # Where a name leads is seen when it is used.
        assert (await webhooks.change_endpoint(tx, endpoint.id, url="http://localhost/hook")).url.endswith(
            "localhost/hook"
        )


async def test_one_that_hangs_holds_up_nobody_else(post: Post) -> None:
    async with a_receiver(hangs=True) as slow, a_receiver() as quick:
        await post.endpoint(slow.url)
        await post.endpoint(quick.url)
        for _ in range(20):
            await post.happen()
        async with asyncio.timeout(20):
            await post.courier.tick()
            await slow.arrived.wait()
            while len(quick.received) < 20:
                await post.courier.tick()
                quick.arrived.clear()
                await asyncio.sleep(0.01)
        assert len(slow.received) <= 4
        slow.released.set()
        await post.courier.finish()


async def test_a_tenant_whose_receivers_all_hang_holds_up_no_other(post: Post, house: House) -> None:
    """Jobs name URLs of their own, as many as they like."""
    async with a_receiver(hangs=True) as slow, a_receiver() as quick:
        async with post.tx() as tx:
            urls = [f"{slow.url}/{number}" for number in range(IN_FLIGHT_MAX + 50)]
            ids = [await webhooks.endpoint_of_url(tx, url, secret=Secret("whsec_" + "A" * 32)) for url in urls]
            await webhooks.record_event(tx, WebhookType.JOB_QUEUED, new_id(), {}, at=AT, also_to=ids)
        other = Post(house, await a_tenant(house), post.courier)
        await other.endpoint(quick.url)
        for _ in range(20):
            await other.happen()
        async with asyncio.timeout(20):
            while len(quick.received) < 20:
                await post.courier.tick()
                await asyncio.sleep(0.01)
        assert 0 < len(slow.received) < 2 * EACH_TENANT_MAX
        slow.released.set()
        await post.courier.finish()


async def test_a_crash_while_sending_costs_a_second_delivery_and_never_the_delivery(
    post: Post, receiver: Receiver, clock: ManualClock
) -> None:
    endpoint = await post.endpoint(receiver.url)
    await post.happen()
    async with post.house.pool_tx(post.tenant.pool) as tx:
        taken = await webhooks.take_due(tx, rows=10, each=4, each_tenant=4)
    assert await post.round() == 0
    clock.advance(LEASE_S + 1)
    assert await post.round() == 1
    assert (await post.deliveries(endpoint))[0].status is DeliveryStatus.DELIVERED
    # What the first one says late changes nothing.
    async with post.tx() as tx:
        await webhooks.note_sent(tx, taken[0], Sent(500, "late", 1), chance=0.5)
    assert (await post.deliveries(endpoint))[0].status is DeliveryStatus.DELIVERED


async def test_two_replicas_send_it_once(post: Post, receiver: Receiver, house: House) -> None:
    other = Courier(house, house.default_pool, chance=random.Random(2), allowed=LOOPBACK)
    for number in range(6):
        await post.endpoint(f"{receiver.url}/{number}")
    await post.happen()
    await asyncio.gather(*(courier.tick() for courier in (post.courier, other) for _ in range(3)))
    await post.courier.finish()
    await other.finish()
    await other.close()
    assert sorted(got.path for got in receiver.received) == [f"/hook/{number}" for number in range(6)]


async def test_deleted_endpoints_get_nothing_more(post: Post, receiver: Receiver) -> None:
    endpoint = await post.endpoint(receiver.url)
    await post.happen()
    async with post.tx() as tx:
        await webhooks.delete_endpoint(tx, endpoint.id)
    assert await post.round() == 0
    assert receiver.received == []
    with pytest.raises(NotFound):
        await post.find(endpoint)


async def test_a_url_of_a_job_is_one_endpoint_that_is_in_no_list(post: Post, receiver: Receiver) -> None:
    secret = (await post.endpoint(receiver.url + "/listed", WebhookType.JOB_FAILED)).secret
    async with post.tx() as tx:
        ids = {await webhooks.endpoint_of_url(tx, receiver.url, secret=secret) for _ in range(2)}
        assert len(ids) == 1
        await webhooks.record_event(tx, WebhookType.JOB_QUEUED, new_id(), {}, at=AT, also_to=ids)
        listed = (await webhooks.list_endpoints(tx, PageRequest())).rows
    assert [each.url for each in listed] == [receiver.url + "/listed"]
    await post.round()
    assert [got.path for got in receiver.received] == ["/hook"]


async def test_a_url_that_was_gone_is_told_of_the_next_job_that_names_it(post: Post, receiver: Receiver) -> None:
    """It stands in no list, so nobody could switch it on."""
    receiver.statuses = [410]
    secrets = [Secret("whsec_" + letter * 32) for letter in "AB"]
    for secret in secrets:
        async with post.tx() as tx:
            endpoint_id = await webhooks.endpoint_of_url(tx, receiver.url, secret=secret)
            await webhooks.record_event(tx, WebhookType.JOB_QUEUED, new_id(), {}, at=AT, also_to=[endpoint_id])
        await post.round()
    assert len(receiver.received) == 2
    # Signed with the secret that the tenant is shown now.
    Webhook(secrets[1].reveal()).verify(receiver.received[1].body.decode(), receiver.received[1].headers)


async def test_a_url_that_no_job_names_any_more_is_forgotten(post: Post, clock: ManualClock) -> None:
    """A program may name another one with every job."""
    secret, old, told, named = Secret("whsec_" + "A" * 32), *(f"https://example.com/{name}" for name in "abc")
    listed = await post.endpoint("https://example.com/listed")

    async def name(*urls: str) -> list[EndpointId]:
        async with post.tx() as tx:
            return [await webhooks.endpoint_of_url(tx, url, secret=secret) for url in urls]

    ids = await name(old, told, named)
    member = await a_member(post.house, tenant=post.tenant, tokens=1)
    async with post.tx() as tx:
        await jobs.create_job(tx, a_waiting_job(member, webhook_endpoint_id=ids[1]))
    clock.advance(20 * 86_400)
    assert await name(named) == [ids[2]]
    clock.advance(15 * 86_400)
    await forget_old.tick_pool(post.house, post.tenant.pool, rules=UpkeepRules())
    assert (await name(told, named), await post.find(listed)) == (ids[1:], listed)
    assert await name(old) != ids[:1]


async def test_there_is_an_end_to_endpoints(post: Post) -> None:
    for number in range(ENDPOINTS_MAX):
        await post.endpoint(f"https://example.com/{number}")
    with pytest.raises(TooManyEndpoints):
        await post.endpoint("https://example.com/more")


async def test_what_is_long_over_is_forgotten(post: Post, receiver: Receiver, clock: ManualClock) -> None:
    endpoint = await post.endpoint(receiver.url)
    await post.happen()
    await post.round()
    clock.advance(86_400)
    await post.happen()
    async with post.house.pool_tx(post.tenant.pool) as tx:
        assert await webhooks.forget_events(tx, age_s=3600, rows=10) == 1
    assert [each.status for each in await post.deliveries(endpoint)] == [DeliveryStatus.PENDING]


@pytest.mark.parametrize(
    "url", ["ftp://example.com/x", "https://", "https://user:word@example.com/", "https://example.com/#x", "http://a b"]
)
async def test_a_url_that_is_none_is_refused(post: Post, url: str) -> None:
    with pytest.raises(InvalidInput):
        await post.endpoint(url)


async def test_another_tenants_are_not_there(post: Post, house: House) -> None:
    endpoint = await post.endpoint("https://example.com/")
    stranger = Post(house, await a_tenant(house), post.courier)
    with pytest.raises(NotFound):
        await stranger.find(endpoint)
    async with stranger.tx() as tx:
        with pytest.raises(NotFound):
            await webhooks.read_delivery(tx, DeliveryId(new_id()))
        with pytest.raises(NotFound):
            await webhooks.delete_endpoint(tx, EndpointId(endpoint.id))
    assert (await post.find(endpoint)).is_active
