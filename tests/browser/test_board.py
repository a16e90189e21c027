"""The pipelines board: a run from its start to its finals, chosen by hand, in a real browser."""

import io
import json
import re
import time
import zipfile
from base64 import b64decode
from collections.abc import Callable
from datetime import datetime, timedelta
from uuid import uuid4

import httpx2
import pytest
from PIL import Image, ImageChops
from playwright.sync_api import Browser, Locator, Page, Request, Response, Route, expect

from tests.browser.conftest import PASSWORD, Studio, Watched, a_page, fresh, until

MADE_WITHIN_MS = 120_000
VOTES = 10
# The share of the tree that changes when all but one line fades; the frame around one picture is far less.
STANDS_OUT = 0.02
BEGIN_AND_STOP = """async name => {
    const post = async (path, body) => (await fetch(path, {
        method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(body),
    })).json();
    const said = {pipeline: "painted-postcard", name, target_folder: "x", variables: {scene: "sea", mood: "ice"}};
    const {id} = await post("/api/pipeline-runs", {...said, variants: 1, top: 1});
    await post(`/api/pipeline-runs/${id}/stop`, {});
}"""
HOSTILE = "Lake <img src=x onerror=\"document.title='owned'\">"


def pair_of(page: Page) -> list[str]:
    found: list[str] = page.locator("[data-candidate]").evaluate_all("all => all.map(each => each.dataset.candidate)")
    return found


def vote(page: Page, key: str) -> None:
    before = pair_of(page)
    page.keyboard.press(key)
    page.wait_for_function(
        "before => [...document.querySelectorAll('[data-candidate]')].map(x => x.dataset.candidate).join() != before",
        arg=",".join(before),
    )


