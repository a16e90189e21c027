"""A tenant's webhooks over HTTP: made, tested, looked at, sent again."""

import random
from collections.abc import AsyncIterator
from ipaddress import ip_network

import httpx2
import pytest
from standardwebhooks import Webhook

from comfyfleet.house import House
from comfyfleet.kernel.ids import new_id
from comfyfleet.tenants import Role
from comfyfleet.upkeep.deliver_webhooks import Courier
from tests.api import ordering
from tests.builders import Member, a_member
from tests.receiver import Receiver, a_receiver


@pytest.fixture
async def courier(house: House) -> AsyncIterator[Courier]:
    found = Courier(house, house.default_pool, chance=random.Random(1), allowed=[ip_network("127.0.0.0/8")])
    yield found
    await found.close()


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with a_receiver() as found:
        yield found


@pytest.fixture
async def member(house: House) -> Member:
    return await a_member(house)


async def test_from_an_endpoint_to_a_delivery_and_again(
    client: httpx2.AsyncClient, member: Member, courier: Courier, receiver: Receiver
) -> None:
    client.headers.update(member.headers)
    made = (await client.post("/api/webhooks", json={"url": receiver.url, "event_types": ["job.failed"]})).json()
    address = f"/api/webhooks/{made['endpoint']['id']}"
    assert (await client.post(f"{address}/test")).status_code == 202
    await courier.tick()
    await courier.finish()
    [got] = receiver.received
    assert Webhook(made["secret"]).verify(got.body.decode(), got.headers)["type"] == "webhook.test"
    [listed] = (await client.get(f"{address}/deliveries")).json()["deliveries"]
    assert (listed["status"], listed["event_type"]) == ("delivered", "webhook.test")
    again = await client.post(f"/api/webhook-deliveries/{listed['id']}/replay")
    assert (again.status_code, again.json()["delivery"]["status"]) == (202, "pending")
    await courier.tick()
    await courier.finish()
    story = (await client.get(f"/api/webhook-deliveries/{listed['id']}")).json()
    assert [each["response_status"] for each in story["attempts"]] == [204, 204]
    assert len({each.headers["webhook-id"] for each in receiver.received}) == 1


async def test_changed_rotated_deleted(client: httpx2.AsyncClient, member: Member) -> None:
    client.headers.update(member.headers)
    made = (await client.post("/api/webhooks", json={"url": "https://example.com/a"})).json()
    address = f"/api/webhooks/{made['endpoint']['id']}"
    changed = (await client.patch(address, json={"event_types": ["job.failed"], "is_active": False})).json()
    assert (changed["url"], changed["event_types"], changed["is_active"]) == (
        "https://example.com/a",
        ["job.failed"],
        False,
    )
    assert (await client.patch(address, json={"event_types": None})).json()["event_types"] is None
    rotated = (await client.post(f"{address}/rotate")).json()["secret"]
    assert rotated != made["secret"]
    assert (await client.get(f"{address}/secret")).json()["secret"] == rotated
    assert [each["id"] for each in (await client.get("/api/webhooks")).json()["endpoints"]] == [made["endpoint"]["id"]]
    assert [(await client.delete(address)).status_code for _ in range(2)] == [204, 404]
    assert (await client.get(address)).status_code == 404


