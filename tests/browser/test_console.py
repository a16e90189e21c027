"""The operator's console, in a real browser before a real fleet: engine, worker, jobs that run."""

import re
import shutil
from pathlib import Path
from uuid import uuid4

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import DEMO, ROOT, Studio, Watched, go, until

PAINT = ROOT / "examples" / "paint.json"
RUNS_WITHIN_MS = 60_000


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    # Another name each time: what was registered stays.
    return Path(shutil.copy(PAINT, tmp_path / f"Painting {uuid4().hex[:6]}.json"))


def test_from_a_graph_to_a_published_effect_with_a_finished_job(operator: Watched, studio: Studio, graph: Path) -> None:
    page, name = operator.page, graph.stem
    slug, title = name.lower().replace(" ", "-"), f"Night {name}"
    page.goto(f"{studio.url}/console")
    go(page, "Workflows")
    page.get_by_role("link", name="Import a graph").click()
    page.get_by_label("Or paste it").fill('{"nodes": [], "links": []}')
    page.get_by_role("button", name="Look at it").click()
    expect(page.get_by_role("alert")).to_contain_text("Export (API)")
    page.set_input_files("input[type=file]", graph)
    expect(page.get_by_label("Slug")).to_have_value(slug)
    expect(page.get_by_text("What users may set", exact=True)).to_be_visible()
    page.get_by_label("Users may set Paint: steps").uncheck(force=True)
    page.get_by_role("button", name="Register").click()
    expect(page.get_by_role("heading", level=1, name=name)).to_be_visible()
    expect(page.locator(".react-flow__node")).to_have_count(2)

    page.get_by_role("link", name="Make an effect").click()
    page.get_by_role("textbox", name="Name", exact=True).fill(title)
    page.get_by_label("Price in tokens").fill("2")
    expect(page.get_by_role("heading", name="The form")).to_be_visible()
    page.get_by_role("button", name="Make the effect").click()
    expect(page.get_by_role("heading", level=1, name=title)).to_be_visible()
    page.get_by_role("button", name="Publish").click()
    expect(page.get_by_text("published", exact=True)).to_be_visible()
    expect(page.get_by_text(f"Users see {title} now.")).to_be_visible()

    job = studio.order(f"night-{slug}", prompt="a sea")
    go(page, "Dispatches")
    page.locator(f'a[href$="{job}"]').click()
    expect(page.get_by_text("completed", exact=True).first).to_be_visible(timeout=RUNS_WITHIN_MS)
    page.get_by_role("button", name="Payload: what its worker gets").click()
    expect(page.get_by_label("Payload", exact=True)).to_contain_text("FleetPaint")
    operator.picture("console-dispatch")

    go(page, "Timeline")
    page.get_by_role("button", name="Attempts in this time, as a table").click()
    expect(page.get_by_role("table").get_by_text(slug).first).to_be_visible()
    click_block(page)
    expect(page).to_have_url(re.compile(r"/console/dispatches/[0-9a-f-]{36}$"))

    go(page, "Audit log")
    row = page.get_by_role("row").filter(has_text="effect: publish").filter(has_text=f"night-{slug}")
    expect(row).to_contain_text("operator@localhost")
    operator.require_calm(but=("422",))


def click_block(page: Page) -> None:
    """Where the picture says that something is under the pointer: as people find it."""
    ground = page.get_by_test_id("ground")
    ground.scroll_into_view_if_needed()
    box = ground.bounding_box()
    assert box is not None
    for back in range(4, 700, 2):
        page.mouse.move(box["x"] + box["width"] - back, box["y"] + 36)
        if ground.evaluate("each => each.style.cursor") == "pointer":
            expect(page.get_by_text("Outcome")).to_have_count(2)  # the card and the table
            page.mouse.down()
            page.mouse.up()
            return
    raise AssertionError("no block on the line of the worker")


def test_a_worker_is_drained_and_taken_back(operator: Watched, studio: Studio) -> None:
    page = operator.page
    page.goto(f"{studio.url}/console")
    expect(page.get_by_role("region", name="Health").or_(page.get_by_label("Health"))).to_contain_text("Healthy")
    go(page, "Workers")
    page.get_by_role("table").get_by_role("link", name="up").click()
    page.get_by_role("button", name="Drain").click()
    expect(page.get_by_text("draining", exact=True)).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("approved", exact=True)).to_be_visible()
    page.get_by_role("button", name="Drain").click()
    page.get_by_role("button", name="Undrain").click()
    expect(page.get_by_text("approved", exact=True)).to_be_visible()
    page.get_by_role("button", name="Revoke").click()
    expect(page.get_by_role("dialog")).to_contain_text("cannot be undone")
    page.get_by_role("button", name="Keep").click()
    page.get_by_role("link", name="demo-paint", exact=True).click()
    expect(page.get_by_role("heading", level=1, name="Painting")).to_be_visible()

    page.goto(f"{studio.url}/console/add-worker")
    page.get_by_role("button", name="Make a secret").click()
    line = page.get_by_text(re.compile(r"COMFYFLEET_FLEET_SECRET=\S+ comfyfleet worker --control-plane"))
    expect(line).to_be_visible()
    expect(line).not_to_contain_text("paste")
    operator.require_calm()


def test_tokens_are_credited_and_settings_show_no_secret(operator: Watched, studio: Studio) -> None:
    page = operator.page
    page.goto(f"{studio.url}/console/tenants")
    page.get_by_role("link", name="Demo", exact=True).click()
    page.get_by_role("button", name=f"Wallet of {DEMO}").click()
    page.get_by_label("Tokens", exact=True).fill("250")
    page.get_by_role("button", name="Credit").click()
    expect(page.get_by_role("table", name="Ledger")).to_contain_text("+250")
    page.keyboard.press("Escape")
    go(page, "Settings")
    page.get_by_label("Search settings").fill("secret_key")
    expect(page.get_by_role("table")).to_contain_text("not set")
    go(page, "Blocks")
    expect(page.get_by_text("No blocks")).to_be_visible()
    operator.require_calm()


PAGES = (
    "",
    "/timeline",
    "/workers",
    "/workers/up",
    "/add-worker",
    "/fleets",
    "/dispatches",
    "/blocks",
    "/workflows",
    "/workflows/new",
    "/workflows/demo-paint",
    "/effects",
    "/effects/paint",
    "/effects/new",
    "/tenants",
    "/audit-log",
    "/settings",
)


AT_ONCE = ("/add-worker", "/workflows/new", "/effects/new")  # nothing has to come before they can be used


def test_every_page_fits_every_screen_and_is_accessible(operator: Watched, studio: Studio) -> None:
    """While it loads, and then at each width, light and dark."""
    page = operator.page
    fleet = studio.asking("/api/admin/fleets", "GET")["fleets"][0]["id"]
    tenant = studio.asking("/api/admin/tenants", "GET")["tenants"][0]["id"]
    job = studio.order("paint", prompt="a sea")
    until(page, lambda: studio.asking(f"/api/admin/dispatches/{job}", "GET")["dispatch"]["finished_at"], within_s=60)
    of_their_own = {"fleet": f"/fleets/{fleet}", "tenant": f"/tenants/{tenant}", "job": f"/dispatches/{job}"}
    for name, path in ({each: each for each in PAGES} | of_their_own).items():
        url = f"{studio.url}/console{path}"
        if path in AT_ONCE:
            page.goto(url)
        else:
            operator.require_says_that_it_loads(url)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        operator.require_fits_everywhere(f"console-{name.strip('/').replace('/', '-') or 'overview'}")
    operator.require_calm()