class Shown:
    """Which pairs the server named, and what was asked for and came of their pictures."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.pairs: list[Response] = []
        self.asked: list[str] = []
        self.came: list[str] = []
        page.on("response", lambda answer: self.pairs.append(answer) if "/pair?" in answer.url else None)
        page.on("request", lambda request: self._note(request, self.asked))
        page.on("requestfinished", lambda request: self._note(request, self.came))

    def _note(self, request: Request, noted: list[str]) -> None:
        _, objects, token = request.url.partition("/objects/")
        if objects:
            noted.append(objects + token)

    def require_next_is_there(self, key: str) -> None:
        """Both pictures came while somebody looked at the pair before, and are not asked for once more."""
        until(self.page, lambda: len(self.pairs) > 1)
        named = self.pairs[-1].json()["pair"]
        until(self.page, lambda: all(each["url"] in self.came for each in named))
        self.page.request_gc()  # a picture that nobody holds would be gone
        vote(self.page, key)
        assert pair_of(self.page) == [each["id"] for each in named]
        pictures = self.page.locator("[data-candidate] img")
        until(self.page, lambda: pictures.evaluate_all("all => all.every(each => each.complete && each.naturalWidth)"))
        assert [self.asked.count(each["url"]) for each in named] == [1, 1]


def drawn(tree: Locator) -> Image.Image:
    url: str = tree.evaluate("canvas => canvas.toDataURL()")
    return Image.open(io.BytesIO(b64decode(url.partition(",")[2]))).convert("RGB")


def unlike(one: Image.Image, other: Image.Image) -> float:
    """How much of the one does not look as the other does, from 0 to 1."""
    seen = ImageChops.difference(one, other).convert("L").histogram()
    return sum(seen[12:]) / sum(seen)


def let_on(page: Page, step: str) -> None:
    expect(page.get_by_test_id("standing")).to_contain_text(f"behind “{step}”", timeout=MADE_WITHIN_MS)
    page.get_by_role("button", name="Approve").click()


def type_over(field: Locator, text: str) -> None:
    """Key by key, as a person does: a field hears of every step on the way."""
    field.press("End")
    for _ in field.input_value():
        field.press("Backspace")
    field.press_sequentially(text)
    expect(field).to_have_value(text)


def listed(page: Page, name: str) -> Locator:
    return page.get_by_role("listitem").filter(has_text=name)


def choose(page: Page, group: str, label: str) -> None:
    # The radio itself is hidden behind its label.
    page.get_by_role("radiogroup", name=group).get_by_text(label, exact=True).click()


def told(page: Page, text: str) -> Locator:
    return page.locator(".mantine-Notification-root").filter(has_text=text)


@pytest.mark.timeout(300)
def test_a_run_from_its_start_to_its_finals(demo: Watched, studio: Studio) -> None:
    page = demo.page
    page.goto(f"{studio.url}/pipelines")
    page.get_by_role("link", name="Start a run").click()
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.get_by_text("The pipeline needs this.")).to_have_count(2)
    expect(page.get_by_label("Scene")).to_be_focused()
    page.get_by_label("Name").fill(HOSTILE)
    page.get_by_label("Scene").fill("a lake below mountains")
    page.get_by_label("Mood").fill("autumn")
    page.get_by_label("Variants").fill("4")
    page.get_by_label("Best that go on").fill("1")
    page.get_by_role("button", name="Start", exact=True).click()

    # Four pictures come by themselves; then it waits for us. Nobody asked again and again: the stream told.
    expect(page.get_by_role("heading", name=HOSTILE)).to_be_visible()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    expect(page.get_by_test_id("standing")).to_contain_text("behind “Sketch”", timeout=MADE_WITHIN_MS)
    candidates = page.get_by_role("list", name="Candidates of Sketch")
    expect(candidates.get_by_role("button")).to_have_count(4)
    assert len([url for url in asked if url.endswith("/tree") or "/tree?" in url]) <= 12
    demo.require_accessible("a run that waits")

    # Ten votes by keyboard, one of them taken back. The next pair is there before anybody has voted.
    shown = Shown(page)
    page.get_by_role("link", name="Compare").click()
    page.get_by_test_id("pair").wait_for()
    first = pair_of(page)
    shown.require_next_is_there("ArrowLeft")
    expect(page.get_by_text("1 vote in all, 1 just now.")).to_be_visible()
    page.keyboard.press("u")
    expect(page.get_by_text("0 votes in all, 0 just now.")).to_be_visible()
    expect(page.locator("[data-candidate]").first).to_have_attribute("data-candidate", first[0])
    for number in range(VOTES):
        vote(page, "ArrowLeft" if number % 2 else "ArrowRight")
    expect(page.get_by_text(f"{VOTES} votes in all, {VOTES} just now.")).to_be_visible()
    demo.require_fits_everywhere("board-vote")
    page.get_by_role("link", name=HOSTILE).click()
    expect(page.get_by_role("link", name=f"Compare · {VOTES} votes so far")).to_be_visible()

    # The arrow keys walk along the tree; Enter opens.
    let_on(page, "Sketch")
    let_on(page, "Painted over")
    expect(page.get_by_test_id("standing")).to_have_text("Finished.", timeout=MADE_WITHIN_MS)
    tree = page.get_by_role("application", name="Candidate tree")
    made = page.request.get(f"{studio.url}/api/pipeline-runs/{page.url.rpartition('/')[2]}/tree").json()["candidates"]
    expect(tree).to_have_attribute("data-drawn", str(len(made)))  # the last of them stands there, too
    whole = drawn(tree)
    tree.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    drawer = page.get_by_role("dialog")
    expect(drawer.get_by_text("How it was made")).to_be_visible()
    expect(drawer.get_by_text("Number 1")).to_be_visible()
    expect(drawer.get_by_role("heading", name="Made from")).to_be_visible()
    demo.require_accessible("a candidate")
    assert unlike(drawn(tree), whole) > STANDS_OUT
    page.keyboard.press("Escape")
    expect(drawer).to_be_hidden()
    tree.press("0")
    until(page, lambda: unlike(drawn(tree), whole) < STANDS_OUT)  # all as before, but for the frame of the last one

    with page.expect_download() as downloading:
        page.get_by_role("link", name="Export").click()
    with zipfile.ZipFile(io.BytesIO(downloading.value.path().read_bytes())) as archive:
        [winner] = json.loads(archive.read("run.json"))["winners"]
        assert archive.read(winner["file"]).startswith(b"\x89PNG")

    page.get_by_role("link", name="All runs").click()
    expect(page.get_by_role("listitem").filter(has_text=HOSTILE)).to_contain_text("completed")
    assert page.title() == "Runs · comfyfleet"
    demo.require_calm()


@pytest.mark.timeout(300)
def test_a_run_is_taken_in_hand(demo: Watched, studio: Studio) -> None:
    """Paused, given more jobs and more tokens, a candidate rejected, stopped for good."""
    page, price = demo.page, price_of_a_sketch(studio)
    page.goto(f"{studio.url}/runs/new")
    page.get_by_label("Name").fill("By hand")
    page.get_by_label("Scene").fill("dunes")
    page.get_by_label("Mood").fill("dusk")
    page.get_by_label("Variants").fill("2")
    page.get_by_role("button", name="Budget and more").click()
    page.get_by_label("At most, in jobs").fill("1")
    page.get_by_label("At most, in tokens").fill(str(price))
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.get_by_test_id("standing")).to_contain_text("as many jobs as it may", timeout=MADE_WITHIN_MS)
    page.get_by_role("button", name="Budget").click()
    page.get_by_label("Jobs, in all").fill("2")
    page.get_by_role("button", name="Set", exact=True).click()
    expect(page.get_by_test_id("standing")).to_contain_text("its tokens are spent")
    page.get_by_role("button", name="Budget").click()
    page.get_by_label("Tokens, in all").fill(str(2 * price))
    page.get_by_role("button", name="Set", exact=True).click()
    expect(page.get_by_test_id("standing")).to_contain_text("behind “Sketch”", timeout=MADE_WITHIN_MS)
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_test_id("standing")).to_contain_text("Nothing new is begun")
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_test_id("standing")).to_contain_text("behind “Sketch”")
    candidates = page.get_by_role("list", name="Candidates of Sketch")
    candidates.get_by_role("button").last.click()
    page.get_by_role("button", name="Reject").click()
    page.get_by_role("dialog", name="Reject this candidate?").get_by_role("button", name="Reject").click()
    expect(page.get_by_text("1 candidate · 1 rejected")).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("dialog", name="Stop this run for good?").get_by_role("button", name="Stop").click()
    expect(page.get_by_test_id("standing")).to_have_text("Stopped. What was made stays.")
    demo.require_fits_everywhere("board-run", settle=lambda: page.wait_for_timeout(200))
    for while_it_loads in (page.url, f"{page.url}/vote"):
        demo.require_says_that_it_loads(while_it_loads)
    for path, name, seen in (
        ("/runs", "board-runs", re.compile("By hand")),
        ("/pipelines", "board-pipelines", re.compile("Painted postcard")),
        ("/runs/new", "board-new", re.compile("Up to .* pictures")),
    ):
        demo.require_says_that_it_loads(f"{studio.url}{path}")
        page.get_by_text(seen).first.wait_for()
        demo.require_fits_everywhere(name)
    demo.require_calm()


@pytest.mark.timeout(300)
def test_a_run_is_left_and_come_back_to(demo: Watched, studio: Studio) -> None:
    """Numbers typed key by key; a list that follows by itself; the tree as it is now; gates opened, changed, undone."""
    page, name, older = demo.page, fresh("Harbour"), fresh("Before it")
    # What it costs is known only to whoever read the effects to the last page.
    page.route("**/api/effects?*", one_at_a_time)
    page.goto(f"{studio.url}/runs/new")
    page.evaluate(BEGIN_AND_STOP, older)
    page.get_by_label("Name").fill(name)
    page.get_by_label("Scene").fill("a harbour")
    page.get_by_label("Mood").fill("storm")
    variants = page.get_by_label("Variants")
    type_over(variants, "20")
    expect(page.get_by_text(re.compile("Up to 8[0-9] pictures, [0-9]+ tokens"))).to_be_visible()
    variants.press("Backspace")
    page.get_by_role("button", name="Budget and more").click()
    type_over(page.get_by_label("At most, in hours"), "0.5")
    with page.expect_response(lambda answer: answer.request.method == "POST") as begun:
        page.get_by_role("button", name="Start", exact=True).click()
    run = begun.value.json()
    began, ends = (datetime.fromisoformat(run[each]) for each in ("created_at", "ends_at"))
    assert (run["variants"], round((ends - began) / timedelta(minutes=1))) == (2, 30)

    # Left before anything was made, and watched from the list, which shows one at a time here.
    page.get_by_test_id("tree").or_(page.get_by_text("Nothing yet")).wait_for()
    page.route("**/api/pipeline-runs?*", one_at_a_time)
    page.get_by_role("link", name="All runs").click()
    expect(listed(page, name)).to_contain_text("waiting for approval", timeout=MADE_WITHIN_MS)
    expect(listed(page, name)).to_contain_text("2 of about")
    choose(page, "Which runs", "Running")
    expect(listed(page, name)).to_have_count(0)
    choose(page, "Which runs", "Wait for you")
    listed(page, name).get_by_role("link").click()
    sketches = page.get_by_role("list", name="Candidates of Sketch").get_by_role("button")
    expect(sketches).to_have_count(2)
    demo.require_calm()
    told_again = look_without_a_stream(demo)
    zoom(page)
    assert told_again() <= 1  # nobody asks any more

    # One goes on; two; one after all; none; one after all.
    gate = page.get_by_label("How many go on")
    choose(page, "Step", "Sketch")
    type_over(gate, "0")
    expect(page.get_by_text("At least 1.")).to_be_visible()
    expect(page.get_by_role("button", name="Approve")).to_be_disabled()
    type_over(gate, "1")
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_text("Gate open for the best 1")).to_be_visible()
    type_over(gate, "2")
    page.get_by_role("button", name="Change", exact=True).click()
    expect(page.get_by_text("Gate open for the best 2")).to_be_visible()
    told(page, "The best 2 of “Sketch” go on.").get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Gate open for the best 1")).to_be_visible()
    page.get_by_role("button", name="Close gate").click()
    expect(page.get_by_text("Gate closed")).to_be_visible()
    told(page, "The gate is closed again.").get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Gate open for the best 1")).to_be_visible()

    # Stopped, it is among those that were; of all runs the older ones are further down.
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("dialog", name="Stop this run for good?").get_by_role("button", name="Stop").click()
    expect(page.get_by_test_id("standing")).to_have_text("Stopped. What was made stays.")
    page.get_by_role("link", name="All runs").click()
    choose(page, "Which runs", "Stopped")
    expect(listed(page, name)).to_contain_text("stopped")
    choose(page, "Which runs", "All")
    cards = page.get_by_role("main").get_by_role("listitem")
    expect(cards).to_have_count(1)
    page.get_by_role("button", name="Show more").click()
    expect(cards).to_have_count(2)
    expect(cards.last).to_contain_text(older)
    demo.require_calm()


def one_at_a_time(route: Route) -> None:
    route.continue_(url=re.sub(r"limit=\d+", "limit=1", route.request.url))


def look_without_a_stream(demo: Watched) -> Callable[[], int]:
    """The run is asked for every two seconds; pictures that could not be had come with the connection.

    With it: how often it was asked for since the stream is back.
    """
    page = demo.page
    path = f"/api/pipeline-runs/{page.url.rpartition('/')[2]}"
    asked: list[float] = []
    tried: list[str] = []

    def refuse(route: Route) -> None:
        if route.request.resource_type == "fetch":
            tried.append(route.request.url)
        route.abort()

    page.route("**/thumb", refuse)
    page.route("**/api/events*", lambda route: route.abort())
    page.on("request", lambda request: asked.append(time.monotonic()) if request.url.endswith(path) else None)
    page.reload()
    expect(page.get_by_text("Connection lost.")).to_be_visible()
    page.evaluate("path => fetch(path, {method: 'POST'})", f"{path}/pause")
    expect(page.get_by_test_id("standing")).to_contain_text("Nothing new is begun")
    page.evaluate("path => fetch(path, {method: 'POST'})", f"{path}/resume")
    expect(page.get_by_test_id("standing")).to_contain_text("behind “Sketch”")
    until(page, lambda: len(asked) > 3)
    assert asked[3] - asked[0] > 3 * 1.5
    until(page, lambda: len(set(tried)) == 2 and all(tried.count(each) >= 3 for each in tried))
    page.unroute("**/thumb")
    page.unroute("**/api/events*")
    page.get_by_role("button", name="Try now").click()
    expect(page.get_by_text("Connection lost.")).to_be_hidden()
    expect(page.get_by_role("application", name="Candidate tree")).to_have_attribute("data-drawn", "2")
    listed_ones = page.get_by_role("list", name="Candidates of Sketch").locator("img")
    until(page, lambda: listed_ones.evaluate_all("all => all.filter(each => each.naturalWidth).length") == 2)
    demo.require_calm(but=("ERR_",))
    demo.complaints.clear()
    asked.clear()
    return lambda: len(asked)


def zoom(page: Page) -> None:
    """By keys and by the wheel: more is seen of less; zero shows all of it again."""
    tree = page.get_by_role("application", name="Candidate tree")
    expect(tree).to_have_attribute("data-drawn", "2")
    tree.focus()
    page.keyboard.press("0")
    page.wait_for_timeout(500)  # a frame that rests is painted anew
    whole = tree.screenshot()
    tree.hover()
    for way in ("+", "wheel"):
        page.mouse.wheel(0, -300) if way == "wheel" else page.keyboard.press(way)
        until(page, lambda: tree.screenshot() != whole)
        page.keyboard.press("0")
        until(page, lambda: tree.screenshot() == whole)


@pytest.mark.timeout(300)
def test_what_failed_is_tried_again(demo: Watched, studio: Studio) -> None:
    page, name = demo.page, fresh("Too large")
    page.goto(f"{studio.url}/runs/new")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Scene").fill("dunes")
    page.get_by_label("Mood").fill("night")
    type_over(page.get_by_label("Variants"), "1")

    # What cannot be read a second time stays, and so does all that was typed.
    page.wait_for_timeout(5_100)  # until then it is fresh
    page.route(
        "**/api/pipelines?*",
        lambda route: route.fulfill(status=404, json={"error": {"code": "not_found", "message": "Gone."}}),
    )
    with page.expect_response("**/api/pipelines?*"):
        page.evaluate("() => ['offline', 'online'].forEach(each => window.dispatchEvent(new Event(each)))")
    page.wait_for_timeout(200)
    expect(page.get_by_label("Scene")).to_have_value("dunes")
    page.unroute("**/api/pipelines?*")

    # Every prompt is refused: the run tries three times, then it has failed.
    studio.order_faults(routes=[{"path": "/prompt", "kind": "status", "method": "POST", "status": 413}])
    try:
        page.get_by_role("button", name="Start", exact=True).click()
        expect(page.get_by_text("3 failed")).to_be_visible(timeout=MADE_WITHIN_MS)
        expect(page.get_by_role("main").get_by_text("failed", exact=True)).to_be_visible()
    finally:
        studio.order_faults()
    page.get_by_role("button", name="Failures").click()
    drawer = page.get_by_role("dialog", name="What failed")
    again = drawer.get_by_role("button", name="Retry", exact=True)
    expect(again).to_have_count(3)
    expect(drawer.get_by_text("The prompt is larger than it takes").first).to_be_visible()
    demo.require_accessible("what failed")
    again.first.click()
    expect(again).to_have_count(2)
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("standing")).to_contain_text("behind “Sketch”", timeout=MADE_WITHIN_MS)
    expect(page.get_by_role("list", name="Candidates of Sketch").get_by_role("button")).to_have_count(1)
    demo.require_calm(but=("404",))


@pytest.mark.timeout(300)
def test_a_run_without_tokens_says_where_there_are_more(browser: Browser, studio: Studio) -> None:
    """And before: a session that ends in its form, of which nothing is lost."""
    price = price_of_a_sketch(studio)
    email, give = somebody_with(studio, tokens=price)
    with a_page(browser, studio.session_of(email)) as watched:
        page = watched.page
        page.goto(f"{studio.url}/runs/new")
        page.get_by_label("Name").fill("On a shoestring")
        page.get_by_label("Scene").fill("a desert")
        page.get_by_label("Mood").fill("noon")
        page.get_by_label("Variants").fill("2")
        page.get_by_role("button", name="Budget and more").click()
        page.get_by_label("At most, in jobs").fill("9")
        page.reload()
        expect(page.get_by_label("At most, in jobs")).to_have_value("9")
        end_session(studio, page)
        # Not by the mouse: the stream may have noticed already, and then the login stands before the button.
        page.get_by_role("button", name="Start", exact=True).dispatch_event("click")
        log_in_again(page)
        expect(page.get_by_role("heading", name="On a shoestring")).to_be_visible()

        # It stands still, says so, and leads to more.
        standing = page.get_by_test_id("standing")
        expect(standing).to_contain_text("does not hold enough tokens", timeout=MADE_WITHIN_MS)
        way = page.get_by_role("alert", name="More tokens")
        expect(way).to_contain_text("Ask Mira at the front desk.")
        expect(way.get_by_role("link", name="Get tokens")).to_have_attribute("href", "https://shop.example/tokens")
        sketches = page.get_by_role("list", name="Candidates of Sketch").get_by_role("button")
        expect(sketches).to_have_count(1)
        watched.require_accessible("a run without tokens")
        sketches.click()
        drawer = page.get_by_role("dialog", name="Sketch")
        drawer.get_by_role("button", name="Replay").click()
        expect(drawer.get_by_role("alert")).to_contain_text(f"This needs {price} tokens. You have 0 tokens.")
        expect(drawer.get_by_role("link", name="Get tokens")).to_be_visible()

        # With tokens one is made again, and the run goes on when it is told to, as it said.
        give(2 * price)
        drawer.get_by_role("button", name="Replay").click()
        expect(drawer.get_by_role("link", name="see the job")).to_be_visible()
        again = drawer.get_by_role("link", name="see the job").get_attribute("href")
        page.keyboard.press("Escape")
        expect(standing).to_contain_text("It does not go on by itself")
        page.get_by_role("button", name="Resume").click()
        expect(standing).to_contain_text("behind “Sketch”", timeout=MADE_WITHIN_MS)
        expect(way).to_be_hidden()
        expect(sketches).to_have_count(2)
        page.goto(f"{studio.url}{again}")
        expect(page.get_by_role("link", name="Download")).to_be_visible(timeout=MADE_WITHIN_MS)
        # A run that was begun leaves an empty form.
        page.goto(f"{studio.url}/runs/new")
        expect(page.get_by_label("Scene")).to_have_value("")
        watched.require_calm(but=("401", "422"))


def price_of_a_sketch(studio: Studio) -> int:
    return int(studio.asking("/api/admin/effects/paint", "GET")["credits_cost"])


def somebody_with(studio: Studio, *, tokens: int) -> tuple[str, Callable[[int], None]]:
    """A user of the demo's tenant, and how to give them more."""
    email = f"{fresh('poor')}@demo.test"
    tenants = studio.asking("/api/admin/tenants", "GET")["tenants"]
    tenant = f"/api/admin/tenants/{next(each['id'] for each in tenants if each['slug'] == 'demo')}"
    made = studio.asking(f"{tenant}/users", email=email)
    chosen = {"token": made["link"].partition("#token=")[2], "password": PASSWORD}
    assert httpx2.post(f"{studio.server.url}/api/auth/password", json=chosen).status_code == 200

    def give(amount: int) -> None:
        key = uuid4().hex
        studio.asking(f"{tenant}/credits", user_id=made["user"]["id"], amount=amount, provider_transaction_id=key)

    give(tokens)
    return email, give


