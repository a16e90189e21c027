"""The operator's console, in a real browser before a real fleet: engine, worker, jobs that run."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from playwright.sync_api import Page, Route, expect

from comfyfleet.cli.up.neighbours import WORKER_ID
from tests.browser.conftest import DEMO, ROOT, WORKER_WITHIN_S, Studio, Watched, go, until, worker_takes_work
from tests.kept_logs import wait_for

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
    page.get_by_label("Or paste it").fill('{"nodes": [{"id": 1, "type": "NodeOfNobody"}], "links": []}')
    page.get_by_role("button", name="Look at it").click()
    expect(page.get_by_role("alert")).to_contain_text("NodeOfNobody")
    expect(page.get_by_role("alert")).to_contain_text("Export (API)")
    drop(page, graph)
    expect(page.get_by_label("Slug")).to_have_value(slug)
    expect(page.get_by_text("What users may set", exact=True)).to_be_visible()
    page.get_by_label("Users may set Paint: steps").uncheck(force=True)
    # What is proposed is corrected: its name, what it allows, whether it is needed; the form beside it follows.
    form = page.locator("section").filter(has=page.get_by_role("heading", name="The form"))
    page.get_by_role("button", name="More about Paint: width").click()
    page.get_by_role("textbox", name="Least", exact=True).fill("256")
    page.get_by_role("textbox", name="Most", exact=True).fill("128")
    expect(page.get_by_text("Paint: width: the least is more than the most.")).to_be_visible()
    expect(page.get_by_role("button", name="Create workflow")).to_be_disabled()
    page.get_by_role("textbox", name="Most", exact=True).fill("1024")
    page.get_by_role("textbox", name="Step", exact=True).fill("256")
    page.get_by_role("checkbox", name="Needed", exact=True).check()
    page.get_by_role("textbox", name="Label", exact=True).fill("Breadth")
    expect(form.get_by_role("slider", name="Breadth")).to_have_attribute("aria-valuemax", "1024")
    page.get_by_role("button", name="Create workflow").click()
    expect(page.get_by_role("heading", level=1, name=name)).to_be_visible()
    expect(page.locator(".react-flow__node")).to_have_count(2)
    kept = studio.asking(f"/api/admin/workflows/{slug}", "GET")["version"]["properties"]
    said = {each["label"]: (each["minimum"], each["maximum"], each["step"], each["required"]) for each in kept}
    assert said["Breadth"] == (256, 1024, 256, True)

    # Of a list that comes in many pages, all can be chosen.
    page.route("**/api/admin/workflows?limit=100*", in_pages_of_two)
    page.get_by_role("link", name="Make an effect").click()
    page.get_by_role("combobox", name="Workflow").click()
    known = len(studio.asking("/api/admin/workflows?limit=100", "GET")["workflows"])
    assert known > 3
    expect(page.get_by_role("option")).to_have_count(known)
    page.keyboard.press("Escape")
    page.get_by_role("textbox", name="Name", exact=True).fill(title)
    # An emptied price is none, and least of all free.
    page.get_by_label("Price in tokens").fill("")
    expect(page.get_by_text("Enter a price; 0 is free.")).to_be_visible()
    expect(page.get_by_role("button", name="Create effect")).to_be_disabled()
    page.get_by_label("Price in tokens").fill("2")
    expect(page.get_by_role("heading", name="The form")).to_be_visible()
    page.get_by_role("button", name="Create effect").click()
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

    go(page, "Overview")
    require_numbers(page, studio)

    go(page, "Timeline")
    page.get_by_role("button", name="Attempts in this time, as a table").click()
    expect(page.get_by_role("table").get_by_text(slug).first).to_be_visible()
    click_block(page)
    expect(page).to_have_url(re.compile(r"/console/dispatches/[0-9a-f-]{36}$"))

    go(page, "Audit log")
    row = page.get_by_role("row").filter(has_text="effect: publish").filter(has_text=f"night-{slug}")
    expect(row).to_contain_text("operator@localhost")
    operator.require_calm(but=("422",))


def drop(page: Page, file: Path) -> None:
    """As from a folder on the desktop."""
    carried = page.evaluate_handle(
        """([text, name]) => {
            const carried = new DataTransfer();
            carried.items.add(new File([text], name, { type: 'application/json' }));
            return carried;
        }""",
        [file.read_text(), file.name],
    )
    place = page.get_by_text("Drop a graph here")
    for event in ("dragenter", "dragover", "drop"):
        place.dispatch_event(event, {"dataTransfer": carried})


def in_pages_of_two(route: Route) -> None:
    """The server's own pages, only smaller ones: nobody has to make a hundred workflows."""
    route.continue_(url=route.request.url.replace("limit=100", "limit=2"))


def require_numbers(page: Page, studio: Studio) -> None:
    """What is shown is what the server counts: it goes on meanwhile."""

    def shows() -> bool:
        told = studio.asking("/api/admin/overview", "GET")
        hour = told["last_hour"]
        done, failed = sum(hour["completed"]), sum(hour["failed"])
        busy = page.get_by_role("region", name="Busy, last hour").inner_text()
        ended = page.get_by_role("img", name=re.compile(rf"^{done} completed, {failed} failed")).count()
        rate = page.get_by_role("region", name="Finished a minute").inner_text()
        reasons = page.get_by_role("heading", name="How attempts ended").locator("xpath=ancestor::section").inner_text()
        return (
            done > 0
            and ended == 1
            and f"{done} in the last hour" in rate
            and f"{int(told['busy_share'] * 100 + 0.5)} %" in busy
            and all(str(number) in reasons for number in hour["by_reason"].values())
            and ("completed" in reasons) == ("completed" in hour["by_reason"])
        )

    until(page, shows)


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


