"""What surrounds every route: policies, ids, headers, limits, crashes, databases that are down, other origins."""

import base64
import hashlib
import re
import socket
import time
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import httpx2
import pytest
from fastapi import APIRouter, Depends, FastAPI, WebSocket
from fastapi.routing import iter_route_contexts
from starlette.responses import PlainTextResponse
from starlette.routing import Host, Route
from structlog.testing import capture_logs

from comfyfleet.api.app import OPEN_PATHS, build_app
from comfyfleet.api.options import ApiOptions
from comfyfleet.api.policy import Public, TenantCaller, UnguardedRoute, require_policies
from comfyfleet.db import Database, open_database
from comfyfleet.house import House
from comfyfleet.kernel.ids import new_id
from comfyfleet.tenants import Scope
from tests.api.asking import at, fault
from tests.builders import Member, a_key, a_member, a_tenant, an_operator_key


async def nothing() -> str:
    return "anybody could read this"


async def talk(websocket: WebSocket) -> None:
    await websocket.accept()


async def plain(_request: object) -> PlainTextResponse:
    return PlainTextResponse("anybody could read this")


def a_router() -> APIRouter:
    router = APIRouter(prefix="/inner")
    router.add_api_route("/planted", nothing)
    return router


def a_nested_router() -> APIRouter:
    outer = APIRouter(prefix="/outer", dependencies=[])
    outer.include_router(a_router())
    return outer


def a_router_with_a_mount() -> APIRouter:
    router = APIRouter()
    router.mount("/planted", FastAPI())
    return router


PLANTS = {
    "a route": lambda app: app.add_api_route("/planted", nothing),
    "a hidden route": lambda app: app.add_api_route("/planted", nothing, include_in_schema=False),
    "a route that only HEAD reaches": lambda app: app.add_api_route("/planted", nothing, methods=["HEAD"]),
    "a router": lambda app: app.include_router(a_router()),
    "a nested router": lambda app: app.include_router(a_nested_router()),
    "a mounted application": lambda app: app.mount("/planted", FastAPI()),
    "a mount in a router": lambda app: app.include_router(a_router_with_a_mount()),
    "a plain Starlette route": lambda app: app.router.routes.append(Route("/planted", plain)),
    "another host": lambda app: app.router.routes.append(Host("planted.example", FastAPI())),
    "a websocket": lambda app: app.add_api_websocket_route("/planted", talk),
    "a route beside an open one": lambda app: app.add_api_route("/docs/planted", nothing),
}


@pytest.mark.parametrize("plant", PLANTS.values(), ids=PLANTS.keys())
def test_a_route_without_a_policy_does_not_start(plant: object) -> None:
    app = FastAPI(openapi_url=None)
    require_policies(iter_route_contexts(app.routes), open_paths=OPEN_PATHS)
    plant(app)  # type: ignore[operator]
    with pytest.raises(UnguardedRoute, match=r"planted|no policy"):
        require_policies(iter_route_contexts(app.routes), open_paths=OPEN_PATHS)


def test_a_route_with_a_policy_starts_wherever_the_policy_stands() -> None:
    app = FastAPI(openapi_url=None)
    app.add_api_route("/on-the-route", nothing, dependencies=[Depends(Public())])
    app.include_router(a_router(), dependencies=[Depends(TenantCaller(Scope.READ))])
    app.include_router(a_nested_router(), dependencies=[Depends(Public())])
    require_policies(iter_route_contexts(app.routes), open_paths=frozenset())


def test_the_whole_application_passes_and_a_planted_route_fails_it(house: House) -> None:
    app = build_app(house, ApiOptions())
    require_policies(iter_route_contexts(app.routes), open_paths=OPEN_PATHS)
    app.add_api_route("/planted", nothing)
    with pytest.raises(UnguardedRoute, match="/planted"):
        require_policies(iter_route_contexts(app.routes), open_paths=OPEN_PATHS)


async def test_a_request_id_is_echoed(client: httpx2.AsyncClient) -> None:
    answer = await client.get("/healthz", headers={"X-Request-Id": "trace-7.A_b"})
    assert answer.headers["x-request-id"] == "trace-7.A_b"


@pytest.mark.parametrize("given", [None, b"", b"a b", b"x" * 65, b"a\tb", b"\xff", b"<script>", b"a;b", "٣".encode()])
async def test_a_request_id_is_made_where_none_or_an_odd_one_came(
    client: httpx2.AsyncClient, given: bytes | None
) -> None:
    headers = {} if given is None else {b"X-Request-Id": given}
    answers = [await client.get("/healthz", headers=headers) for _ in range(2)]
    ids = [answer.headers["x-request-id"] for answer in answers]
    assert len({len(each) for each in ids}) == 1
    assert len(ids[0]) == len(str(new_id()))
    assert ids[0] != ids[1]