def end_session(studio: Studio, page: Page) -> None:
    (cookie,) = page.context.cookies()
    ours = {"Cookie": f"{cookie['name']}={cookie['value']}", "Origin": studio.server.url}
    assert httpx2.post(f"{studio.server.url}/api/auth/logout", headers=ours).status_code == 204


def log_in_again(page: Page) -> None:
    ended = page.get_by_role("dialog", name="Your session has ended")
    ended.get_by_label("Password").fill(PASSWORD)
    ended.get_by_role("button", name="Log in").click()
    expect(ended).to_be_hidden()


def test_a_long_seed_stays_as_it_is_typed(demo: Watched, studio: Studio) -> None:
    page = demo.page
    page.goto(f"{studio.url}/effects/paint")
    page.get_by_label("A new one each time").uncheck()
    seed = page.get_by_label("Seed", exact=True)
    type_over(seed, "18446744073709551615")
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_text("Too long: beyond 9007199254740991")).to_be_visible()
    expect(seed).to_have_value("18446744073709551615")
    type_over(seed, "156680208700286")
    seed.blur()
    with page.expect_response(lambda answer: answer.request.method == "POST") as ordered:
        page.get_by_role("button", name="Start").click()
    assert ordered.value.json()["properties"]["seed"] == 156680208700286
    demo.require_calm()
