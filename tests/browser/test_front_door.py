"""What a person meets: the login page, the page behind a one-time link, the API reference, an upload from a page."""

import json
import re
from itertools import count
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Page, expect

from comfyfleet.api.cookies import PLAIN_COOKIE, SECURE_COOKIE
from tests.browser.conftest import LAN_NAME, PASSWORD, Fleet, Watched

_numbers = count(1)


@pytest.fixture
def email(fleet: Fleet) -> str:
    return fleet.add_user(f"ada-{next(_numbers)}@acme.test", tokens=1234)


def log_in(page: Page, address: str, email: str, password: str = PASSWORD) -> None:
    page.goto(address)
    page.get_by_label("Email").fill(email)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()


def log_out(page: Page) -> None:
    page.get_by_role("button", name="Account").click()
    page.get_by_role("menuitem", name="Log out").click()
    expect(page.get_by_role("button", name="Log in")).to_be_visible()


def require_logged_in(page: Page, email: str, role: str = "admin of acme") -> None:
    page.get_by_role("button", name="Account").click()
    expect(page.get_by_role("menu")).to_contain_text(email)
    expect(page.get_by_role("menu")).to_contain_text(role)
    page.keyboard.press("Escape")


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_a_login_shows_who_you_are_and_what_you_have(fleet: Fleet, watched: Watched, email: str, host: str) -> None:
    page = watched.page
    log_in(page, fleet.at(host), email)
    require_logged_in(page, email)
    expect(page.get_by_role("link", name="1,234 tokens")).to_be_visible()
    expect(page.get_by_text("This connection is not encrypted")).to_have_count(0)
    (cookie,) = page.context.cookies()
    assert (cookie["name"], cookie["secure"], cookie["httpOnly"]) == (SECURE_COOKIE, True, True)
    assert (cookie["sameSite"], cookie["path"], cookie["domain"]) == ("Lax", "/", host)
    assert page.evaluate("document.cookie") == ""
    watched.picture(f"front-door-logged-in-{host}")
    page.reload()
    require_logged_in(page, email)
    assert watched.hosts == {f"{host}:{fleet.server.port}"}
    watched.require_calm()


def test_on_an_open_network_it_works_and_warns(fleet: Fleet, watched: Watched, email: str) -> None:
    page = watched.page
    log_in(page, fleet.at(LAN_NAME), email)
    require_logged_in(page, email)
    expect(page.get_by_text("This connection is not encrypted")).to_be_visible()
    (cookie,) = page.context.cookies()
    assert (cookie["name"], cookie["secure"], cookie["httpOnly"]) == (PLAIN_COOKIE, False, True)
    watched.picture("front-door-on-an-open-network")
    log_out(page)
    expect(page.get_by_label("Email")).to_be_visible()
    assert page.context.cookies() == []


def test_a_wrong_password_is_said_and_can_be_corrected(fleet: Fleet, watched: Watched, email: str) -> None:
    page = watched.page
    log_in(page, fleet.at("localhost"), email, "wrong password")
    expect(page.get_by_role("alert").filter(has_text="Email or password is wrong.")).to_be_visible()
    expect(page.get_by_role("button", name="Account")).to_have_count(0)
    watched.picture("front-door-wrong-password")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_label("Password").press("Enter")
    require_logged_in(page, email)
    watched.require_calm(but=("401",))


def test_logout_ends_the_session_for_this_browser_and_on_the_server(fleet: Fleet, watched: Watched, email: str) -> None:
    page = watched.page
    log_in(page, fleet.at("localhost"), email)
    require_logged_in(page, email)
    (cookie,) = page.context.cookies()
    log_out(page)
    expect(page.get_by_label("Email")).to_be_visible()
    assert page.context.cookies() == []
    kept = {"Cookie": f"{cookie['name']}={cookie['value']}"}
    address = fleet.at("localhost").replace("localhost", "127.0.0.1")
    assert httpx2.get(f"{address}/api/auth/me", headers=kept).status_code == 401
    watched.require_calm()


def test_an_operator_logs_in_and_has_no_wallet(fleet: Fleet, watched: Watched) -> None:
    fleet.server.command("users", "create", "root@acme.test", "--role", "operator", "--password-stdin", stdin=PASSWORD)
    log_in(watched.page, fleet.at("localhost"), "root@acme.test")
    expect(watched.page).to_have_url(f"{fleet.at('localhost')}/console")
    require_logged_in(watched.page, "root@acme.test", "operator of this installation")
    expect(watched.page.get_by_role("link", name="tokens")).to_have_count(0)
    watched.require_calm()