@pytest.mark.parametrize("path", ["/healthz", "/nothing", "/api/wallet", "/", "/docs", "/openapi.json", "/objects/x"])
async def test_every_answer_has_safe_headers(client: httpx2.AsyncClient, path: str) -> None:
    headers = (await client.get(path)).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-request-id"]
    assert headers["cache-control"] in ("no-store", "no-cache")
    assert "server" not in headers


@pytest.fixture
def crashing(app: FastAPI) -> FastAPI:
    """Planted after the check for policies, as no real route could be."""

    async def crash() -> None:
        raise ZeroDivisionError("a secret detail")

    app.add_api_route("/crash", crash)
    return app


async def test_a_crash_tells_its_request_id_and_nothing_else(crashing: FastAPI) -> None:
    async with at(crashing) as client:
        with capture_logs() as logged:
            answer = await client.get("/crash", headers={"X-Request-Id": "trace-1"})
        assert (await client.get("/healthz")).status_code == 200
    assert answer.status_code == 500
    error = fault(answer)
    assert (error["code"], error["details"]) == ("internal", {"request_id": "trace-1"})
    assert answer.headers["x-request-id"] == "trace-1"
    assert answer.headers["x-content-type-options"] == "nosniff"
    for leak in ("secret", "Traceback", "ZeroDivision", ".py"):
        assert leak not in answer.text
    assert [event["event"] for event in logged] == ["request.crashed", "request"]
    assert logged[0]["exc_info"]
    assert logged[1]["status"] == 500


async def test_a_log_names_the_route_and_not_the_path(client: httpx2.AsyncClient) -> None:
    """A path may hold a signed token."""
    with capture_logs() as logged:
        await client.get("/objects/canary-token")
        await client.get("/canary/path")
        await client.get(f"/api/files/{new_id()}")
    assert [event["route"] for event in logged] == ["/objects/{token}", "unmatched", "/api/files/{file_id}"]
    assert [event["status"] for event in logged] == [403, 404, 401]
    assert "canary" not in str(logged)


async def asked(client: httpx2.AsyncClient, headers: dict[str, str], times: int) -> list[int]:
    return [(await client.get("/api/wallet", headers=headers)).status_code for _ in range(times)]


async def test_a_key_that_asks_too_often_has_to_wait_and_others_do_not(house: House) -> None:
    member = await a_member(house)
    second = {"Authorization": f"Bearer {(await a_key(house, member.user)).reveal()}"}
    async with at(build_app(house, ApiOptions(requests_per_minute_per_key=3))) as client:
        assert await asked(client, member.headers, 4) == [200, 200, 200, 429]
        refused = await client.get("/api/wallet", headers=member.headers)
        assert fault(refused)["code"] == "rate_limited"
        assert 1 <= int(refused.headers["retry-after"]) <= 60
        assert await asked(client, second, 1) == [200]


async def test_a_tenant_that_asks_too_often_has_to_wait_and_others_do_not(house: House) -> None:
    member, other = await a_member(house), await a_member(house)
    colleague = await a_member(house, tenant=member.tenant)
    async with at(build_app(house, ApiOptions(requests_per_minute_per_tenant=4))) as client:
        assert await asked(client, member.headers, 3) == [200, 200, 200]
        assert await asked(client, colleague.headers, 2) == [200, 429]
        refused = await client.get("/api/wallet", headers=member.headers)
        assert 1 <= int(refused.headers["retry-after"]) <= 60
        assert await asked(client, other.headers, 1) == [200]


async def test_small_pictures_are_counted_apart(house: House) -> None:
    member, nothing = await a_member(house), f"/api/files/{uuid4()}/thumb"
    async with at(build_app(house, ApiOptions(requests_per_minute_per_key=2, thumbs_per_minute_per_key=4))) as client:
        looked = [await client.get(nothing, headers=member.headers) for _ in range(5)]
        assert [answer.status_code for answer in looked] == [404, 404, 404, 404, 429]
        assert 1 <= int(looked[-1].headers["retry-after"]) <= 60
        assert await asked(client, member.headers, 3) == [200, 200, 429]
        assert (await client.get(nothing)).status_code == 401
        # Of one tenant five may do so at once, however many keys it makes.
        others = [await a_member(house, tenant=member.tenant) for _ in range(5)]
        told = [(await client.get(nothing, headers=each.headers)).status_code for each in others for _ in range(4)]
    assert told == [404] * 16 + [429] * 4  # the first four were looked at above