@pytest.fixture
def worker_is_given_back(studio: Studio) -> Iterator[None]:
    """One that stays drained would take no work for all tests after this one, whatever fell here."""
    yield
    studio.asking(f"/api/admin/workers/{WORKER_ID}/approve")
    wait_for(
        lambda: worker_takes_work(studio.server),
        within_s=WORKER_WITHIN_S,
        what="the worker takes work again",
        log=studio.server.folder / "err.txt",
    )


@pytest.mark.usefixtures("worker_is_given_back")
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
    expect(page.get_by_role("button", name="Undrain")).to_be_visible()
    # The only one takes nothing: nobody is told that all is well.
    go(page, "Overview")
    expect(page.get_by_role("region", name="Health")).to_contain_text(re.compile(r"0 of \d+ workers? takes? work"))
    expect(page.get_by_role("region", name="Health")).not_to_contain_text("Healthy")
    page.goto(f"{studio.url}/console/workers/up")
    page.get_by_role("button", name="Undrain").click()
    expect(page.get_by_text("approved", exact=True)).to_be_visible()
    page.get_by_role("button", name="Revoke").click()
    asked = page.get_by_role("dialog", name="Shut out worker “up”?")
    expect(asked).to_contain_text("cannot be undone")
    expect(asked).not_to_contain_text(re.compile(r"\b[01] leases"))
    page.get_by_role("button", name="Keep").click()
    page.get_by_role("link", name="demo-paint", exact=True).click()
    expect(page.get_by_role("heading", level=1, name="Painting")).to_be_visible()

    page.goto(f"{studio.url}/console/add-worker")
    page.get_by_role("button", name="Create secret").click()
    line = page.get_by_text(re.compile(r"COMFYFLEET_FLEET_SECRET=\S+ comfyfleet worker --control-plane"))
    expect(line).to_be_visible()
    expect(line).not_to_contain_text("paste")

    # A secret that was made here is known by its name, and retired here.
    go(page, "Fleets")
    made = page.get_by_role("table", name="Fleet secrets").get_by_role("row").filter(has_text="made in the console")
    expect(made).to_contain_text("active")
    made.get_by_role("button", name="Retire").click()
    expect(page.get_by_role("dialog")).to_contain_text("Those that are registered go on.")
    page.get_by_role("dialog").get_by_role("button", name="Retire").click()
    expect(made).to_contain_text("retired")
    expect(made.get_by_role("button", name="Retire")).to_have_count(0)
    operator.require_calm()


def test_tokens_are_credited_and_settings_show_no_secret(operator: Watched, studio: Studio) -> None:
    page = operator.page
    page.goto(f"{studio.url}/console/tenants")
    page.get_by_role("link", name="Demo", exact=True).click()
    page.get_by_role("button", name=f"Wallet of {DEMO}").click()
    ledger = page.get_by_role("table", name="Ledger")
    expect(ledger).to_be_visible()
    tokens = page.get_by_label("Tokens", exact=True)
    asked = page.get_by_role("dialog", name="Credit 251 tokens?")
    # Enter alone moves nothing, and whoever is asked can still leave it.
    tokens.fill("251")
    tokens.press("Enter")
    page.get_by_role("button", name="Credit", exact=True).click()
    expect(asked).to_contain_text(DEMO)
    asked.get_by_role("button", name="Keep").click()
    expect(asked).to_be_hidden()
    tokens.fill("")
    expect(page.get_by_role("button", name="Credit", exact=True)).to_be_disabled()
    tokens.fill("250")
    page.get_by_role("button", name="Credit", exact=True).click()
    page.get_by_role("dialog", name="Credit 250 tokens?").get_by_role("button", name="Credit 250 tokens").click()
    expect(page.get_by_text(f"250 tokens credited to {DEMO}.")).to_be_visible()
    expect(ledger).to_contain_text("+250")
    expect(ledger).not_to_contain_text("+251")
    # What happens elsewhere is read within seconds, and a long ledger can be read to its end.
    credit_behind_the_back(studio, 21)
    expect(ledger.get_by_text("+1", exact=False).first).to_be_visible()
    expect(ledger).not_to_contain_text("+250")
    page.get_by_role("button", name="Show more").click()
    expect(ledger).to_contain_text("+250")
    page.keyboard.press("Escape")
    go(page, "Settings")
    page.get_by_label("Search settings").fill("secret_key")
    expect(page.get_by_role("table")).to_contain_text("not set")
    page.get_by_label("Search settings").fill("")
    page.get_by_label("Only what is not a default").check(force=True)
    expect(page.get_by_role("row").filter(has_text="logins_per_minute")).to_contain_text("1000")
    shown = page.get_by_role("table").locator("tbody").get_by_role("row")
    changed = [each for each in studio.asking("/api/admin/settings", "GET")["settings"] if each["source"] != "default"]
    expect(shown).to_have_count(len(changed))
    go(page, "Blocks")
    expect(page.get_by_text("No blocks")).to_be_visible()
    operator.require_calm()


def credit_behind_the_back(studio: Studio, times: int) -> None:
    tenants = studio.asking("/api/admin/tenants", "GET")["tenants"]
    tenant = f"/api/admin/tenants/{next(each['id'] for each in tenants if each['slug'] == 'demo')}"
    users = studio.asking(f"{tenant}/users", "GET")["users"]
    user = next(each["id"] for each in users if each["email"] == DEMO)
    for _ in range(times):
        studio.asking(f"{tenant}/credits", user_id=user, amount=1, provider_transaction_id=uuid4().hex)


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
    "/notifications",
    "/audit-log",
    "/settings",
)


AT_ONCE = ("/add-worker", "/workflows/new", "/effects/new")  # nothing has to come before they can be used


@pytest.mark.timeout(300)
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
