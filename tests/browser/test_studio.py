"""A user's way through the studio: from the link that `up` prints to a downloaded result, and what can go wrong."""

import re
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest
from PIL import Image
from playwright.sync_api import FileChooser, FilePayload, Locator, Page, Response, Route, expect

from comfyfleet.demo.samples import draw_clip
from tests.browser.conftest import DEMO, PASSWORD, Studio, Watched, until
from tests.made_media import a_picture

JOB_WITHIN_MS = 90_000
NAMES = {"image/png": "a lake.png", "application/pdf": "terms.pdf"}


def a_file(content: bytes, media_type: str = "image/png", name: str | None = None) -> FilePayload:
    return FilePayload(name=name or NAMES[media_type], mimeType=media_type, buffer=content)


@pytest.fixture(scope="session")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return draw_clip(tmp_path_factory.mktemp("clip") / "a city.mp4")


def choose(page: Page, file: FilePayload | Path) -> None:
    page.locator("input[type=file]").set_input_files(file)


def start(page: Page) -> None:
    page.get_by_role("button", name="Start").click()


def wait_for_result(page: Page) -> None:
    expect(page.get_by_role("link", name="Download")).to_be_visible(timeout=JOB_WITHIN_MS)


def balance(page: Page) -> int:
    shown = page.get_by_role("banner").get_by_role("link", name="tokens").inner_text()
    return int(shown.split()[0].replace(",", ""))


def test_from_the_gallery_to_a_downloaded_result(studio: Studio, demo: Watched) -> None:
    page = demo.page
    page.goto(studio.url)
    expect(page.get_by_role("heading", name="Effects")).to_be_visible()
    before = balance(page)
    page.get_by_role("link", name="Painting").click()
    page.get_by_label("What to paint").fill("dunes at sunset")
    start(page)
    expect(page).to_have_url(re.compile("/jobs/"))
    wait_for_result(page)
    with page.expect_download() as saved:
        page.get_by_role("link", name="Download").click()
    with Image.open(saved.value.path()) as opened:
        assert opened.size == (768, 512)
    expect(page.get_by_text("dunes at sunset")).to_be_visible()
    expect(page).to_have_title("Done: Painting · comfyfleet")
    assert balance(page) == before - 3
    page.get_by_role("link", name="Wallet").click()
    expect(page.get_by_role("cell", name=re.compile("spent|set aside while it runs")).first).to_be_visible()
    page.get_by_role("link", name="History", exact=True).click()
    entry = page.get_by_role("listitem").filter(has_text="dunes at sunset")
    expect(entry).to_contain_text("completed")
    expect(entry).not_to_contain_text("given back")
    page.set_viewport_size({"width": 390, "height": 844})
    expect(entry.locator("time")).to_be_visible()
    expect(entry.get_by_text("tokens")).to_be_visible()
    demo.require_calm()
    assert demo.hosts - {""} == {f"localhost:{studio.server.port}"}


def test_a_picture_before_and_after(studio: Studio, demo: Watched) -> None:
    page = demo.page
    page.goto(f"{studio.url}/effects/glow")
    choose(page, a_file(a_picture(width=300, height=200)))
    expect(page.get_by_alt_text("Your file a lake.png")).to_be_visible()
    start(page)
    wait_for_result(page)
    expect(page.get_by_alt_text("Before")).to_be_visible()
    line = page.get_by_role("slider", name="How much of the picture before is shown")
    line.focus()
    for _ in range(10):
        page.keyboard.press("ArrowLeft")
    expect(line).to_have_value("40")
    assert "60%" in str(page.get_by_alt_text("Before").get_attribute("style"))
    # What is kept of it when it is old is too little to make it once more.
    expect(page.get_by_role("button", name="Run again")).to_be_visible()
    _age(studio, page.url.rpartition("/")[2])
    page.reload()
    expect(page.get_by_role("button", name="Delete")).to_be_visible()
    expect(page.get_by_role("button", name="Run again")).to_have_count(0)
    demo.require_calm(but=("content-length",))