async def test_an_operator_is_limited_per_key_too(house: House) -> None:
    operator = await an_operator_key(house)
    async with at(build_app(house, ApiOptions(requests_per_minute_per_key=2))) as client:
        answers = [await client.get("/api/admin/tenants", headers=operator) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]


async def test_wrong_keys_do_not_use_up_a_tenants_share(house: House) -> None:
    member = await a_member(house)
    wrong = {"Authorization": f"Bearer {member.key.reveal()[:-1]}"}
    async with at(build_app(house, ApiOptions(requests_per_minute_per_key=2))) as client:
        assert await asked(client, wrong, 4) == [401] * 4
        assert await asked(client, member.headers, 2) == [200, 200]


DEAD = {
    "PostgreSQL that is not there": "postgresql://nobody:hunter2@127.0.0.1:1/nothing",
    "SQLite in a folder that is not there": "sqlite:////nowhere/at/all.sqlite",
}


@pytest.fixture(params=DEAD.values(), ids=DEAD.keys())
def dead(request: pytest.FixtureRequest) -> Database:
    return open_database("dead", request.param)


async def in_a_dead_pool(house: House, dead: Database) -> tuple[House, Member]:
    broken = replace(house, pools={**house.pools, "dead": dead})
    return broken, await a_member(broken, tenant=await a_tenant(broken, pool="dead"))


async def test_a_pool_that_is_down_stops_its_own_tenants_only(house: House, dead: Database) -> None:
    lucky = await a_member(house, tokens=5)
    broken, unlucky = await in_a_dead_pool(house, dead)
    async with at(build_app(broken, ApiOptions())) as client:
        answer = await client.get("/api/wallet", headers=unlucky.headers)
        assert (answer.status_code, fault(answer)["code"]) == (503, "database_unavailable")
        assert int(answer.headers["retry-after"]) >= 1
        assert "hunter2" not in answer.text
        assert "nowhere" not in answer.text
        assert (await client.get("/api/wallet", headers=lucky.headers)).json()["balance"] == 5
        # What is central goes on for everybody.
        assert (await client.get("/api/auth/me", headers=unlucky.headers)).status_code == 200
        ready = await client.get("/readyz")
    assert (ready.status_code, ready.json()["status"]) == (200, "degraded")
    assert ready.json()["parts"] == {
        "central": "ok",
        "pool:dead": "database_unavailable",
        "pool:main": "ok",
        "storage": "ok",
    }


async def test_a_pool_that_no_setting_names_any_more_is_unavailable(house: House, dead: Database) -> None:
    _, unlucky = await in_a_dead_pool(house, dead)
    async with at(build_app(house, ApiOptions())) as client:
        answer = await client.get("/api/wallet", headers=unlucky.headers)
    assert (answer.status_code, fault(answer)["code"]) == (503, "database_unavailable")


async def test_without_the_central_database_nothing_is_ready_but_the_process_lives(
    house: House, dead: Database
) -> None:
    member = await a_member(house)
    async with at(build_app(replace(house, central=dead), ApiOptions())) as client:
        ready = await client.get("/readyz")
        assert (ready.status_code, ready.json()["status"]) == (503, "unready")
        assert ready.json()["parts"]["central"] == "database_unavailable"
        assert (await client.get("/healthz")).status_code == 200
        login = await client.post("/api/auth/login", json={"email": "x@example.com", "password": "x"})
        for answer in (login, await client.get("/api/wallet", headers=member.headers)):
            assert (answer.status_code, fault(answer)["code"]) == (503, "database_unavailable")


async def test_without_the_object_store_nothing_is_ready(house: House, tmp_path: Path, app: FastAPI) -> None:
    async with at(app) as client:
        assert (await client.get("/readyz")).json()["status"] == "ready"
    # A new application: an answer holds for a moment, so that anybody may ask.
    async with at(build_app(house, ApiOptions())) as client:
        objects = tmp_path / "home" / "objects"
        objects.rename(tmp_path / "home" / "moved")
        objects.write_text("a file where the folder was")
        ready = await client.get("/readyz")
    assert (ready.status_code, ready.json()["status"]) == (503, "unready")
    assert ready.json()["parts"]["storage"] == "storage_unavailable"


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
async def test_a_database_that_hangs_does_not_hang_the_readiness(house: House) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes the connection and never says a word
        port = silent.getsockname()[1]
        hanging = open_database("silent", f"postgresql://nobody@127.0.0.1:{port}/nothing")
        broken = replace(house, pools={**house.pools, "silent": hanging})
        started = time.monotonic()
        async with at(build_app(broken, ApiOptions())) as client:
            ready = await client.get("/readyz")
        assert time.monotonic() - started < 9
        assert (ready.status_code, ready.json()["parts"]["pool:silent"]) == (200, "unavailable")


