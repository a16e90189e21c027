"""What an operator does about a fleet at work: jobs that wait, workers that fail or are new, versions, tenants."""

import json
import re
import shlex
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.conftest import (
    DEMO,
    OPERATOR,
    PASSWORD,
    POLL_S,
    SETTLED,
    Asked,
    Studio,
    Watched,
    a_page,
    fresh,
    go,
)
from tests.engines import an_engine_process
from tests.server import environment, server_process

RUNS_WITHIN_MS = 60_000
JOB = re.compile(r"/console/dispatches/[0-9a-f-]{36}$")


def a_nap(seconds: float = 0.2) -> dict[str, Any]:
    """Something that runs anywhere, and quickly."""
    inputs = {"seconds": seconds, "steps": 2, "seed": 0, "previews": False}
    return {
        "1": {"class_type": "FleetSleep", "inputs": inputs, "_meta": {"title": "Nap"}},
        "2": {"class_type": "SaveImage", "inputs": {"images": ["1", 0], "filename_prefix": "nap"}},
    }


def fact(page: Page, name: str) -> Locator:
    """What a page says under “What is known of it”."""
    return page.locator("dt", has_text=re.compile(f"^{name}$")).locator("xpath=following-sibling::dd[1]")


def state(page: Page, status: str) -> None:
    """The page gets there by itself: nobody reloads it."""
    expect(page.locator("#main").get_by_text(status, exact=True).first).to_be_visible(timeout=RUNS_WITHIN_MS)


def confirm(page: Page, label: str, sure: str) -> None:
    page.get_by_role("button", name=label, exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name=sure, exact=True).click()
    expect(page.get_by_role("dialog")).to_be_hidden()


def undo(page: Page, told: str) -> None:
    button = page.get_by_role("alert").filter(has_text=told).get_by_role("button", name="Undo")
    label = button.get_by_text("Undo", exact=True)
    assert label.evaluate("each => each.scrollWidth <= each.clientWidth"), "its word is cut off"
    button.click()
    expect(page.get_by_text("Taken back.")).to_be_visible()


def age(studio: Studio, slug: str) -> None:
    """As if its jobs had waited for minutes: sooner nobody is told that they wait for more than their turn."""
    with closing(sqlite3.connect(next(studio.server.home.rglob("central*.sqlite")))) as database, database:
        aged = """
            UPDATE ai_job_dispatches SET queued_at = strftime('%Y-%m-%dT%H:%M:%f000Z', queued_at, '-5 minutes')
            WHERE workflow_id = (SELECT id FROM workflows WHERE slug = ?)
        """
        assert database.execute(aged, (slug,)).rowcount > 0


TRACE_ID = "0af7651916cd43dd8448eb211c80319c"


def give_trace(studio: Studio, job: str) -> None:
    """As if it had been ordered while traces were on."""
    with closing(sqlite3.connect(next(studio.server.home.rglob("central*.sqlite")))) as database, database:
        given = "UPDATE ai_job_dispatches SET traceparent = ? WHERE id IN (?, ?)"
        text = f"00-{TRACE_ID}-b7ad6b7169203331-01"
        assert database.execute(given, (text, job, job.replace("-", ""))).rowcount == 1


@dataclass(frozen=True)
class Aside:
    """A workflow that no fleet may run, and two jobs that wait for it."""

    slug: str
    first: str
    second: str


@pytest.fixture
def aside(studio: Studio) -> Iterator[Aside]:
    slug = studio.offer("waits-aside", a_nap(), assigned=False)
    made = Aside(slug, studio.order(slug), studio.order(slug))
    age(studio, slug)
    yield made
    # Left behind by a test that failed, they would count as its user's for ever.
    studio.cancel(made.first, made.second)


