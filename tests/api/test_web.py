"""The web app as a browser gets it: one page at every address of the app, assets that never change, and passes."""

from pathlib import Path

import httpx2
import pytest
from fastapi import FastAPI

from comfyfleet.api import web
from comfyfleet.api.cookies import SECURE_COOKIE
from comfyfleet.api.passes import LIVES_S, PASSES_MAX, Passes
from comfyfleet.house import House
from comfyfleet.kernel.secret import Secret
from comfyfleet.tenants.credentials import hash_password, replace_password
from tests.api.asking import at, fault
from tests.builders import a_member


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A build of a few bytes: what is served here, not what was built."""
    assets = tmp_path / "_web" / "assets"
    assets.mkdir(parents=True)
    (assets.parent / "index.html").write_text("<!doctype html><title>the app</title>")
    (assets.parent / "secret.txt").write_text("not to be served")
    for name, content in {"main-1a.js": "plain", "main-1a.js.gz": "gzipped", "main-1a.js.br": "brotli"}.items():
        (assets / name).write_text(content)
    monkeypatch.setattr(web, "BUILT", assets.parent)
    return assets.parent


@pytest.mark.parametrize("path", ["/", "/set-password", "/enter", "/effects/paint", "/jobs/1/2", "/runs", "/console/x"])
async def test_every_address_of_the_app_is_the_page_and_runs_its_own_scripts_only(
    client: httpx2.AsyncClient, built: Path, path: str
) -> None:
    answer = await client.get(path)
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-cache")
    assert answer.text == (built / "index.html").read_text()
    rules = dict(each.split(" ", 1) for each in answer.headers["content-security-policy"].split("; "))
    assert (rules["script-src"], rules["default-src"]) == ("'self'", "'self'")
    assert rules["connect-src"] == "'self' http://localhost"  # where this installation's objects are
    assert (rules["frame-ancestors"], rules["base-uri"], rules["object-src"]) == ("'none'", "'none'", "'none'")
    assert "unsafe-eval" not in str(rules)


A_BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}


@pytest.mark.parametrize("path", ["/nonsense", "/effect", "/Runs", "/consoles/x", "/set-password/x"])
async def test_a_mistyped_address_is_the_app_for_people_and_an_error_for_programs(
    client: httpx2.AsyncClient, built: Path, path: str
) -> None:
    shown = await client.get(path, headers=A_BROWSER)
    assert (shown.status_code, shown.text) == (404, (built / "index.html").read_text())
    assert "script-src 'self'" in shown.headers["content-security-policy"]
    assert shown.headers["cache-control"] == "no-cache"
    for told in (await client.get(path), await client.post(path, headers=A_BROWSER)):
        assert (told.status_code, fault(told)["code"]) == (404, "not_found")


@pytest.mark.parametrize("path", ["/api/nonsense", "/api", "/objects", "/healthz/x", "/docs/x", "/assets/x/y"])
async def test_what_is_the_servers_own_answers_browsers_as_programs(
    client: httpx2.AsyncClient, built: Path, path: str
) -> None:
    told = await client.get(path, headers=A_BROWSER)
    assert (told.status_code, "error" in told.json()) == (404, True)


@pytest.mark.parametrize(("accepted", "sent"), [("", "plain"), ("gzip", "gzipped"), ("gzip, deflate, br", "brotli")])
async def test_assets_are_sent_packed_and_kept_for_good(
    client: httpx2.AsyncClient, built: Path, accepted: str, sent: str
) -> None:
    async with client.stream("GET", "/assets/main-1a.js", headers={"Accept-Encoding": accepted}) as answer:
        raw = b"".join([chunk async for chunk in answer.aiter_raw()])
    assert raw == sent.encode()
    assert answer.headers["content-type"].startswith("text/javascript")
    assert "immutable" in answer.headers["cache-control"]
    assert answer.headers["vary"] == "Accept-Encoding"


@pytest.mark.parametrize("name", ["nothing.js", "..%2Fsecret.txt", "..%5Csecret.txt", "%2e%2e", ".", "%00", "a%0Ab"])
async def test_nothing_but_assets_can_be_asked_for(client: httpx2.AsyncClient, built: Path, name: str) -> None:
    answer = await client.get(f"/assets/{name}")
    assert (answer.status_code, fault(answer)["code"]) == (404, "not_found")


async def test_without_a_build_a_page_says_how_to_make_one(
    client: httpx2.AsyncClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web, "BUILT", tmp_path / "nothing")
    answer = await client.get("/")
    assert answer.status_code == 503
    assert "make web" in answer.text
    assert (await client.get("/healthz")).status_code == 200


async def test_a_page_learns_who_is_logged_in_and_that_nobody_is(client: httpx2.AsyncClient) -> None:
    assert (await client.get("/api/auth/session")).json() == {"me": None}
    made_up = {"Cookie": f"{SECURE_COOKIE}=made-up"}
    assert (await client.get("/api/auth/session", headers=made_up)).json() == {"me": None}


async def test_a_pass_logs_in_once(app: FastAPI, house: House) -> None:
    member = await a_member(house)
    password_hash = await hash_password(Secret("correct horse battery staple"))
    async with house.control_tx() as tx:
        await replace_password(tx, member.user, password_hash=password_hash)
    token = app.state.passes.mint(member.user.email).reveal()
    async with at(app) as client:
        entered = await client.post("/api/auth/enter", json={"token": token})
        assert entered.json() == {"user_id": str(member.user.id), "warning": None}
        cookie = {"Cookie": entered.headers["set-cookie"].split(";")[0]}
        session = (await client.get("/api/auth/session", headers=cookie)).json()["me"]
        assert (session["email"], session["tenant_slug"]) == (member.user.email, member.tenant.slug)
    async with at(app) as client:
        for wrong in (token, "made-up"):
            refused = await client.post("/api/auth/enter", json={"token": wrong})
            assert (refused.status_code, fault(refused)["code"]) == (422, "link_spent")
        foreign = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
        fresh = app.state.passes.mint(member.user.email).reveal()
        assert (await client.post("/api/auth/enter", json={"token": fresh}, headers=foreign)).status_code == 403


async def test_a_pass_of_somebody_without_a_login_opens_nothing(app: FastAPI, house: House) -> None:
    member = await a_member(house)
    async with at(app) as client:
        for email in ("nobody@example.com", member.user.email):
            token = app.state.passes.mint(email).reveal()
            refused = await client.post("/api/auth/enter", json={"token": token})
            assert (refused.status_code, refused.headers.get("set-cookie")) == (422, None)


def test_passes_are_few_and_grow_old() -> None:
    now = 0.0
    passes = Passes(lambda: now)
    first, *others = [passes.mint(f"{number}@example.com") for number in range(PASSES_MAX + 1)]
    assert passes.spend(first) is None
    assert passes.spend(others[0]) == "1@example.com"
    now = LIVES_S
    assert passes.spend(others[1]) is None
