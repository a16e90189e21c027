"""The pipelines board: a run from its start to its finals, chosen by hand, in a real browser."""

import io
import json
import re
import zipfile
from datetime import datetime, timedelta

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.conftest import Studio, Watched, fresh, until

MADE_WITHIN_MS = 120_000
VOTES = 10
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


def let_on(page: Page, step: str) -> None:
    expect(page.get_by_test_id("standing")).to_contain_text(f"behind “{step}”", timeout=MADE_WITHIN_MS)
    page.get_by_role("button", name="Let them on").click()


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

    # Ten votes by keyboard, one of them taken back.
    page.get_by_role("link", name="Compare").click()
    page.get_by_test_id("pair").wait_for()
    first = pair_of(page)
    vote(page, "ArrowLeft")
    page.keyboard.press("u")
    expect(page.locator("[data-candidate]").first).to_have_attribute("data-candidate", first[0])
    for number in range(VOTES):
        vote(page, "ArrowLeft" if number % 2 else "ArrowRight")
    expect(page.get_by_text(f"{VOTES} just now")).to_be_visible()
    demo.require_fits_everywhere("board-vote")
    page.get_by_role("link", name=f"← {HOSTILE}").click()
    expect(page.get_by_role("link", name=f"Compare · {VOTES} votes so far")).to_be_visible()

    # The arrow keys walk along the tree; Enter opens.
    let_on(page, "Sketch")
    let_on(page, "Painted over")
    expect(page.get_by_test_id("standing")).to_have_text("Finished.", timeout=MADE_WITHIN_MS)
    tree = page.get_by_role("application", name="Candidate tree")
    made = page.request.get(f"{studio.url}/api/pipeline-runs/{page.url.rpartition('/')[2]}/tree").json()["candidates"]
    expect(tree).to_have_attribute("data-drawn", str(len(made)))  # the last of them stands there, too
    tree.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    drawer = page.get_by_role("dialog")
    expect(drawer.get_by_text("How it was made")).to_be_visible()
    expect(drawer.get_by_text("Number 1")).to_be_visible()
    expect(drawer.get_by_role("heading", name="Made from")).to_be_visible()
    demo.require_accessible("a candidate")
    page.keyboard.press("Escape")
    expect(drawer).to_be_hidden()

    with page.expect_download() as downloading:
        page.get_by_role("link", name="Export").click()
    with zipfile.ZipFile(io.BytesIO(downloading.value.path().read_bytes())) as archive:
        [winner] = json.loads(archive.read("run.json"))["winners"]
        assert archive.read(winner["file"]).startswith(b"\x89PNG")

    page.get_by_role("link", name="← All runs").click()
    expect(page.get_by_role("listitem").filter(has_text=HOSTILE)).to_contain_text("completed")
    assert page.title() == "Runs · comfyfleet"
    demo.require_calm()


@pytest.mark.timeout(300)
def test_a_run_is_taken_in_hand(demo: Watched, studio: Studio) -> None:
    """Paused, given more, a candidate rejected, stopped for good."""
    page = demo.page
    page.goto(f"{studio.url}/runs/new")
    page.get_by_label("Name").fill("By hand")
    page.get_by_label("Scene").fill("dunes")
    page.get_by_label("Mood").fill("dusk")
    page.get_by_label("Variants").fill("2")
    page.get_by_role("button", name="Budget and more").click()
    page.get_by_label("At most, in jobs").fill("1")
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.get_by_test_id("standing")).to_contain_text("as many jobs as it may", timeout=MADE_WITHIN_MS)
    page.get_by_role("button", name="Budget").click()
    page.get_by_label("Jobs, in all").fill("2")
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
    page.goto(f"{studio.url}/runs/new")
    page.evaluate(BEGIN_AND_STOP, older)
    page.get_by_label("Name").fill(name)
    page.get_by_label("Scene").fill("a harbour")
    page.get_by_label("Mood").fill("storm")
    variants = page.get_by_label("Variants")
    type_over(variants, "20")
    expect(page.get_by_text(re.compile("Up to 8[0-9] pictures"))).to_be_visible()
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
    page.get_by_role("link", name="← All runs").click()
    expect(listed(page, name)).to_contain_text("waiting for approval", timeout=MADE_WITHIN_MS)
    expect(listed(page, name)).to_contain_text("2 of about")
    choose(page, "Which runs", "Running")
    expect(listed(page, name)).to_have_count(0)
    choose(page, "Which runs", "Wait for you")
    listed(page, name).get_by_role("link").click()
    sketches = page.get_by_role("list", name="Candidates of Sketch").get_by_role("button")
    expect(sketches).to_have_count(2)
    demo.require_calm()
    zoom(page)

    # One goes on; two; one after all; none; one after all.
    gate = page.get_by_label("How many go on")
    choose(page, "Step", "Sketch")
    type_over(gate, "0")
    expect(page.get_by_text("At least 1.")).to_be_visible()
    expect(page.get_by_role("button", name="Let them on")).to_be_disabled()
    type_over(gate, "1")
    page.get_by_role("button", name="Let them on").click()
    expect(page.get_by_text("Gate open for the best 1")).to_be_visible()
    type_over(gate, "2")
    page.get_by_role("button", name="Change", exact=True).click()
    expect(page.get_by_text("Gate open for the best 2")).to_be_visible()
    told(page, "The best 2 of “Sketch” go on.").get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Gate open for the best 1")).to_be_visible()
    page.get_by_role("button", name="Close it").click()
    expect(page.get_by_text("Gate closed")).to_be_visible()
    told(page, "The gate is closed again.").get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Gate open for the best 1")).to_be_visible()

    # Stopped, it is among those that were; of all runs the older ones are further down.
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("dialog", name="Stop this run for good?").get_by_role("button", name="Stop").click()
    expect(page.get_by_test_id("standing")).to_have_text("Stopped. What was made stays.")
    page.get_by_role("link", name="← All runs").click()
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
    route.continue_(url=route.request.url.replace("limit=50", "limit=1"))


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
    again = drawer.get_by_role("button", name="Try again")
    expect(again).to_have_count(3)
    expect(drawer.get_by_text("The prompt is larger than it takes").first).to_be_visible()
    demo.require_accessible("what failed")
    again.first.click()
    expect(again).to_have_count(2)
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("standing")).to_contain_text("behind “Sketch”", timeout=MADE_WITHIN_MS)
    expect(page.get_by_role("list", name="Candidates of Sketch").get_by_role("button")).to_have_count(1)
    demo.require_calm(but=("404",))


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