def test_a_job_that_nobody_may_run_is_explained_moved_cancelled_let_through_and_repeated(
    operator: Watched, studio: Studio, aside: Aside
) -> None:
    page, slug, first, second = operator.page, aside.slug, aside.first, aside.second

    # Who waits, and why: two clicks from the first page.
    page.goto(f"{studio.url}/console")
    expect(page.get_by_role("table", name="Who waits")).to_contain_text("demo")
    row = page.get_by_role("table", name="Queue by workflow").get_by_role("row").filter(has_text=slug)
    row.get_by_role("link", name=slug).click()
    expect(page).to_have_url(re.compile(f"status=queued.*workflow={slug}"))
    expect(page.get_by_role("table", name="Dispatches").locator("tbody").get_by_role("row")).to_have_count(2)
    expect(page.locator(f'a[href$="{first}"]')).to_be_visible()
    give_trace(studio, first)
    page.locator(f'a[href$="{first}"]').click()
    trace = fact(page, "Trace").get_by_role("link", name="Trace")
    expect(trace).to_have_attribute("href", f"https://traces.example/trace/{TRACE_ID}")

    # Another place in the queue, taken back, and what cannot be.
    page.get_by_role("button", name="Priority").click()
    page.get_by_role("dialog").get_by_label("Priority").fill("")
    expect(page.get_by_role("button", name="Set", exact=True)).to_be_disabled()
    page.get_by_role("dialog").get_by_label("Priority").fill("7")
    page.get_by_role("button", name="Set", exact=True).click()
    expect(fact(page, "Priority")).to_have_text("7")
    undo(page, "Its priority is 7.")
    expect(fact(page, "Priority")).to_have_text("0")
    operator.require_accessible("a job that waits")

    expect(page.get_by_role("alert").filter(has_text="Why nobody takes it")).to_contain_text(
        "No worker that is online may run"
    )

    # The other one is taken out of the queue.
    page.goto(f"{studio.url}/console/dispatches/{second}")
    page.get_by_role("button", name="Cancel job").click()
    expect(page.get_by_role("dialog")).to_contain_text("its tokens are given back")
    page.get_by_role("dialog").get_by_role("button", name="Cancel it").click()
    state(page, "cancelled")

    # A fleet gets the workflow, and the first one runs.
    go(page, "Fleets")
    page.get_by_role("row").filter(has_text="demo/default").get_by_role("link").click()
    page.get_by_role("combobox", name="Workflow to assign").click()
    page.get_by_role("option", name=slug).click()
    page.get_by_role("button", name="Assign", exact=True).last.click()
    expect(page.get_by_text(f"Workers of this fleet may run {slug}.")).to_be_visible()
    assigned = page.get_by_role("table", name="Assignments").get_by_role("row").filter(has_text=slug)
    expect(assigned).to_contain_text("active")
    page.goto(f"{studio.url}/console/dispatches/{first}")
    state(page, "completed")
    expect(page.get_by_role("table", name="Attempts")).to_contain_text("No. 1")

    # Once more: another job, with its own attempt.
    confirm(page, "Retry", "Make a new job")
    expect(page).not_to_have_url(re.compile(first))
    expect(page).to_have_url(JOB)
    state(page, "completed")
    expect(fact(page, "Attempts")).to_have_text("1 of 3")

    # Taken away, and given back by Undo.
    go(page, "Fleets")
    page.get_by_role("row").filter(has_text="demo/default").get_by_role("link").click()
    assigned.get_by_role("button", name="Unassign").click()
    expect(assigned).to_contain_text("paused")
    undo(page, f"get no {slug} any more")
    expect(assigned).to_contain_text("active")
    operator.require_calm()


def test_a_fleet_is_made_and_a_wrong_name_is_explained(operator: Watched, studio: Studio) -> None:
    page, slug = operator.page, fresh("night")
    page.goto(f"{studio.url}/console/fleets")
    page.get_by_role("button", name="New fleet").click()
    dialog = page.get_by_role("dialog", name="A new fleet")
    dialog.get_by_label("Slug").fill("No Such Slug!")
    dialog.get_by_role("button", name="Create").click()
    expect(dialog.get_by_role("alert")).to_contain_text("lower-case")
    dialog.get_by_label("Slug").fill(slug)
    dialog.get_by_label("Name").fill(f"Shift of {slug}")
    # A session that ends meanwhile takes nothing of this away, and what was pressed happens once somebody is back.
    page.context.clear_cookies()
    dialog.get_by_role("button", name="Create").dispatch_event("click")
    ended = page.get_by_role("dialog", name="Your session has ended")
    ended.get_by_label("Password").fill(PASSWORD)
    ended.get_by_role("button", name="Log in").click()
    expect(page.get_by_text(f"Fleet {slug}/production is there.")).to_be_visible()
    page.get_by_role("link", name=f"Shift of {slug}").click()
    expect(page.get_by_text("No worker has registered with this fleet yet.")).to_be_visible()
    expect(page.get_by_text(f"--fleet {slug}")).to_be_visible()
    # Its first worker comes, and the page says so by itself.
    join(studio, slug)
    expect(page.get_by_text("No worker has registered with this fleet yet.")).to_have_count(0)
    state(page, "approved")
    studio.asking(f"/api/admin/workers/{slug}/revoke")
    state(page, "revoked")
    operator.require_calm(but=("422", "401"))