STUDIO = "https://studio.example"


def preflight(method: str, *headers: str, origin: str = STUDIO) -> dict[str, str]:
    asked_for = {"Access-Control-Request-Headers": ",".join(headers)} if headers else {}
    return {"Origin": origin, "Access-Control-Request-Method": method, **asked_for}


@pytest.fixture
def shared(house: House) -> FastAPI:
    return build_app(house, ApiOptions(cors_origins=[STUDIO]))


async def test_a_configured_origin_may_call(shared: FastAPI, house: House) -> None:
    member = await a_member(house)
    async with at(shared) as client:
        allowed = await client.options("/api/files", headers=preflight("POST", "authorization", "content-type"))
        answer = await client.get("/api/wallet", headers={**member.headers, "Origin": STUDIO})
        failed = await client.get("/api/wallet", headers={"Origin": STUDIO})
    assert allowed.status_code == 200
    assert [each.headers["access-control-allow-origin"] for each in (allowed, answer, failed)] == [STUDIO] * 3
    # Cookies stay home: another origin uses a key.
    assert "access-control-allow-credentials" not in allowed.headers | answer.headers


async def test_a_page_of_a_configured_origin_may_upload_as_the_signed_request_says(
    shared: FastAPI, house: House
) -> None:
    member = await a_member(house)
    body = {"name": "a.png", "mime_type": "image/png", "size": 3}
    async with at(shared) as client:
        announced = (await client.post("/api/files", json=body, headers=member.headers)).json()
        put = announced["upload"]["requests"][0]
        names = [name.lower() for name in put["headers"] if name != "Content-Length"]  # browsers set that themselves
        allowed = await client.options(put["url"], headers=preflight("PUT", *sorted(names)))
        assert allowed.status_code == 200, allowed.text
        stored = await client.put(put["url"], content=b"abc", headers={**put["headers"], "Origin": STUDIO})
        assert stored.headers["access-control-allow-origin"] == STUDIO
        # An upload in parts names the ETag of each: the page has to be able to read it.
        assert "etag" in stored.headers["access-control-expose-headers"].lower()


async def test_other_origins_may_not_call(shared: FastAPI, client: httpx2.AsyncClient) -> None:
    async with at(shared) as strict:
        for origin in ("https://evil.example", "http://studio.example", f"{STUDIO}.evil.example", "null"):
            for asker in (strict, client):  # some origins configured, and none
                refused = await asker.options("/api/files", headers=preflight("POST", origin=origin))
                assert refused.status_code in (400, 405)
                assert "access-control-allow-origin" not in refused.headers
                answer = await asker.get("/healthz", headers={"Origin": origin})
                assert "access-control-allow-origin" not in answer.headers


async def test_the_api_reference_runs_its_own_scripts_only_and_in_no_frame(client: httpx2.AsyncClient) -> None:
    for path in ("/docs", "/docs/oauth2-redirect"):
        answer = await client.get(path)
        rules = answer.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in rules
        assert "'unsafe-inline'" not in rules.partition("script-src")[2].partition(";")[0]
        scripts = re.findall(r"<script>(.*?)</script>", answer.text, re.DOTALL)
        assert scripts
        for script in scripts:
            digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
            assert f"'sha256-{digest}'" in rules


async def test_browsers_are_told_to_come_by_https_in_production(house: House) -> None:
    app = build_app(house, ApiOptions(hsts=True))
    async with at(app, "https://fleet.example.com") as safe, at(app, "http://fleet.example.com") as plain:
        for path in ("/healthz", "/", "/api/wallet"):
            assert (await safe.get(path)).headers["strict-transport-security"] == "max-age=31536000"
            assert "strict-transport-security" not in (await plain.get(path)).headers


async def test_the_api_reference_names_no_other_host(client: httpx2.AsyncClient) -> None:
    page = (await client.get("/docs")).text
    assert "http://" not in page
    assert "https://" not in page
    assert 'src="//' not in page