def test_a_clip_is_made_step_by_step_survives_a_reload_and_plays_in_time(
    studio: Studio, demo: Watched, clip: Path
) -> None:
    page = demo.page
    page.goto(f"{studio.url}/effects/painted-film")
    choose(page, clip)
    start(page)
    expect(page.get_by_text(re.compile(r"step \d+ of \d+"))).to_be_visible(timeout=JOB_WITHIN_MS)
    expect(page.get_by_text("estimate", exact=True)).to_have_count(0)
    page.reload()
    expect(page.get_by_role("heading", name="Painted film")).to_be_visible()
    expect(page.get_by_text(re.compile(r"^\d+%$"))).to_be_visible()
    wait_for_result(page)
    page.get_by_role("button", name="Play").click()
    times = "() => [...document.querySelectorAll('video')].map((each) => each.currentTime)"
    page.wait_for_function("() => document.querySelector('video').currentTime > 0.5")
    page.get_by_role("button", name="Pause").click()
    after, before = page.evaluate(times)
    assert abs(after - before) < 0.25
    page.get_by_role("slider", name="Where in the clip").press("Home")
    page.wait_for_function("() => [...document.querySelectorAll('video')].every((each) => each.currentTime < 0.05)")
    _plays_on_while_the_line_breaks(page)
    demo.require_calm(but=("content-length",))


def _plays_on_while_the_line_breaks(page: Page) -> None:
    """After each break all is read again, and the same files have other addresses."""
    job, streams, addresses = page.url.rpartition("/")[2], [""], [""]

    def end_at_once(route: Route) -> None:
        streams.append(route.request.url)
        route.fulfill(status=200, content_type="text/event-stream", body="event: ping\ndata: {}\n\n")

    def note(response: Response) -> None:
        if response.url.endswith(f"/api/ai-jobs/{job}"):
            addresses.append(response.json()["outputs"][0]["url"])

    page.route("**/api/events*", end_at_once)
    page.on("response", note)
    page.reload()
    page.get_by_role("button", name="Play").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    clip = page.get_by_label("After", exact=True)
    first = clip.get_attribute("src")
    until(page, lambda: not str(first).endswith(addresses[-1]))
    page.wait_for_timeout(300)  # until it would be shown
    assert clip.get_attribute("src") == first
    assert clip.evaluate("(clip) => !clip.paused && clip.currentTime > 0")
    assert not any("previews" in each for each in streams)  # of what is over there are none

    # An address that ends is another matter: the newest one is taken, and the player says that it stands still.
    clip.dispatch_event("error")
    expect(clip).not_to_have_attribute("src", str(first))
    page.get_by_role("button", name="Play").click()
    page.wait_for_function("() => document.querySelector('video').currentTime > 0.1")


@pytest.mark.timeout(300)
def test_a_job_is_cancelled_and_tried_again(studio: Studio, demo: Watched, clip: Path) -> None:
    page = demo.page
    page.goto(f"{studio.url}/effects/painted-film")
    before = balance(page)
    choose(page, clip)
    studio.order_faults(prompts={"slow_step_s": 1.0})  # it would be done before its worker hears of the cancel
    try:
        start(page)
        page.get_by_role("button", name="Cancel").click()
        expect(page.get_by_text("It was stopped before it was done.")).to_be_visible(timeout=JOB_WITHIN_MS)
    finally:
        studio.order_faults()
    expect(page.get_by_role("banner").get_by_role("link", name="tokens")).to_contain_text(f"{before:,}")
    cancelled = page.url
    page.get_by_role("button", name="Retry").click()
    expect(page).not_to_have_url(cancelled)
    expect(page.get_by_role("button", name="Cancel")).to_be_visible()
    demo.require_calm(but=("content-length",))