def join(studio: Studio, fleet: str) -> None:
    """A worker of that fleet and name, that only registers."""
    secret = studio.asking("/api/admin/fleet-secrets", name=fleet, fleet=f"{fleet}/production")["secret"]
    said = {"worker_id": fleet, "fleet_slug": fleet, "stage": "production"}
    url = f"{studio.server.url}/api/worker/register"
    httpx2.post(url, json=said, headers={"X-Fleet-Secret": secret}).raise_for_status()


def test_without_its_stream_the_console_asks_every_two_seconds(operator: Watched, studio: Studio) -> None:
    page, unseen, seen = operator.page, fresh("unseen"), fresh("seen")
    page.route("**/api/admin/live*", lambda route: route.abort())
    page.goto(f"{studio.url}/console/fleets")
    expect(page.get_by_text("Connection lost. The fleet goes on;")).to_be_visible()
    studio.asking("/api/admin/fleets", slug=unseen, stage="x")
    expect(page.get_by_role("table", name="Fleets")).to_contain_text(unseen)
    go(page, "Workers")
    join_late = page.get_by_role("table", name="Workers").get_by_role("row").filter(has_text=seen)
    studio.asking("/api/admin/fleets", slug=seen, stage="production")
    join(studio, seen)
    expect(join_late).to_contain_text("approved")

    # And back: nobody asks any more, and is told instead.
    page.unroute("**/api/admin/live*")
    page.get_by_role("button", name="Try now").click()
    expect(page.get_by_text("Connection lost.")).to_be_hidden()
    studio.asking(f"/api/admin/workers/{seen}/revoke")
    expect(join_late).to_contain_text("revoked")
    operator.require_calm(but=("ERR_FAILED",))


def test_with_its_stream_the_console_is_told_what_others_do_and_asks_for_nothing(
    operator: Watched, studio: Studio
) -> None:
    page, slug, fleet = operator.page, fresh("told"), fresh("told")
    studio.wait_for_previews()
    # The first to listen after a while is told that something happened before.
    operator.goto_and_listen(f"{studio.url}/console")
    for path in ("tenants", "audit-log", "effects", "fleets"):
        operator.goto_and_listen(f"{studio.url}/console/{path}")
        asked = Asked(page)
        page.wait_for_timeout(POLL_S * 1500)
        assert asked.paths == [], path
    go(page, "Fleets")
    studio.asking("/api/admin/fleets", slug=fleet, stage="x")
    expect(page.get_by_role("table", name="Fleets")).to_contain_text(fleet)
    go(page, "Audit log")
    done = page.get_by_role("row").filter(has_text="fleet: create").filter(has_text=fleet)
    expect(done).to_be_visible()
    go(page, "Tenants")
    # From a terminal, in a process that tells the server nothing.
    studio.server.command("tenants", "create", slug)
    page.get_by_role("link", name=slug, exact=True).click()
    expect(page.get_by_text("Nobody yet")).to_be_visible()
    tenant = next(each for each in studio.asking("/api/admin/tenants", "GET")["tenants"] if each["slug"] == slug)
    made = studio.asking(f"/api/admin/tenants/{tenant['id']}/users", email=f"ada@{slug}.test")
    row = page.get_by_role("row").filter(has_text=f"ada@{slug}.test")
    expect(row).to_contain_text("invited")
    # What they do themselves is told as well.
    chosen = {"token": made["link"].partition("#token=")[2], "password": PASSWORD}
    httpx2.post(f"{studio.server.url}/api/auth/password", json=chosen).raise_for_status()
    expect(row).to_contain_text("active")
    operator.require_calm()


