"""No credential reaches further than its own. The matrices are made from the API's own description."""

import asyncio
import itertools
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
import sqlalchemy as sa
from fastapi import FastAPI

from comfyfleet import fleet
from comfyfleet.db.tables import CENTRAL, TENANT, settlements
from comfyfleet.dispatch.settlements import park
from comfyfleet.fleet import FleetRules, NewWorker
from comfyfleet.house import House
from comfyfleet.kernel.ids import SettlementId, new_id
from comfyfleet.tenants import Role
from tests.api.asking import Operation, at, fault, operations
from tests.builders import Member, a_member, a_user, a_workflow, an_effect, an_operator_key, credit
from tests.database.dispatch.test_queue import Queue
from tests.database.videos.shelf import a_video

FILE = {"name": "canary.png", "mime_type": "image/png", "size": 3}
PUBLIC = {
    "GET /healthz",
    "GET /readyz",
    "POST /api/auth/login",
    "POST /api/auth/logout",
    "POST /api/auth/password-reset",
    "POST /api/auth/password",
    "POST /api/payments/credit",  # its signature is the credential: see test_payments.py
}
ANYBODY_KNOWN = {"GET /api/auth/me"}
NOT_TELLING = {"version", "asset_name"}  # a number, and a word that many have
ENDLESS = {"/api/events"}  # a stream of one's own jobs: tests/live/test_user_stream.py


async def rows(house: House) -> dict[str, list[tuple[Any, ...]]]:
    """Everything there is, but for when a key was last used."""
    found = {}
    for database, metadata in [(house.central, CENTRAL), *((pool, TENANT) for pool in house.pools.values())]:
        async with database.engine.connect() as connection:
            for table in metadata.sorted_tables:
                columns = [column for column in table.c if column.name != "last_used_at"]
                result = await connection.execute(sa.select(*columns).order_by(*table.primary_key))
                found[table.name] = [tuple(row) for row in result]
    return found


@dataclass(frozen=True)
class World:
    """An attacker with all rights in a tenant, and whose ids it has got hold of."""

    attackers: dict[str, dict[str, str]]
    foreign: dict[str, dict[str, object]]


async def a_file(client: httpx2.AsyncClient, owner: Member, *, stored: bool) -> str:
    announced = (await client.post("/api/files", json=FILE, headers=owner.headers)).json()
    if stored:
        put = announced["upload"]["requests"][0]
        assert (await client.put(put["url"], content=b"abc", headers=put["headers"])).status_code == 200
        confirm = f"/api/files/{announced['file']['id']}/confirm"
        assert (await client.post(confirm, json={}, headers=owner.headers)).status_code == 200
    return str(announced["file"]["id"])


async def a_key_id(client: httpx2.AsyncClient, owner: Member) -> str:
    made = await client.post("/api/keys", json={"name": "victim's"}, headers=owner.headers)
    return str(made.json()["key"]["id"])


async def a_job(client: httpx2.AsyncClient, owner: Member) -> str:
    body = {"effect": "canary"}
    made = await client.post("/api/ai-jobs", json=body, headers=owner.headers)
    assert made.status_code == 201, made.text
    return str(made.json()["id"])


async def a_webhook(client: httpx2.AsyncClient, owner: Member) -> tuple[str, str]:
    """An endpoint, and a delivery to it."""
    made = await client.post("/api/webhooks", json={"url": "https://example.com/hook"}, headers=owner.headers)
    endpoint_id = made.json()["endpoint"]["id"]
    assert (await client.post(f"/api/webhooks/{endpoint_id}/test", headers=owner.headers)).status_code == 202
    log = await client.get(f"/api/webhooks/{endpoint_id}/deliveries", headers=owner.headers)
    return str(endpoint_id), str(log.json()["deliveries"][0]["id"])


async def a_parked_settlement(house: House) -> SettlementId:
    async with house.control_tx() as tx:
        (row,) = await tx.all(sa.select(settlements.c.id))
        await park(tx, row.id, error="the pool said no")
    return SettlementId(row.id)


async def the_operators_things(house: House) -> dict[str, dict[str, object]]:
    workflow = await a_workflow(house, "face-swap")
    hidden = await an_effect(house, "not-yet", workflow=workflow.slug, is_published=False)
    async with house.control_tx() as tx:
        made = await fleet.create_fleet(tx, slug="video", stage="production", name="Video")
        await fleet.assign_workflow(tx, made.id, workflow.id)
        await fleet.register_worker(tx, NewWorker("gpu-box-1", "127.0.0.1"), fleet=made, rules=FleetRules())
        secret, _ = await fleet.make_fleet_secret(tx, name="x")
    queue, place = Queue(house), {"workflow_id": workflow.id, "structure_hash": workflow.structure_hash}
    dispatch_id, over = await queue.add(**place), await queue.add(**place)
    await queue.cancel(over)
    settlement_id = await a_parked_settlement(house)
    return {
        "fleet_id": {"a fleet": made.id},
        "worker_id": {"a worker": "gpu-box-1"},
        "slug": {"a workflow": workflow.slug},
        "version": {"a version": workflow.version},
        "effect_slug": {"an effect that is not published": hidden.slug},
        "asset_name": {"an asset": "preview"},
        "structure_hash": {"a structure": workflow.structure_hash},
        "secret_id": {"a fleet secret": secret.id},
        "dispatch_id": {"a dispatch": dispatch_id},
        "settlement_id": {"a parked settlement": settlement_id},
    }