def test_files_that_cannot_be_taken_are_refused_in_words(studio: Studio, demo: Watched) -> None:
    page = demo.page
    page.goto(f"{studio.url}/effects/glow")
    start(page)
    expect(page.get_by_text("Choose a picture first.")).to_be_visible()
    choose(page, a_file(b"%PDF-1.7", "application/pdf"))
    expect(
        page.get_by_text("This is not a picture that can be used here. Choose PNG, JPEG, WebP, GIF.")
    ).to_be_visible()
    choose(page, a_file(b"x" * 1_500_000))
    expect(page.get_by_text("This file is too large: 1.4 MB. The most is 977 KB.")).to_be_visible()
    # What only looking at it tells: a name and a type prove nothing.
    page.set_viewport_size({"width": 1280, "height": 500})
    choose(page, a_file(b"this is no picture at all"))
    expect(page.get_by_text("a lake.png")).to_be_visible()
    expect(page.get_by_role("img", name="Your file a lake.png")).to_have_count(0)  # nor the sign of one that is broken
    start(page)
    said = "This file is not a picture that can be read. Choose another one."
    expect(page.get_by_role("alert")).to_have_text(said)
    zone = page.get_by_role("button", name=re.compile("^Picture: Drop a picture here"))
    expect(zone).to_be_focused()
    expect(zone).to_be_in_viewport()
    expect(zone).to_have_accessible_description(f"Needed. {said}")
    expect(page.get_by_role("button", name="Try again")).to_have_count(0)
    demo.require_accessible("a file that was refused")
    page.goto(f"{studio.url}/effects/painted-film")
    choose(page, FilePayload(name="fake.mp4", mimeType="video/mp4", buffer=b"\x07" * 999))
    start(page)
    expect(page.get_by_role("alert")).to_have_text("This file is not a clip that can be read. Choose another one.")
    demo.require_calm(but=("content-length", "422"))


def test_an_upload_that_is_interrupted_goes_on_when_asked_to(studio: Studio, demo: Watched) -> None:
    page = demo.page
    page.goto(f"{studio.url}/effects/glow")
    choose(page, a_file(a_picture()))
    page.route("**/objects/**", lambda route: route.abort() if route.request.method == "PUT" else route.continue_())
    start(page)
    expect(page.get_by_role("alert")).to_contain_text("The upload was interrupted.", timeout=30_000)
    page.unroute("**/objects/**")
    page.get_by_role("button", name="Try again").click()
    wait_for_result(page)
    demo.require_calm(but=("content-length", "ERR_FAILED"))


def test_without_tokens_the_way_to_more_is_shown(studio: Studio, demo: Watched) -> None:
    tenant = next(each for each in studio.asking("/api/admin/tenants", "GET")["tenants"] if each["slug"] == "demo")
    made = studio.asking(f"/api/admin/tenants/{tenant['id']}/users", email="poor@demo.test")
    chosen = {"token": made["link"].partition("#token=")[2], "password": PASSWORD}
    assert httpx2.post(f"{studio.server.url}/api/auth/password", json=chosen).status_code == 200
    page = demo.page
    page.context.clear_cookies()
    page.context.add_cookies([studio.session_of("poor@demo.test")])  # type: ignore[list-item]
    page.goto(f"{studio.url}/effects/paint")
    # Known before anything is sent; what was read may be old, and so nothing is forbidden.
    told = page.locator("form").filter(has_text="This costs 3 tokens; you have 0 tokens. Ask Mira at the front desk.")
    expect(told.get_by_role("link", name="Get tokens")).to_have_attribute("href", "https://shop.example/tokens")
    demo.require_accessible("too few tokens")
    start(page)
    alert = page.get_by_role("alert")
    expect(page.get_by_text("This costs 3 tokens")).to_have_count(0)
    expect(alert).to_contain_text("This needs 3 tokens. You have 0 tokens. Ask Mira at the front desk.")
    expect(alert.get_by_role("link", name="Get tokens")).to_have_attribute("href", "https://shop.example/tokens")
    demo.require_calm(but=("422",))


def test_an_effect_that_is_taken_back_meanwhile_is_said_and_nothing_typed_is_lost(
    studio: Studio, demo: Watched
) -> None:
    page = demo.page
    page.goto(f"{studio.url}/effects/paint")
    page.get_by_label("What to paint").fill("a forest in a storm")
    studio.asking("/api/admin/effects/paint/unpublish")
    try:
        start(page)
        expect(page.get_by_role("alert")).to_contain_text("This effect is no longer offered.")
        expect(page.get_by_label("What to paint")).to_have_value("a forest in a storm")
    finally:
        studio.asking("/api/admin/effects/paint/publish")
    page.reload()
    expect(page.get_by_label("What to paint")).to_have_value("a forest in a storm")
    demo.require_calm(but=("404", "422"))