def test_a_worker_that_failed_is_kept_away_until_its_block_is_lifted(operator: Watched, studio: Studio) -> None:
    page = operator.page
    # A structure of its own: a block is for all that are built alike.
    graph = a_nap() | {"fails": {"class_type": "ImageInvert", "inputs": {"image": ["1", 0]}}}
    graph["2"] = {"class_type": "SaveImage", "inputs": {"images": ["fails", 0], "filename_prefix": "nap"}}
    slug = studio.offer("fails-once", graph)
    studio.order_faults(prompts={"error_at_node": "fails"})
    failed = studio.order(slug)
    row = page.get_by_role("table", name="Blocks").get_by_role("row").filter(has_text=slug)
    try:
        page.goto(f"{studio.url}/console/blocks")
        expect(row).to_be_visible(timeout=RUNS_WITHIN_MS)
    finally:
        studio.order_faults()
    operator.require_accessible("a block")
    page.goto(f"{studio.url}/console/dispatches/{failed}")
    expect(page.get_by_role("alert").filter(has_text="The size of tensor a")).to_be_visible()
    expect(page.get_by_role("table", name="Attempts")).to_contain_text("execution error")
    operator.require_accessible("a job that failed")
    go(page, "Overview")
    ends = page.get_by_role("heading", name="How attempts ended").locator("xpath=ancestor::section")
    expect(ends.get_by_role("listitem").filter(has_text="execution error")).to_contain_text(re.compile(r"[1-9]"))
    expect(page.get_by_role("region", name="Finished a minute")).to_contain_text("of attempts failed")

    # The next one waits, for nobody else could run it.
    waiting = studio.order(slug)
    page.goto(f"{studio.url}/console/workers/up")
    expect(page.get_by_role("heading", name="Is kept from")).to_be_visible()
    may_run = page.get_by_role("table", name="What it may run").get_by_role("row")
    expect(may_run.filter(has_text=slug)).to_contain_text("not for demo: it failed")
    expect(may_run.filter(has_text="demo-glow")).to_contain_text("yes")
    go(page, "Blocks")
    row.get_by_role("button", name="Clear", exact=True).click()
    expect(page.get_by_role("dialog")).to_contain_text("its failures are forgotten")
    page.get_by_role("dialog").get_by_role("button", name="Clear", exact=True).click()
    expect(row).to_have_count(0)
    page.goto(f"{studio.url}/console/dispatches/{waiting}")
    state(page, "completed")
    operator.require_calm()


def test_a_new_version_comes_into_force_and_the_old_one_comes_back(
    operator: Watched, studio: Studio, tmp_path: Path
) -> None:
    page, slug = operator.page, fresh("two-versions")
    seed = {"name": "seed", "type": "seed", "label": "Seed", "default": "random", "node": "1", "input_name": "seed"}
    kept_as = {"name": "kept_as", "type": "choice", "label": "Kept as", "choices": ["nap", "night", "noon"]}
    properties = [seed, kept_as | {"node": "2", "input_name": "filename_prefix"}]
    studio.asking("/api/admin/workflows", slug=slug, graph=a_nap(), properties=properties, expected_s=2)
    slower = tmp_path / "slower.json"
    twice = {"class_type": "SaveImage", "inputs": {"images": ["1", 0], "filename_prefix": "beside"}}
    slower.write_text(json.dumps(a_nap(0.4) | {"3": twice}))
    page.goto(f"{studio.url}/console/workflows/{slug}")
    page.get_by_role("link", name="New version").click()
    expect(page.get_by_role("heading", level=1, name=f"A new version of {slug}")).to_be_visible()
    page.set_input_files("input[type=file]", slower)
    expect(page.get_by_label("Slug")).to_have_count(0)  # it stays what it is
    # What was confirmed for the version before stays so: one property, by its name, and how long it takes.
    expect(page.get_by_label("Users may set Seed")).to_be_checked()
    expect(page.get_by_label("Users may set Nap: seconds")).not_to_be_checked()
    expect(page.get_by_label("Expected seconds on a GPU")).to_have_value("2")
    # Two nodes save: somebody says which of them makes the result. And a choice gets what it is without a word.
    page.get_by_role("button", name="More about Kept as").click()
    page.get_by_role("combobox", name="The result comes from").click()
    page.get_by_role("option", name="SaveImage (node 3)").click()
    page.evaluate(SETTLED)  # what is still unfolding folds up a list that is opened in it
    page.get_by_role("combobox", name="Default").click()
    page.get_by_role("option", name="night").click()
    page.get_by_role("button", name="Use this version").click()
    expect(fact(page, "Version")).to_contain_text("2,")
    second = studio.asking(f"/api/admin/workflows/{slug}/versions/2", "GET")
    defaults = {each["name"]: each["default"] for each in second["properties"]}
    assert (second["output_node"], defaults["kept_as"]) == ("3", "night")
    undo(page, "The new version is in force.")
    expect(fact(page, "Version")).to_contain_text("1,")
    page.get_by_role("tab", name="Versions").click()
    versions = page.get_by_role("table", name="Versions").locator("tbody").get_by_role("row")
    expect(versions).to_have_count(2)
    expect(versions.filter(has_text="in force")).to_contain_text("1")
    page.get_by_role("button", name="Use", exact=True).click()
    expect(versions.filter(has_text="in force")).to_contain_text("2")
    operator.require_accessible("versions")

    # Nothing is made of one that is not active; it is one press to undo.
    confirm(page, "Deactivate", "Deactivate")
    expect(page.get_by_text("paused", exact=True)).to_be_visible()
    page.get_by_role("button", name="Activate").click()
    expect(page.get_by_text("active", exact=True)).to_be_visible()
    operator.require_calm()