@pytest.fixture
async def world(client: httpx2.AsyncClient, house: House) -> World:
    admin = await a_member(house)
    member = await a_member(house, tenant=admin.tenant, role=Role.MEMBER)
    colleague = await a_member(house, tenant=admin.tenant, role=Role.MEMBER)
    victim = await a_member(house)
    operator = await a_user(house, None, Role.OPERATOR)
    session = {"admin": admin.headers, "member": member.headers}
    endpoint_id, delivery_id = await a_webhook(client, victim)
    await credit(house, victim.tenant, victim.user, 100)
    await credit(house, colleague.tenant, colleague.user, 100)
    await an_effect(house, "canary")
    return World(
        attackers=session,
        foreign={
            "user_id": {"another tenant's user": victim.user.id, "an operator": operator.id},
            "key_id": {
                "another tenant's key": await a_key_id(client, victim),
                "a colleague's key": await a_key_id(client, colleague),
            },
            "file_id": {
                "another tenant's file": await a_file(client, victim, stored=True),
                "another tenant's upload": await a_file(client, victim, stored=False),
                "a colleague's file": await a_file(client, colleague, stored=True),
                "a colleague's upload": await a_file(client, colleague, stored=False),
            },
            "endpoint_id": {"another tenant's webhook": endpoint_id},
            "delivery_id": {"another tenant's delivery": delivery_id},
            "video_id": {
                "another tenant's video": (await a_video(house, victim)).id,
                "a colleague's video": (await a_video(house, colleague)).id,
            },
            "job_id": {
                "another tenant's job": await a_job(client, victim),
                "a colleague's job": await a_job(client, colleague),
            },
            "tenant_id": {"another tenant": victim.tenant.id, "the attacker's own": admin.tenant.id},
            **await the_operators_things(house),
        },
    )


async def ask(client: httpx2.AsyncClient, operation: Operation, url: str, headers: dict[str, str]) -> httpx2.Response:
    body = {"parts": []} if operation.path.endswith("/confirm") else operation.example()
    return await client.request(operation.method, url, json=body, headers=headers)


def without(text: str, ids: dict[str, str]) -> str:
    for each in ids.values():
        text = text.replace(each, "ID")
    return text


async def test_a_foreign_id_is_answered_like_an_unknown_one(
    client: httpx2.AsyncClient, app: FastAPI, house: House, world: World
) -> None:
    before, asked = await rows(house), 0
    with_ids = [operation for operation in operations(app) if operation.ids]
    assert len(with_ids) >= 10
    for operation in with_ids:
        for known in itertools.product(*(world.foreign[name].items() for name in operation.ids)):
            foreign_ids = dict(zip(operation.ids, (str(each) for _, each in known), strict=True))
            unknown_ids = {name: str(new_id()) for name in operation.ids}
            for who, headers in world.attackers.items():
                foreign = await ask(client, operation, operation.url(**foreign_ids), headers)
                unknown = await ask(client, operation, operation.url(**unknown_ids), headers)
                case = f"{who} asks {operation} with {' and '.join(whose for whose, _ in known)}"
                assert foreign.status_code in (403, 404), case
                assert foreign.status_code == unknown.status_code, case
                fault(foreign)
                assert without(foreign.text, foreign_ids) == without(unknown.text, unknown_ids), case
                asked += 1
    assert asked >= 50
    assert await rows(house) == before


async def test_lists_hold_ones_own_only(client: httpx2.AsyncClient, app: FastAPI, world: World) -> None:
    named = [ids for name, ids in world.foreign.items() if name not in NOT_TELLING]
    foreign = [str(each) for ids in named for each in ids.values()]
    lists = [
        each
        for each in operations(app)
        if each.method == "GET" and not each.ids and not each.for_operators and each.path not in ENDLESS
    ]
    assert len(lists) >= 6
    for operation in lists:
        answer = await client.get(operation.path, headers=world.attackers["member"])
        own = str(world.foreign["tenant_id"]["the attacker's own"])
        assert not [each for each in foreign if each in answer.text and each != own], operation