def test_a_session_that_ends_in_mid_form_loses_nothing(studio: Studio, demo: Watched) -> None:
    page = demo.page
    page.goto(f"{studio.url}/effects/paint")
    page.get_by_label("What to paint").fill("mountains of ice")
    (cookie,) = page.context.cookies()
    ours = {"Cookie": f"{cookie['name']}={cookie['value']}", "Origin": studio.server.url}
    assert httpx2.post(f"{studio.server.url}/api/auth/logout", headers=ours).status_code == 204
    start(page)
    dialog = page.get_by_role("dialog", name="Your session has ended")
    expect(dialog).to_be_visible()
    expect(dialog.get_by_label("Email")).to_have_value(DEMO)
    dialog.get_by_label("Password").fill(PASSWORD)
    dialog.get_by_role("button", name="Log in").click()
    expect(page).to_have_url(re.compile("/jobs/"))
    wait_for_result(page)
    expect(page.get_by_text("mountains of ice")).to_be_visible()
    demo.require_calm(but=("401",))


def test_a_server_that_restarts_is_waited_for(studio: Studio, demo: Watched) -> None:
    # The worker signs off with the server. What it can run is still offered.
    page = demo.page
    page.goto(f"{studio.url}/effects/paint")
    page.get_by_label("What to paint").fill("a nebula")
    expect(page.get_by_role("button", name="Start")).to_be_enabled()
    assert studio.server.stop() == 0
    try:
        expect(page.get_by_text("Connection lost. Your jobs go on;")).to_be_visible()
        # A page that is not loaded yet: what surrounds it stays, and the way back.
        page.get_by_role("link", name="Wallet").click()
        alert = page.locator("#main").get_by_role("alert").filter(has_not_text="Starts later")
        expect(alert).to_contain_text("The server does not answer. It may be restarting")
        with page.expect_event("requestfailed", lambda request: request.url.endswith("/api/auth/session")):
            alert.get_by_role("button", name="Try again").click()
        expect(alert).to_be_visible()
        page.go_back()
        expect(page.get_by_label("What to paint")).to_have_value("a nebula")
        # On a low screen, too, what is said is seen, and nothing lies on it.
        page.set_viewport_size({"width": 1280, "height": 520})
        start(page)
        expect(alert).to_contain_text("The server does not answer. It may be restarting")
        expect(alert).to_be_in_viewport(ratio=1)
        assert bottom_of(alert) < top_of_notice(page)
        page.mouse.wheel(0, 2_000)
        until(page, lambda: bottom_of(page.get_by_role("button", name="Start")) < top_of_notice(page))
    finally:  # or every test after it fails, and its second run too
        studio.server.start()
    expect(page.get_by_text("Connection lost.")).to_be_hidden(timeout=30_000)
    expect(alert).to_contain_text("The server is back, and nothing you entered is lost. Start again.")
    page.get_by_role("button", name="Try again").click()
    wait_for_result(page)
    page.get_by_role("link", name="Wallet").click()
    expect(page.get_by_role("heading", name="Wallet")).to_be_visible()
    demo.require_calm(but=("ERR_", "Failed to load resource", "The server does not answer.", "imported module"))


def top_of_notice(page: Page) -> float:
    notice = (
        page.get_by_text("Connection lost.").locator("xpath=ancestor::*[contains(@class, 'surface')]").bounding_box()
    )
    assert notice is not None
    return notice["y"]


def bottom_of(shown: Locator) -> float:
    box = shown.bounding_box()
    assert box is not None
    return box["y"] + box["height"]


XSS = "<img src=x onerror=\"window.hacked='{0}'\"><script>window.hacked='{0}'</script>\"'><svg onload=alert(1)>{0}"


@contextmanager
def a_receiver() -> Iterator[str]:
    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            return

    with HTTPServer(("127.0.0.1", 0), Hook) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/hook"
        server.shutdown()
        thread.join()