def test_on_a_phone_one_goes_by_the_burger(fleet: Fleet, watched: Watched, email: str) -> None:
    page = watched.page
    page.set_viewport_size({"width": 390, "height": 844})
    log_in(page, fleet.at("localhost"), email)
    navigation, burger = page.get_by_role("navigation", name="Main"), page.get_by_role("button", name="Navigation")
    require_logged_in(page, email)
    page.reload()  # it begins at the top, and not where the login was
    expect(burger).to_be_visible()
    expect(navigation).to_have_count(0)  # to nobody, however they read
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(burger).to_be_focused()
    for _ in range(6):
        page.keyboard.press("Tab")
        assert page.evaluate("() => document.activeElement.closest('nav')") is None
    burger.press("Enter")
    expect(burger).to_have_attribute("aria-expanded", "true")
    for _ in range(20):  # once around; what it covers is not there
        page.keyboard.press("Tab")
        assert page.evaluate("() => document.activeElement.closest('#main')") is None
    navigation.get_by_role("link", name="API keys").press("Enter")
    expect(page.get_by_role("heading", name="API keys")).to_be_visible()
    expect(navigation).to_have_count(0)
    expect(page.locator("#main")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.locator("#main").get_by_role("link", name="API reference")).to_be_focused()
    burger.click()
    watched.require_accessible("navigation on a phone")
    watched.picture("navigation-on-a-phone")
    navigation.get_by_role("link", name="Wallet").click()
    expect(page.get_by_role("heading", name="Wallet")).to_be_visible()
    expect(navigation).to_have_count(0)
    expect(burger).to_have_attribute("aria-expanded", "false")
    watched.require_calm()


def test_a_mistyped_address_says_so_and_leads_home(fleet: Fleet, watched: Watched, email: str) -> None:
    page = watched.page
    log_in(page, fleet.at("localhost"), email)
    require_logged_in(page, email)
    page.goto(f"{fleet.at('localhost')}/effect/paint")
    expect(page.get_by_role("heading", name="There is nothing at this address")).to_be_visible()
    watched.require_accessible("a mistyped address")
    page.get_by_role("link", name="Go home").click()
    require_logged_in(page, email)
    watched.require_calm(but=("404",))


def reset_link(fleet: Fleet, email: str) -> str:
    return str(json.loads(fleet.server.command("users", "create-link", email, "--json"))["link"])


def test_a_password_is_chosen_by_a_link_once(fleet: Fleet, watched: Watched, email: str) -> None:
    page, link = watched.page, reset_link(fleet, email)
    page.goto(link)
    page.get_by_label("New password").fill("short")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Your password is set.")).to_have_count(0)
    page.get_by_label("New password").fill("a quite different phrase")
    watched.picture("set-password")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Your password is set.")).to_be_visible()
    assert "token" not in page.url
    watched.picture("set-password-done")
    page.get_by_role("link", name="Log in").click()
    log_in(page, fleet.at("127.0.0.1"), email, "a quite different phrase")
    require_logged_in(page, email)
    watched.require_calm()


def test_who_lost_a_password_may_revoke_all_keys_with_it(fleet: Fleet, watched: Watched, email: str) -> None:
    made = json.loads(fleet.server.command("keys", "create", email, "--name", "stolen", "--json"))
    page = watched.page
    page.goto(reset_link(fleet, email))
    page.get_by_label("New password").fill("a quite different phrase")
    page.get_by_role("checkbox", name="Also revoke all my API keys").check()
    watched.require_accessible("a password with its keys")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Your password is set, and one key is revoked.")).to_be_visible()
    bearer = {"Authorization": f"Bearer {made['secret']}"}
    assert httpx2.get(f"{fleet.server.url}/api/wallet", headers=bearer).status_code == 401
    watched.require_calm()


@pytest.mark.parametrize("change", ["used", "tampered"])
def test_a_link_that_does_not_work_says_so(fleet: Fleet, watched: Watched, email: str, change: str) -> None:
    page, link = watched.page, reset_link(fleet, email)
    if change == "used":
        body = {"token": link.partition("#token=")[2], "password": "a quite different phrase"}
        assert httpx2.post(f"{fleet.server.url}/api/auth/password", json=body).status_code == 200
    page.goto(link if change == "used" else f"{link}~")
    page.get_by_label("New password").fill("yet another phrase")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("Ask for a new one")
    expect(page.get_by_text("Your password is set.")).to_have_count(0)


def test_a_link_that_lost_its_end_says_so_at_once(fleet: Fleet, watched: Watched) -> None:
    watched.page.goto(f"{fleet.at('localhost')}/set-password")
    expect(watched.page.get_by_role("alert")).to_contain_text("not complete")
    expect(watched.page.get_by_role("button", name="Save")).to_be_disabled()
    watched.picture("set-password-incomplete-link")


def test_another_site_cannot_act_for_somebody_logged_in(fleet: Fleet, watched: Watched, email: str) -> None:
    """From a page of another name, with all a page may do: nothing changes, and nothing can be read."""
    page = watched.page
    log_in(page, fleet.at("localhost"), email)
    require_logged_in(page, email)
    foreign = page.context.new_page()
    foreign.goto(f"{fleet.at(LAN_NAME)}/healthz")
    tried = foreign.evaluate(
        """async (address) => {
            const send = (path, options) => fetch(address + path, { credentials: "include", ...options })
                .then((answer) => answer.type, (error) => "blocked");
            return {
                logout: await send("/api/auth/logout", { method: "POST", mode: "no-cors" }),
                key: await send("/api/keys", { method: "POST", mode: "no-cors", body: '{"name": "forged"}' }),
                read: await send("/api/auth/me"),
            };
        }""",
        fleet.at("localhost"),
    )
    assert tried["read"] == "blocked"
    assert set(tried.values()) <= {"blocked", "opaque"}
    page.bring_to_front()
    keys = page.evaluate("() => fetch('/api/keys').then((answer) => answer.json())")
    assert keys["keys"] == []
    page.reload()
    require_logged_in(page, email)


