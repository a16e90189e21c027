"""The pipelines board: a run from its start to its finals, chosen by hand, in a real browser."""

import io
import json
import re
import zipfile

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Studio, Watched

MADE_WITHIN_MS = 120_000
VOTES = 10
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
    demo.require_accessible("two to compare")
    page.get_by_role("link", name=f"← {HOSTILE}").click()
    expect(page.get_by_role("link", name=f"Compare · {VOTES} votes so far")).to_be_visible()

    # The arrow keys walk along the tree; Enter opens.
    let_on(page, "Sketch")
    let_on(page, "Painted over")
    expect(page.get_by_test_id("standing")).to_have_text("Finished.", timeout=MADE_WITHIN_MS)
    tree = page.get_by_role("application", name="Candidate tree")
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
    for path, name, seen in (
        ("/runs", "board-runs", re.compile("By hand")),
        ("/pipelines", "board-pipelines", re.compile("Painted postcard")),
        ("/runs/new", "board-new", re.compile("Up to .* pictures")),
    ):
        page.goto(f"{studio.url}{path}")
        page.get_by_text(seen).first.wait_for()
        demo.require_fits_everywhere(name)
    demo.require_calm()