async def test_an_operators_credit_to_a_user_of_another_tenant_is_not_found(
    client: httpx2.AsyncClient, house: House
) -> None:
    one, other, operator = await a_member(house), await a_member(house), await an_operator_key(house)
    before = await rows(house)
    for user_id in (other.user.id, new_id()):
        body = {"user_id": str(user_id), "amount": 5, "provider_transaction_id": "gift"}
        answer = await client.post(f"/api/admin/tenants/{one.tenant.id}/credits", json=body, headers=operator)
        assert answer.status_code == 404
        assert fault(answer)["details"] == {"noun": "user", "name": str(user_id)}
    assert await rows(house) == before


async def test_the_same_payment_id_in_two_tenants_is_two_payments(client: httpx2.AsyncClient, house: House) -> None:
    operator = await an_operator_key(house)
    for _ in range(2):
        member = await a_member(house)
        body = {"user_id": str(member.user.id), "amount": 5, "provider_transaction_id": "pay-1"}
        url = f"/api/admin/tenants/{member.tenant.id}/credits"
        assert (await client.post(url, json=body, headers=operator)).status_code == 201


async def test_a_tenant_named_in_a_header_or_query_changes_nothing(client: httpx2.AsyncClient, house: House) -> None:
    """The tenant comes from the credential, never from the request."""
    member, victim = await a_member(house, tokens=1), await a_member(house, tokens=999)
    names = {"X-Tenant-Id": str(victim.tenant.id), "X-Tenant": victim.tenant.slug, "X-User-Id": str(victim.user.id)}
    params = {"tenant_id": str(victim.tenant.id), "user_id": str(victim.user.id)}
    answer = await client.get("/api/wallet", params=params, headers=member.headers | names)
    assert answer.json() == {"user_id": str(member.user.id), "balance": 1}


async def test_every_operation_refuses_the_wrong_kind_of_credential(
    client: httpx2.AsyncClient, app: FastAPI, house: House
) -> None:
    tenant, operator = (await a_member(house)).headers, await an_operator_key(house)
    garbage = {"Authorization": "Bearer cf_0123456789abcdef_garbage"}
    cookie = {"Cookie": "__Host-comfyfleet_session=garbage; comfyfleet_session=garbage", "Sec-Fetch-Site": "none"}
    before, found_public = await rows(house), set()
    for operation in operations(app):
        if str(operation) in PUBLIC:
            found_public.add(str(operation))
            assert not operation.guarded, operation
            continue
        assert operation.guarded, f"{operation} shows no security in the API reference"
        refusals = {401: [{}, garbage, cookie], 403: []}
        if operation.for_workers:
            refusals[401] += [tenant, operator]
        elif str(operation) not in ANYBODY_KNOWN:
            refusals[403] = [tenant if operation.for_operators else operator]
        for status, credentials in refusals.items():
            for headers in credentials:
                answer = await ask(client, operation, operation.url(), headers)
                assert answer.status_code == status, f"{operation} with {headers}: {answer.text}"
                assert fault(answer)["code"] == {401: "unauthenticated", 403: "forbidden"}[status]
    assert found_public == PUBLIC
    assert await rows(house) == before


async def test_a_credential_is_asked_for_before_the_body_is_judged(client: httpx2.AsyncClient, app: FastAPI) -> None:
    """Strangers do not get to learn the schema by trying, nor which ids are well formed."""
    for operation in operations(app):
        if operation.guarded:
            url = operation.path.format(**dict.fromkeys(operation.ids, "no-uuid"))
            answer = await client.request(operation.method, url, json={"no": "such field"} if operation.body else None)
            assert answer.status_code == 401, operation


TENANTS = 5
REQUESTS = 200


async def test_interleaved_requests_of_many_tenants_do_not_bleed(app: FastAPI, house: House) -> None:
    """Each tenant's requests, one of four failing on purpose, all at once: every answer speaks of its asker only."""
    async with at(app) as client:
        members = [await a_member(house, tokens=1000 + number) for number in range(TENANTS)]
        files = [await a_file(client, member, stored=False) for member in members]

        async def one(number: int) -> None:
            mine = number % TENANTS
            theirs = (mine + 1 + number // TENANTS % (TENANTS - 1)) % TENANTS
            member, headers = members[mine], members[mine].headers | {"X-Request-Id": f"request-{number}"}
            match number // TENANTS % 4:
                case 0:
                    answer = await client.get("/api/wallet", headers=headers)
                    assert answer.json() == {"user_id": str(member.user.id), "balance": 1000 + mine}
                case 1:
                    answer = await client.get("/api/auth/me", headers=headers)
                    assert (answer.json()["email"], answer.json()["tenant_slug"]) == (
                        member.user.email,
                        member.tenant.slug,
                    )
                case 2:
                    answer = await client.get("/api/files", headers=headers)
                    assert [file["id"] for file in answer.json()["files"]] == [files[mine]]
                case _:
                    answer = await client.get(f"/api/files/{files[theirs]}", headers=headers)
                    assert answer.status_code == 404
            assert answer.headers["x-request-id"] == f"request-{number}"

        await asyncio.gather(*(one(number) for number in range(REQUESTS)))