def test_the_timeline_is_live_and_can_be_moved(operator: Watched, studio: Studio) -> None:
    page, slug = operator.page, studio.offer("drawn-live", a_nap())
    page.goto(f"{studio.url}/console/timeline")
    drawn = page.get_by_role("img", name=re.compile(r"workers?, \d+ attempts"))
    expect(drawn).to_be_visible()
    before = int(re.findall(r"\d+", str(drawn.get_attribute("aria-label")))[-1])
    studio.order(slug)
    expect(drawn).to_have_attribute("aria-label", re.compile(f", {before + 1} attempts"), timeout=RUNS_WITHIN_MS)
    expect(page.get_by_role("list", name="Colours")).to_contain_text(slug)
    page.get_by_role("button", name="Attempts in this time, as a table").click()
    rows = page.get_by_role("table").locator("tbody").get_by_role("row").filter(has_text=slug)
    expect(rows).to_have_count(1)

    # Back in time, where nothing ran; nearer; and back to now.
    page.get_by_text("5 min", exact=True).click()
    ground = page.get_by_role("region", name="Timeline of all workers")
    ground.focus()
    for _ in range(12):
        page.keyboard.press("ArrowLeft")
    expect(rows).to_have_count(0)
    page.get_by_role("button", name="Nearer").click()
    page.get_by_role("button", name="Back to now").click()
    expect(page.get_by_role("button", name="Back to now")).to_have_count(0)
    page.get_by_text("24 h", exact=True).click()
    expect(rows).to_have_count(1)

    # By hand: nearer by the wheel, back in time by a drag.
    expect(page.get_by_role("radio", name="24 h")).to_be_checked()  # it is told a moment later
    page.get_by_text("5 min", exact=True).click()
    expect(page.get_by_role("radio", name="5 min")).to_be_checked()
    box = page.get_by_test_id("ground").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 36)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -400)
    page.keyboard.up("Control")
    expect(page.get_by_role("radio", name="5 min")).not_to_be_checked()
    page.get_by_text("5 min", exact=True).click()
    expect(page.get_by_role("button", name="Back to now")).to_have_count(0)
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 36)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2 + 200, box["y"] + 36, steps=4)
    page.mouse.up()
    expect(page.get_by_role("button", name="Back to now")).to_be_visible()
    expect(page).to_have_url(re.compile("/console/timeline$"))
    operator.require_calm()


XSS = "<img src=x onerror=\"window.hacked='{0}'\"><svg onload=alert(1)>{0}"


def test_markup_in_what_tenants_and_graphs_say_is_text(operator: Watched, studio: Studio) -> None:
    """Names, descriptions, titles of nodes, an error: stored, and shown to an operator."""
    page = operator.page
    page.on("dialog", lambda dialog: operator.complaints.append(f"dialog: {dialog.message}"))
    graph = a_nap()
    graph["1"]["_meta"] = {"title": XSS.format("node")}
    said = {"name": XSS.format("name"), "description": XSS.format("description")}
    slug = studio.offer("marked-up", graph, **said)
    job, hostile = studio.order(slug), fresh("hostile")
    page.goto(f"{studio.url}/console/dispatches/{job}")
    state(page, "completed")
    tenant = studio.asking("/api/admin/tenants", slug=hostile, name=XSS.format("tenant"))["id"]
    fleet = studio.asking("/api/admin/fleets", slug=hostile, stage="x", name=XSS.format("fleet"))["id"]
    _say_error(studio, job, XSS.format("error"))
    paths = ("effects", f"effects/{slug}", f"workflows/{slug}", "tenants", f"tenants/{tenant}", "fleets")
    for path in (*paths, f"fleets/{fleet}", f"dispatches/{job}"):
        page.goto(f"{studio.url}/console/{path}")
        expect(page.locator("#main")).to_contain_text(re.compile("onerror|onload"))
        assert page.evaluate("() => window.hacked") is None, path
        assert page.locator("#main img[onerror], #main svg[onload], #main script").count() == 0, path
    operator.require_calm()