def look_at_an_address_where_nobody_is(demo: Watched, address: str) -> None:
    """One that can never be reached is not taken; of one that cannot be reached now, the whole reason can be read."""
    page, nobody = demo.page, "http://127.0.0.1:9/hook"
    page.goto(address)
    page.get_by_role("button", name="Add an address").click()
    page.get_by_role("textbox", name="Address").fill("http://10.1.2.3/hook")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("dialog")).to_contain_text("10.1.2.3 is not a public address")
    page.get_by_role("textbox", name="Address").fill(nobody)
    page.get_by_role("button", name="Add", exact=True).click()
    page.get_by_role("button", name="Done").click()
    page.get_by_role("link", name=nobody).click()
    page.get_by_role("button", name="Send a test").click()
    row = page.get_by_role("row").filter(has_text="webhook.test")
    expect(row).to_contain_text("No connection could be made.", timeout=20_000)
    reason = row.get_by_text("No connection could be made.")
    assert reason.evaluate("cell => cell.scrollHeight <= cell.clientHeight && cell.scrollWidth <= cell.clientWidth")
    row.get_by_role("button", name="Look").click()
    expect(page.get_by_role("heading", name="What is to be sent")).to_be_visible()
    page.keyboard.press("Escape")


def test_keys_and_webhooks_are_made_looked_at_and_ended(studio: Studio, demo: Watched) -> None:
    page = demo.page
    page.goto(f"{studio.url}/keys")
    page.get_by_role("button", name="New key").click()
    page.get_by_label("Name").fill("a nightly script")
    page.get_by_role("button", name="Create key").click()
    secret = page.get_by_role("dialog").locator("pre").inner_text()
    key = {"Authorization": f"Bearer {secret}"}
    assert httpx2.get(f"{studio.server.url}/api/wallet", headers=key).status_code == 200
    page.get_by_role("button", name="Done").click()
    row = page.get_by_role("listitem").filter(has_text="a nightly script")
    row.get_by_role("button", name="Revoke").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(row.get_by_text("revoked")).to_be_visible()
    assert httpx2.get(f"{studio.server.url}/api/wallet", headers=key).status_code == 401
    with a_receiver() as url:
        page.goto(f"{studio.url}/webhooks")
        page.get_by_role("button", name="Add an address").click()
        page.get_by_role("textbox", name="Address").fill(url)
        page.get_by_role("button", name="Add", exact=True).click()
        page.get_by_role("button", name="Done").click()
        page.get_by_role("link", name=url).click()
        page.get_by_role("button", name="Send a test").click()
        row = page.get_by_role("row").filter(has_text="webhook.test")
        expect(row).to_contain_text("delivered", timeout=20_000)
        row.get_by_role("button", name="Look").click()
        page.get_by_role("button", name="Send again").click()
        expect(page.get_by_role("dialog")).to_contain_text("2. answered 204", timeout=20_000)
        expect(page.get_by_text("It will be sent again.")).to_be_visible()
        expect(page.get_by_role("heading", name="What was sent")).to_be_visible()
        demo.require_accessible("what became of a delivery")
    look_at_an_address_where_nobody_is(demo, f"{studio.url}/webhooks")
    demo.require_says_that_it_loads(page.url)
    demo.require_fits_everywhere("studio-webhook")
    demo.require_calm(but=("status of 422",))


def test_markup_in_names_words_and_errors_is_text(studio: Studio, demo: Watched) -> None:
    """Stored by one, seen by all who look: file names, prompts, titles, errors, names of keys, what webhooks say."""
    page = demo.page
    page.on("dialog", lambda dialog: demo.complaints.append(f"dialog: {dialog.message}"))
    page.goto(f"{studio.url}/effects/repaint")
    choose(page, a_file(a_picture(), name=XSS.format("file").replace("/", "") + ".png"))
    page.get_by_label("What to paint").fill(XSS.format("words"))
    start(page)
    wait_for_result(page)
    job = page.url
    expect(page.get_by_text(XSS.format("words"))).to_be_visible()
    page.evaluate(
        """async (text) => {
            const send = (path, body) => fetch(path, { method: "POST", body: JSON.stringify(body),
                headers: { "Content-Type": "application/json" } }).then((answer) => answer.json());
            await send("/api/keys", { name: text.slice(0, 100) });
            await send("/api/webhooks", { url: "https://example.com/" + encodeURIComponent(text), description: text });
        }""",
        XSS.format("names"),
    )
    page.goto(f"{studio.url}/effects/paint")
    page.get_by_label("What to paint").fill("a lake")
    start(page)
    wait_for_result(page)
    _break(studio, page.url.rpartition("/")[2], XSS.format("error"))
    for path in (page.url, job, f"{studio.url}/history", f"{studio.url}/keys", f"{studio.url}/webhooks"):
        page.goto(path)
        expect(page.locator("#main")).to_contain_text(re.compile("onerror|onload"))
        assert page.evaluate("() => window.hacked") is None, path
        assert page.locator("#main img[onerror], #main svg[onload], #main script").count() == 0, path
    demo.require_calm(but=("content-length",))


