"""No credential reaches further than its own. The matrices are made from the API's own description."""

import asyncio
import itertools

import httpx2
import pytest
from fastapi import FastAPI
from fastapi.routing import iter_route_contexts

from comfyfleet.api import web
from comfyfleet.api.app import OPEN_PATHS
from comfyfleet.api.worker.endpoints import ENDPOINTS, PREFIX
from comfyfleet.house import House
from comfyfleet.kernel.ids import new_id
from comfyfleet.settings import Settings
from tests.api.asking import at, fault, operations
from tests.api.world import World, a_file, ask, build_world, rows, with_two_pools, without
from tests.builders import a_member, an_operator_key
from tests.conftest import Databases

PUBLIC = {
    "GET /healthz",
    "GET /readyz",
    "POST /api/auth/login",
    "POST /api/auth/logout",
    "POST /api/auth/password-reset",
    "POST /api/auth/password",
    "POST /api/auth/enter",
    "GET /api/auth/session",
    "POST /api/payments/credit",  # its signature is the credential: see test_payments.py
}
ANYBODY_KNOWN = {"GET /api/auth/me"}
NOT_TELLING = {"version", "epoch", "asset_name"}  # numbers, and a word that many have
# Not in the description, each with its own tests: signed objects, the web app, what replicas say.
HIDDEN = {"/docs", "/docs/oauth2-redirect", "/objects/{token}", "/", "/assets/{name}", "/api/replicas/live"}
HIDDEN |= {f"/{name}" for name in (*web.PAGES, *web.AREAS)} | {f"/{name}/{{rest:path}}" for name in web.AREAS}
ENDLESS = {"/api/events"}  # a stream of one's own jobs: tests/live/test_user_stream.py


@pytest.fixture
def settings(settings: Settings, databases: Databases) -> Settings:
    return with_two_pools(settings, databases)


@pytest.fixture
async def world(client: httpx2.AsyncClient, house: House) -> World:
    return await build_world(client, house)


def test_the_description_leaves_no_route_out(app: FastAPI) -> None:
    """Else the matrices would not know of it."""
    described = {str(operation) for operation in operations(app)}
    left_out = set()
    for route in iter_route_contexts(app.routes):
        # Without methods: what replicas say to each other over a WebSocket.
        methods = (getattr(route, "methods", None) or {"GET"}) - {"HEAD", "OPTIONS"}
        left_out |= {str(route.path) for method in methods if f"{method} {route.path}" not in described}
    assert left_out == OPEN_PATHS | HIDDEN
    assert {f"POST {PREFIX}{name}" for name in ENDPOINTS} <= described


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