def _say_error(studio: Studio, job: str, error: str) -> None:
    """As if a worker had said it: no engine of ours fails with words of somebody's choice."""
    with closing(sqlite3.connect(next(studio.server.home.rglob("central*.sqlite")))) as database, database:
        changed = "UPDATE ai_job_dispatches SET last_error = ? WHERE replace(id, '-', '') = ?"
        assert database.execute(changed, (error, job.replace("-", ""))).rowcount == 1


def test_an_effect_is_changed_with_its_form_beside_it_and_deleted(operator: Watched, studio: Studio) -> None:
    page, slug = operator.page, studio.offer("to-change", a_nap(), name="To change")
    page.goto(f"{studio.url}/console/effects/{slug}")
    form = page.locator("section").filter(has=page.get_by_role("heading", name="The form"))
    expect(form.get_by_label("Seed")).to_be_visible()
    page.get_by_role("switch", name="Seed").check(force=True)
    expect(form.get_by_label("Seed")).to_have_count(0)
    page.get_by_role("button", name="Undo changes").click()
    expect(form.get_by_label("Seed")).to_be_visible()
    page.get_by_role("textbox", name="Name", exact=True).fill("Changed")
    page.get_by_label("Price in tokens").fill("")
    expect(page.get_by_role("button", name="Save", exact=True)).to_be_disabled()
    page.get_by_label("Price in tokens").fill("9")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("heading", level=1, name="Changed")).to_be_visible()
    expect(page.get_by_text("Saved. Jobs that were made")).to_be_visible()
    page.get_by_role("button", name="Unpublish").click()
    expect(page.get_by_text("Users see Changed no more.")).to_be_visible()
    expect(page.get_by_text("Saved. Jobs that were made")).to_have_count(0, timeout=2_000)  # news take its place
    expect(page.get_by_text("draft", exact=True)).to_be_visible()
    undo(page, "Users see Changed no more.")
    expect(page.get_by_text("published", exact=True)).to_be_visible()
    page.get_by_role("button", name="Unpublish").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.get_by_role("dialog")).to_contain_text("cannot be undone")
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_role("heading", level=1, name="Effects")).to_be_visible()
    expect(page.get_by_role("link", name="Changed")).to_have_count(0)
    # No more is written down than was changed.
    go(page, "Audit log")
    change = page.get_by_role("table", name="Audit log").get_by_role("row").filter(has_text="effect: change")
    expect(change.filter(has_text=slug)).to_contain_text("changed: credits cost, name; credits cost: 9")
    operator.require_calm(but=("404",))


@pytest.mark.parametrize("what", ["tenant", "fleet", "dispatch", "worker", "workflow", "effect"])
def test_an_address_that_names_nothing_leads_back_to_all(operator: Watched, studio: Studio, what: str) -> None:
    page, word = operator.page, "job" if what == "dispatch" else what
    places = "dispatches" if what == "dispatch" else f"{what}s"
    for name in ("no-such", "0192f0c0-0000-7000-8000-000000000000"):
        page.goto(f"{studio.url}/console/{places}/{name}")
        expect(page.get_by_role("heading", name=f"There is no such {word}")).to_be_visible()
        expect(page.locator("#main")).not_to_contain_text("valid UUID")
    page.get_by_role("link", name=f"See all {word}s").click()
    expect(page).to_have_url(f"{studio.url}/console/{places}")
    operator.require_calm(but=("404", "422"))