async def test_an_address_that_is_not_public_is_refused_with_what_to_do(
    client: httpx2.AsyncClient, member: Member, receiver: Receiver
) -> None:
    client.headers.update(member.headers)
    refused = await client.post("/api/webhooks", json={"url": "http://10.1.2.3:9/hook"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "address_not_public")
    assert "10.1.2.3" in refused.json()["error"]["message"]
    assert "COMFYFLEET_WEBHOOK_NETWORKS" in refused.json()["error"]["message"]
    assert (await client.get("/api/webhooks")).json()["endpoints"] == []
    made = (await client.post("/api/webhooks", json={"url": receiver.url})).json()["endpoint"]
    changed = await client.patch(f"/api/webhooks/{made['id']}", json={"url": "http://10.1.2.3:9/hook"})
    assert (changed.status_code, changed.json()["error"]["code"]) == (422, "address_not_public")


async def test_the_tenants_endpoints_are_its_admins(client: httpx2.AsyncClient, house: House, member: Member) -> None:
    """Neither a member nor an admin's key without the scope `manage` sees where the tenant's events go."""
    made = (await client.post("/api/webhooks", json={"url": "https://example.com/a"}, headers=member.headers)).json()
    address = f"/api/webhooks/{made['endpoint']['id']}"
    await client.post(f"{address}/test", headers=member.headers)
    log = await client.get(f"{address}/deliveries", headers=member.headers)
    story = f"/api/webhook-deliveries/{log.json()['deliveries'][0]['id']}"
    scopes = {"name": "narrow", "scopes": ["read", "write"]}
    narrow = (await client.post("/api/keys", json=scopes, headers=member.headers)).json()["secret"]
    plain = await a_member(house, tenant=member.tenant, role=Role.MEMBER)
    for headers in (plain.headers, {"Authorization": f"Bearer {narrow}"}):
        client.headers.update(headers)
        for path in ("/api/webhooks", address, f"{address}/secret", f"{address}/deliveries"):
            assert (await client.get(path)).status_code == 403, path
        assert (await client.post("/api/webhooks", json={"url": "https://example.com/b"})).status_code == 403
        assert (await client.get(story)).status_code == 404


async def test_a_member_sees_the_deliveries_of_their_own_jobs(client: httpx2.AsyncClient, house: House) -> None:
    await ordering.an_effect(house, "plain", takes_input=False)
    admin = await a_member(house)
    ours, other = [await a_member(house, tenant=admin.tenant, role=Role.MEMBER, tokens=50) for _ in range(2)]
    await client.post("/api/webhooks", json={"url": "https://example.com/all"}, headers=admin.headers)
    body = {"effect": "plain", "properties": {"prompt": "x"}, "webhook_url": "https://example.com/mine"}
    mine, theirs = [
        (await client.post("/api/ai-jobs", json=body, headers=each.headers)).json()["id"] for each in (ours, other)
    ]
    [listed] = (await client.get(f"/api/ai-jobs/{mine}/deliveries", headers=ours.headers)).json()["deliveries"]
    assert listed["event_type"] == "job.queued"
    story = await client.get(f"/api/webhook-deliveries/{listed['id']}", headers=ours.headers)
    assert story.json()["payload"]["data"]["id"] == mine
    assert (await client.get(f"/api/ai-jobs/{theirs}/deliveries", headers=ours.headers)).status_code == 404
    assert (await client.get(f"/api/webhook-deliveries/{listed['id']}", headers=other.headers)).status_code == 404
    assert (await client.get(f"/api/webhook-deliveries/{listed['id']}", headers=admin.headers)).status_code == 200
    replay = f"/api/webhook-deliveries/{listed['id']}/replay"
    assert (await client.post(replay, headers=ours.headers)).status_code == 403


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ({"url": "ftp://example.com/x"}, "url"),
        ({"url": "https://example.com/x", "event_types": ["job.exploded"]}, "event_types"),
        ({}, "url"),
    ],
)
async def test_bad_endpoints_are_named(
    client: httpx2.AsyncClient, member: Member, body: dict[str, object], names: str
) -> None:
    answer = await client.post("/api/webhooks", json=body, headers=member.headers)
    assert answer.status_code == 422
    assert names in answer.text


async def test_what_is_not_there_is_not_there(client: httpx2.AsyncClient, member: Member) -> None:
    client.headers.update(member.headers)
    for method, path in [
        ("GET", "webhooks/{}"),
        ("POST", "webhooks/{}/test"),
        ("POST", "webhook-deliveries/{}/replay"),
    ]:
        assert (await client.request(method, "/api/" + path.format(new_id()))).status_code == 404