UPLOAD = """async ({ text, type }) => {
    const asJson = { "Content-Type": "application/json" };
    const bytes = new TextEncoder().encode(text);
    const announced = await fetch("/api/files", {
        method: "POST", headers: asJson,
        body: JSON.stringify({ name: "from a page", mime_type: type, size: bytes.length }),
    }).then((answer) => answer.json());
    const [put] = announced.upload.requests;
    const sent = await new Promise((resolve) => {
        const request = new XMLHttpRequest();
        request.open(put.method, put.url);
        for (const [name, value] of Object.entries(put.headers)) request.setRequestHeader(name, value);
        request.onloadend = () => resolve({ status: request.status, etag: request.getResponseHeader("ETag") });
        request.send(new Blob([bytes], { type }));
    });
    const file = `/api/files/${announced.file.id}`;
    const confirmed = await fetch(`${file}/confirm`, { method: "POST", headers: asJson, body: "{}" });
    const { download } = await fetch(file).then((answer) => answer.json());
    const received = await fetch(download.url).then((answer) => answer.text());
    return { sent, confirmed: (await confirmed.json()).status, received, url: download.url };
}"""


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", LAN_NAME])
def test_a_page_uploads_and_reads_back(fleet: Fleet, watched: Watched, email: str, host: str) -> None:
    """A browser sets Content-Length itself and ignores ours: the signed request must work all the same."""
    page, text = watched.page, "a text, say: \u00fc\u4e2d " * 5000
    log_in(page, fleet.at(host), email)
    require_logged_in(page, email)
    done: Any = page.evaluate(UPLOAD, {"text": text, "type": "text/plain"})
    assert done["sent"]["status"] == 200
    assert done["sent"]["etag"]
    assert done["confirmed"] == "stored"
    assert done["received"] == text
    watched.require_calm(but=("content-length", "Content-Length"))


@pytest.mark.parametrize("media_type", ["text/html", "image/svg+xml", "application/octet-stream"])
def test_what_was_uploaded_never_runs_as_a_page(fleet: Fleet, watched: Watched, email: str, media_type: str) -> None:
    page = watched.page
    log_in(page, fleet.at("localhost"), email)
    require_logged_in(page, email)
    script = "<svg xmlns='http://www.w3.org/2000/svg'><script>document.title = 'owned'</script></svg>"
    url = page.evaluate(UPLOAD, {"text": script, "type": media_type})["url"]
    embed = "(url) => document.body.append(Object.assign(document.createElement('iframe'), { src: url }))"
    for visit in (embed, "(url) => { location.href = url; }"):
        with page.expect_download() as saved:
            page.evaluate(visit, url)
        assert saved.value.suggested_filename == "from a page"
    require_logged_in(page, email)
    expect(page).to_have_title("Effects · comfyfleet")
    assert "/objects/" not in page.url


def test_the_api_reference_renders_without_any_other_host(fleet: Fleet, watched: Watched) -> None:
    page = watched.page
    page.goto(f"{fleet.at('localhost')}/docs")
    expect(page.locator(".opblock").first).to_be_visible()
    assert page.locator(".opblock").count() >= 30
    expect(page.locator("#operations-wallet-get_wallet_api_wallet_get")).to_be_visible()
    page.locator("#operations-wallet-get_wallet_api_wallet_get").click()
    expect(page.get_by_text("What can be spent now").first).to_be_visible()
    watched.picture("api-reference")
    assert watched.hosts - {""} == {f"localhost:{fleet.server.port}"}
    assert watched.complaints == []


def test_the_front_door_fits_any_screen(fleet: Fleet, watched: Watched) -> None:
    watched.page.goto(fleet.at("localhost"))
    expect(watched.page.get_by_role("button", name="Log in")).to_be_visible()
    watched.require_fits_everywhere("front-door")
    watched.require_calm()


def test_links_of_up_log_in_once(fleet: Fleet, watched: Watched) -> None:
    found = re.search(
        r"open the console: http://\S+(/enter#token=\S+)", (fleet.server.home / "login.links").read_text()
    )
    assert found is not None
    page = watched.page
    page.goto(fleet.at("localhost") + found[1])
    require_logged_in(page, "operator@localhost", "operator of this installation")
    assert "token" not in page.url
    watched.require_calm()
    log_out(page)
    page.goto(fleet.at("localhost") + found[1])
    expect(page.get_by_role("heading", name="This link was used")).to_be_visible()