def test_a_tenant_is_made_limited_suspended_and_somebody_is_invited(operator: Watched, studio: Studio) -> None:
    page, slug = operator.page, fresh("north")
    kim = f"kim@{slug}.test"
    page.goto(f"{studio.url}/console/tenants")
    page.get_by_role("button", name="New tenant").click()
    page.get_by_label("Slug").fill(slug)
    page.get_by_role("dialog").get_by_label("Name").fill(f"Films of {slug}")
    page.get_by_role("button", name="Create", exact=True).click()
    page.get_by_role("link", name=f"Films of {slug}").click()
    page.get_by_role("button", name="Invite a user").click()
    page.get_by_label("Email").fill(kim)
    page.get_by_role("button", name="Invite", exact=True).click()
    lost = take_link(page)
    expect(page.get_by_role("table", name="Users")).to_contain_text(kim)
    # It got lost on the way: another one, and the first is dead.
    page.get_by_role("button", name=f"Create link for {kim}").click()
    page.get_by_role("dialog").get_by_role("button", name="Create link", exact=True).click()
    found = take_link(page)
    for link, status in ((lost, 422), (found, 200)):
        chosen = {"token": link.partition("#token=")[2], "password": PASSWORD}
        assert httpx2.post(f"{studio.server.url}/api/auth/password", json=chosen).status_code == status

    page.get_by_role("button", name="Priority limit").click()
    page.get_by_label("Limit", exact=True).fill("5")
    page.get_by_role("button", name="Set", exact=True).click()
    expect(fact(page, "Priority limit")).to_have_text("5")
    undo(page, "The limit is set.")
    expect(fact(page, "Priority limit")).to_have_text("as the settings say")

    confirm(page, "Suspend", "Suspend")
    expect(page.get_by_text("suspended", exact=True)).to_be_visible()
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_text("active", exact=True)).to_be_visible()

    page.get_by_role("button", name=f"Wallet of {kim}").click()
    page.get_by_label("Tokens", exact=True).fill("40")
    page.get_by_role("button", name="Credit", exact=True).click()
    page.get_by_role("button", name="Credit 40 tokens").click()
    expect(page.get_by_role("table", name="Ledger")).to_contain_text("+40")
    expect(page.get_by_role("table", name="Ledger")).to_contain_text("Tokens added")  # as Kim reads it
    page.keyboard.press("Escape")

    # All of it is written down: in the installation's chain, the credit in the tenant's own.
    go(page, "Audit log")
    log = page.get_by_role("table", name="Audit log")
    for done in ("tenant: create", "tenant: suspend", "tenant: resume"):
        expect(log.get_by_role("row").filter(has_text=done).filter(has_text=slug)).to_contain_text(OPERATOR)
    expect(log.get_by_role("row").filter(has_text="user: renew link").filter(has_text=kim)).to_contain_text(OPERATOR)
    # What somebody else does comes to be seen, though no stream tells of it.
    studio.asking("/api/admin/fleets", slug=slug, stage="behind")
    expect(log.get_by_role("row").filter(has_text="fleet: create").filter(has_text=slug)).to_be_visible()
    page.get_by_role("combobox", name="Chain").click()
    page.get_by_role("option", name=f"{slug}: its credits").click()
    expect(log.locator("tbody").get_by_role("row")).to_have_count(1)
    expect(log).to_contain_text("40")
    page.get_by_role("tab", name="What workers did").click()
    expect(page.get_by_role("table", name="Worker events")).to_contain_text("up")
    operator.require_calm()


def take_link(page: Page) -> str:
    """Shown this once: neither a stray key nor a stray click takes it away."""
    shown = page.get_by_role("dialog", name="Hand this link on")
    expect(shown).to_contain_text("/set-password#token=")
    link = shown.locator("code").inner_text()
    page.keyboard.press("Escape")
    page.mouse.click(5, 5)
    expect(shown).to_contain_text(link)
    shown.get_by_role("button", name="I have it").click()
    expect(shown).to_be_hidden()
    return link


@pytest.fixture
def strict(tmp_path: Path) -> Iterator[Studio]:
    """A control plane alone, where every worker waits for an operator; and a ComfyUI somewhere else."""
    settings = {"APPROVE_WORKERS": "false", "LEASE_TTL_S": "15"}
    (tmp_path / "control-plane").mkdir()
    with (
        server_process(tmp_path / "control-plane", **settings) as server,
        an_engine_process(tmp_path / "comfyui") as engine,
    ):
        server.command("tenants", "create", "acme", "--name", "Acme Films")
        server.command("fleets", "create", "video/production")
        server.command("users", "create", DEMO, "--tenant", "acme", "--password-stdin", stdin=PASSWORD)
        server.command("users", "set-password", OPERATOR, "--password-stdin", stdin=PASSWORD)
        yield Studio(server, engine.url)