def _break(studio: Studio, job_id: str, error: str) -> None:
    """As if a worker had said it: no engine of ours fails with words of a user's choice."""
    with closing(sqlite3.connect(next(studio.server.home.rglob("*main*.sqlite")))) as database, database:
        changed = database.execute(
            "UPDATE ai_jobs SET status = 'failed', error_message = ? WHERE replace(id, '-', '') = ?",
            (error, job_id.replace("-", "")),
        )
        assert changed.rowcount == 1


def _age(studio: Studio, job_id: str) -> None:
    """As if it had been made long ago."""
    with closing(sqlite3.connect(next(studio.server.home.rglob("*main*.sqlite")))) as database, database:
        changed = database.execute(
            "UPDATE ai_jobs SET expired_at = completed_at WHERE replace(id, '-', '') = ?", (job_id.replace("-", ""),)
        )
        assert changed.rowcount == 1


def test_every_page_fits_every_screen(studio: Studio, demo: Watched) -> None:
    page = demo.page
    jobs: Any = page.request.get(f"{studio.url}/api/ai-jobs?status=completed").json()["jobs"]
    done = next((each["id"] for each in jobs if each["effect"] == "glow"), None)
    if done is None:
        page.goto(f"{studio.url}/effects/glow")
        choose(page, a_file(a_picture(width=300, height=200)))
        start(page)
        wait_for_result(page)
        done = page.url.rpartition("/")[2]
    pages = {
        "gallery": "/",
        "effect": "/effects/glow",
        "result": f"/jobs/{done}",
        "history": "/history",
        "wallet": "/wallet",
        "keys": "/keys",
        "webhooks": "/webhooks",
        "nothing": "/effects/nothing",
    }
    for name, path in pages.items():
        demo.require_says_that_it_loads(studio.url + path)
        expect(page.get_by_role("heading").first).to_be_visible()
        page.wait_for_load_state("networkidle")
        demo.require_fits_everywhere(f"studio-{name}")
    demo.require_calm(but=("404",))


def test_by_keyboard_alone(studio: Studio, demo: Watched) -> None:
    page = demo.page
    page.goto(studio.url)
    expect(page.get_by_role("link", name="Painting")).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.locator("#main a").first).to_be_focused()
    card = page.get_by_role("link", name="Painting")
    expect(card).to_contain_text("3 tokens")
    expect(card.locator("img")).to_be_visible(timeout=JOB_WITHIN_MS)  # drawn by the engine once it is up
    page.wait_for_function("() => [...document.querySelectorAll('#main img')].some((each) => each.naturalWidth > 0)")
    card.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Painting")).to_be_visible()
    expect(page.locator("#main")).to_be_focused()
    page.get_by_role("link", name="History", exact=True).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="History")).to_be_visible()
    expect(page.locator("#main")).to_be_focused()
    # Another question to the same page takes nobody away from what they asked with.
    asked = page.get_by_role("combobox", name="Effect")
    asked.fill("Painting")
    expect(page.get_by_role("option", name="Painting")).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("effect=paint"))
    expect(asked).to_be_focused()
    page.get_by_role("button", name="Account").focus()
    page.keyboard.press("Enter")
    expect(page.locator("[role=menu]:focus, [role=menu] :focus")).to_have_count(1)  # keys go there from now on
    page.keyboard.press("Escape")
    expect(page.get_by_role("menu")).to_be_hidden()
    demo.require_calm()