@contextmanager
def run_line(line: str, folder: Path, *more: str) -> Iterator["subprocess.Popen[bytes]"]:
    """What the page says, as somebody pastes it into a terminal of another machine."""
    *given, program = shlex.split(line.partition(" comfyfleet worker ")[0] + " comfyfleet")
    arguments = shlex.split(line.partition(" comfyfleet worker ")[2])
    assert program == "comfyfleet"
    folder.mkdir()
    settings = dict(each.split("=", 1) for each in given) | {"COMFYFLEET_CLOUD_MACHINE": "none"}
    room = {"COMFYFLEET_DISK_FREE_BYTES_MIN": "0", "COMFYFLEET_MEMORY_FREE_BYTES_MIN": "0"}
    command = [sys.executable, "-m", "comfyfleet", "worker", *arguments, *more, "--home", str(folder), "--port", "0"]
    with (
        (folder / "said.txt").open("wb") as said,
        subprocess.Popen(
            command, env=environment(folder) | settings | room, cwd=folder, stdout=said, stderr=said
        ) as process,
    ):
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.timeout(240)
def test_a_worker_is_added_by_the_line_on_the_page_approved_and_shut_out(
    browser: Browser, strict: Studio, tmp_path: Path
) -> None:
    with a_page(browser, strict.session_of(OPERATOR)) as operator:
        page = operator.page
        page.goto(f"{strict.url}/console")
        page.get_by_role("link", name="Add a worker").first.click()
        page.get_by_role("button", name="Create secret").click()
        line = page.get_by_text(re.compile(r"COMFYFLEET_FLEET_SECRET=\S+ comfyfleet worker ")).inner_text()
        with run_line(line, tmp_path / "machine", "--server", strict.engine_url, "--worker-id", "gpu-7"):
            # The page notices by itself.
            expect(page.get_by_text("has registered and waits for approval.")).to_be_visible(timeout=RUNS_WITHIN_MS)
            page.get_by_role("link", name="Look at it").click()
            expect(page.get_by_text("waits for your approval")).to_be_visible()
            operator.require_accessible("a worker that waits")
            slug = strict.offer("for-the-new-one", a_nap(), credits_cost=0)
            job = strict.order(slug)
            page.get_by_role("button", name="Approve").click()
            expect(page.get_by_text("gpu-7 may take work.")).to_be_visible()
            state(page, "approved")
            expect(page.get_by_role("table", name="Attempts").locator(f'a[href$="{job}"]')).to_be_visible(
                timeout=RUNS_WITHIN_MS
            )
            routed = page.get_by_role("table", name="What it may run").get_by_role("row").filter(has_text=slug)
            expect(routed).to_contain_text("yes")

            # Why one is not routed here: it needs what the engine does not have.
            graph = a_nap() | {"3": {"class_type": "NodeFromAfar", "inputs": {"seed": 0}}}
            afar = strict.offer("from-afar", graph)
            page.reload()
            routed = page.get_by_role("table", name="What it may run").get_by_role("row").filter(has_text=afar)
            expect(routed).to_contain_text("NodeFromAfar")

            page.get_by_role("button", name="Rotate token").click()
            expect(page.get_by_role("dialog")).to_contain_text("The old one stops at once")
            page.get_by_role("dialog").get_by_role("button", name="Rotate token").click()
            shown = page.get_by_role("dialog", name="The new token")
            expect(shown.locator("code")).to_have_text(re.compile(r"^\S{30,}$"))
            page.keyboard.press("Escape")
            page.mouse.click(5, 5)
            operator.require_accessible("a new token")
            shown.get_by_role("button", name="I have it").click()

            confirm(page, "Revoke", "Revoke")
            state(page, "revoked")
            go(page, "Workers")
            page.get_by_text("Revoked", exact=True).click()
            page.get_by_role("table", name="Workers").get_by_role("link", name="gpu-7").click()
            page.get_by_role("button", name="Approve").click()
            expect(page.get_by_text("gpu-7 may register again.")).to_be_visible()
        operator.require_calm()