def test_an_order_by_keyboard_alone(studio: Studio, demo: Watched) -> None:
    page = demo.page
    choosers: list[FileChooser] = []
    # From the start: to be told of them takes a moment in which one would be missed.
    page.on("filechooser", lambda each: choosers.append(each))
    page.goto(f"{studio.url}/effects/glow")
    zone = page.get_by_role("button", name=re.compile("^Picture: Drop a picture here, or choose one"))
    expect(zone).to_have_accessible_description("Needed.")
    other = page.get_by_role("button", name="Choose another file")
    page.get_by_role("link", name="All effects").focus()
    tab_to(page, zone)
    choose_by_keyboard(page, choosers)
    expect(other).to_be_focused()
    page.keyboard.press("Enter")
    expect(zone).to_be_focused()
    choose_by_keyboard(page, choosers)
    expect(other).to_be_focused()
    tab_to(page, page.get_by_role("slider", name="Width of the haze"))
    page.keyboard.press("ArrowRight")
    tab_to(page, page.get_by_role("slider", name="How much light"))
    page.keyboard.press("ArrowLeft")
    kind = page.get_by_role("radiogroup", name="Kind of light")
    tab_to(page, kind.get_by_role("radio", name="screen"))
    page.keyboard.press("ArrowRight")
    tab_to(page, page.get_by_role("button", name="Start"))
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/jobs/"))
    wait_for_result(page)
    expect(page.get_by_role("definition")).to_have_text(["17", "0.55", "soft_light"])
    demo.require_calm(but=("content-length",))


def tab_to(page: Page, wanted: Locator) -> None:
    """The next place but a few."""
    for _ in range(3):
        page.keyboard.press("Tab")
        if wanted.evaluate("(wanted) => wanted === document.activeElement"):
            return
    expect(wanted).to_be_focused()


def choose_by_keyboard(page: Page, choosers: list[FileChooser]) -> None:
    page.keyboard.press("Enter")
    until(page, lambda: choosers)
    choosers.pop().set_files(a_file(a_picture(width=300, height=200)))


def test_a_form_says_what_it_lacks_and_takes_one_there(studio: Studio, demo: Watched) -> None:
    page, nap = demo.page, {"seconds": 1, "steps": 1, "seed": 0, "previews": False}
    graph = {
        "nap": {"class_type": "FleetSleep", "inputs": nap},
        "save": {"class_type": "SaveImage", "inputs": {"images": ["nap", 0], "filename_prefix": "nap"}},
    }
    slug = studio.offer("asks-a-lot", graph)
    asked = [
        {"name": "steps", "type": "choice", "label": "In how many steps", "choices": [2, 4], "required": True},
        {"name": "seconds", "type": "number", "label": "How long", "required": True, "minimum": 0.5, "maximum": 2}
        | {"step": 0.5},
        {"name": "previews", "type": "boolean", "label": "Show it meanwhile"},
    ]
    properties = [each | {"node": "nap", "input_name": each["name"]} for each in asked]
    studio.asking(f"/api/admin/workflows/{slug}/versions", graph=graph, properties=properties)

    # While it cannot run it says so, and nobody has to look again.
    studio.asking(f"/api/admin/workflows/{slug}/deactivate")
    page.set_viewport_size({"width": 390, "height": 500})
    page.goto(f"{studio.url}/effects/{slug}")
    paused = page.get_by_role("alert").filter(has_text="Cannot run right now")
    expect(paused).to_contain_text("Its workflow is switched off.")
    expect(page.get_by_role("button", name="Start")).to_be_disabled()
    studio.asking(f"/api/admin/workflows/{slug}/activate")
    expect(page.get_by_role("button", name="Start")).to_be_enabled()
    expect(paused).to_have_count(0)

    start(page)
    steps = page.get_by_role("radiogroup", name="In how many steps")
    expect(steps.get_by_role("radio").first).to_be_focused()
    expect(steps).to_be_in_viewport()
    expect(steps).to_have_accessible_description("This is needed.")
    page.keyboard.press("ArrowRight")
    long = page.get_by_role("slider", name="How long")
    expect(long).to_have_attribute("aria-valuetext", "not chosen")
    start(page)
    expect(long).to_be_focused()
    expect(long).to_have_accessible_description("This is needed.")
    demo.require_accessible("a form that lacks something")
    page.keyboard.press("End")
    page.get_by_role("switch", name="Show it meanwhile").press("Space")
    start(page)
    expect(page).to_have_url(re.compile("/jobs/"))
    wait_for_result(page)
    expect(page.get_by_role("definition")).to_have_text(["4", "2", "true"])
    demo.require_calm()
