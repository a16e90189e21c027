"""What a user sees of a job while it waits, runs and ends; and how pages stay true, with the stream and without it."""

import base64
import io
import re
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import Page, Request, Route, expect

from tests.browser.conftest import POLL_S, Asked, Studio, Watched, fresh, until
from tests.made_media import a_picture

JOB_WITHIN_MS = 90_000
STREAM = "/api/events"


def a_slow_one(seconds: float, *, steps: int = 8, previews: bool = True) -> dict[str, Any]:
    inputs = {"seconds": seconds, "steps": steps, "seed": 0, "previews": previews}
    return {
        "nap": {"class_type": "FleetSleep", "inputs": inputs, "_meta": {"title": "Nap"}},
        "one": {"class_type": "SaveImage", "inputs": {"images": ["nap", 0], "filename_prefix": "one"}},
        "two": {"class_type": "SaveImage", "inputs": {"images": ["nap", 0], "filename_prefix": "two"}},
    }


def start(page: Page) -> None:
    page.get_by_role("button", name="Start").click()
    expect(page).to_have_url(re.compile("/jobs/"))


def test_a_job_waits_in_its_place_and_is_seen_being_made(studio: Studio, demo: Watched) -> None:
    page, before = demo.page, studio.offer("runs-before", a_slow_one(8), output_node="one", expected_s=8)
    slug = studio.offer("seen-being-made", a_slow_one(5), output_node="one", expected_s=5, name="Seen being made")
    # One runs, one is ahead on the worker: the third is in the queue.
    for _ in range(2):
        studio.order(before)
    page.goto(f"{studio.url}/effects/{slug}")
    start(page)
    expect(page.get_by_role("status").filter(has_text="Waiting for its turn")).to_be_visible()
    expect(page.get_by_text(re.compile(r"^(Next|Place \d+) .*in the queue, starts in"))).to_be_visible()

    # Its worker has it, behind another: it waits, and says for what.
    behind = page.get_by_text("it waits there behind another job")
    expect(behind).to_be_visible(timeout=JOB_WITHIN_MS)
    page.reload()
    expect(behind).to_be_visible()
    expect(page.get_by_role("status").filter(has_text="Waiting for its turn")).to_be_visible()
    expect(page.get_by_text("estimate", exact=True)).to_have_count(0)
    demo.require_accessible("a job that waits")

    # Its turn: what is shown is what the engine says, and how the picture looks so far.
    expect(page.get_by_role("status").filter(has_text="Making it")).to_be_visible(timeout=JOB_WITHIN_MS)
    told = page.locator("#main").get_by_role("status").filter(has_text="Making it").element_handle()
    expect(page.get_by_text(re.compile(r"FleetSleep · step \d of 8"))).to_be_visible()
    frame = page.get_by_alt_text("How it looks so far")
    expect(frame).to_be_visible()
    first = str(frame.get_attribute("src"))
    assert brightness(first) < brightness(a_later(page, first))
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 390, "height": 844})
    demo.require_accessible("a job that runs, on a phone")
    demo.picture("studio-processing")
    page.set_viewport_size({"width": 1280, "height": 900})

    # Both files, at one press.
    everything = page.get_by_role("button", name="Download all 2")
    expect(everything).to_be_visible(timeout=JOB_WITHIN_MS)
    saved: list[str] = []
    page.on("download", lambda download: saved.append(download.suggested_filename))
    everything.click()
    until(page, lambda: len(saved) == 2)
    assert sorted(name[:3] for name in saved) == ["one", "two"]
    # Where it was said that it waits it is said that it is done: what is new with its words is not read out.
    assert told.inner_text() == "Done"
    expect(page).to_have_title("Done: Seen being made · comfyfleet")

    # Nobody is sent to the form of what is offered no more.
    expect(page.get_by_role("link", name="Change something")).to_be_visible()
    studio.asking(f"/api/admin/effects/{slug}/unpublish")
    page.reload()
    expect(page.get_by_role("heading", level=1, name=slug)).to_be_visible()
    expect(page.get_by_role("button", name="Run again")).to_be_visible()
    expect(page.get_by_role("link", name="Change something")).to_have_count(0)
    demo.require_calm(but=("404",))


def test_where_nothing_is_told_of_a_job_its_time_is_guessed_and_that_is_said(studio: Studio, demo: Watched) -> None:
    page, slug = demo.page, studio.offer("says-nothing", a_slow_one(4), output_node="one", expected_s=30)
    studio.wait_for_previews()
    studio.order_faults(prompts={"silence_socket_at": 0}, prompts_times=1)
    page.goto(f"{studio.url}/effects/{slug}")
    start(page)
    expect(page.get_by_text("estimate", exact=True)).to_be_visible(timeout=JOB_WITHIN_MS)
    expect(page.get_by_text(re.compile(r"^about \d+ s left$"))).to_be_visible()
    percent = page.get_by_role("progressbar", name="Progress")
    before = int(percent.get_attribute("aria-valuenow") or 0)
    until(page, lambda: int(percent.get_attribute("aria-valuenow") or 0) > before)
    # Its worker asks after a while, and finds it done.
    expect(page.get_by_role("button", name="Download all 2")).to_be_visible(timeout=JOB_WITHIN_MS)
    demo.require_calm()


def a_later(page: Page, first: str) -> str:
    page.wait_for_function(
        "first => { const frame = document.querySelector('img[alt=\"How it looks so far\"]');"
        " return frame && frame.src !== first; }",
        arg=first,
    )
    return str(page.get_by_alt_text("How it looks so far").get_attribute("src"))


def brightness(source: str) -> float:
    with Image.open(io.BytesIO(base64.b64decode(source.partition(",")[2]))) as picture:
        return float(picture.convert("L").resize((1, 1)).getpixel((0, 0)) or 0)  # type: ignore[arg-type]


@pytest.mark.timeout(180)
def test_while_the_stream_is_up_nobody_asks_and_where_it_is_down_every_two_seconds(
    studio: Studio, demo: Watched
) -> None:
    page, slug = demo.page, studio.offer("told-or-asked", a_slow_one(90, steps=200), output_node="one", expected_s=90)
    streams: list[Request] = []
    page.on("request", lambda request: streams.append(request) if STREAM in request.url else None)
    page.goto(f"{studio.url}/effects/{slug}")
    start(page)
    percent = page.get_by_text(re.compile(r"^\d+%$"))
    expect(page.get_by_text(re.compile(r"step \d+ of 200"))).to_be_visible(timeout=JOB_WITHIN_MS)
    page.wait_for_timeout(1_000)
    assert len(streams) == 2  # one a tab: that with previews took the place of that without
    told, before = Asked(page), percent.inner_text()
    page.wait_for_timeout(3 * POLL_S * 1000)
    # Other jobs of the same user may move the wallet; that is told as well.
    assert [path for path in told.paths if not path.startswith("/api/wallet")] == []
    assert percent.inner_text() != before

    # The stream ends where a page without previews wants another one, which cannot be had; all else answers.
    page.route(f"**{STREAM}*", lambda route: route.abort())
    page.route("**/api/ai-jobs?*", one_a_page)
    waiting = [studio.order(slug)]
    page.get_by_role("link", name="History", exact=True).first.click()
    expect(page.get_by_text("Connection lost.")).to_be_visible()
    # Of a history of several pages the newest are asked for.
    expect(page.locator(f"a[href='/jobs/{waiting[0]}']")).to_be_visible()
    expect(page.locator("#main").get_by_role("listitem").nth(1)).to_be_visible()
    waiting.append(studio.order(slug))
    expect(page.locator(f"a[href='/jobs/{waiting[1]}']")).to_be_visible()
    studio.cancel(*waiting)
    page.unroute("**/api/ai-jobs?*")
    page.go_back()
    expect(percent).to_be_visible()
    asked, before = Asked(page), percent.inner_text()
    page.wait_for_timeout(4 * POLL_S * 1000)
    job = f"/api/ai-jobs/{page.url.rpartition('/')[2]}"
    assert 2 <= asked.paths.count(job) <= 6, asked.paths
    assert percent.inner_text() != before
    demo.picture("studio-connection-lost")

    # And back: what happened meanwhile is read once, and nobody asks any more.
    page.unroute(f"**{STREAM}*")
    page.get_by_role("button", name="Try now").click()
    expect(page.get_by_text("Connection lost.")).to_be_hidden()
    told, before = Asked(page), percent.inner_text()
    page.wait_for_timeout(2 * POLL_S * 1000)
    assert told.paths.count(job) <= 1, told.paths
    assert percent.inner_text() != before
    # Its worker hears of it with the next step that it reports, long before its next heartbeat.
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("It was stopped before it was done.")).to_be_visible()
    demo.require_calm(but=("ERR_",))


def test_what_is_offered_is_told_as_it_changes(studio: Studio, demo: Watched) -> None:
    page, name = demo.page, fresh("Comes and goes")
    slug = studio.offer("comes-and-goes", a_slow_one(0.2), output_node="one", name=name)
    studio.wait_for_previews()
    # The first to listen after a while is told that something happened before.
    for _ in range(2):
        demo.goto_and_listen(studio.url)
    card = page.get_by_role("link").filter(has_text=name)
    expect(card).to_be_visible()
    asked = Asked(page)
    page.wait_for_timeout(2 * POLL_S * 1000)
    assert [path for path in asked.paths if not path.startswith("/api/wallet")] == []
    studio.asking(f"/api/admin/effects/{slug}/unpublish")
    expect(card).to_have_count(0)
    studio.asking(f"/api/admin/effects/{slug}/publish")
    card.click()
    # Whoever fills in its form sees it, too, and loses nothing.
    page.get_by_label("A new one each time").uncheck()
    seed = page.get_by_label("Seed", exact=True)
    seed.fill("77")
    studio.asking(f"/api/admin/effects/{slug}", "PATCH", credits_cost=7)
    expect(page.get_by_role("button", name="Start")).to_contain_text("7 tokens")
    studio.asking(f"/api/admin/effects/{slug}/unpublish")
    expect(page.get_by_role("alert")).to_contain_text("This effect is no longer offered.")
    # The gallery that was left a moment ago knows it as well.
    page.get_by_role("alert").get_by_role("link", name="Pick another effect").click()
    expect(page.get_by_role("link").filter(has_text="Soft glow")).to_be_visible()
    expect(card).to_have_count(0)
    page.go_back()
    studio.asking(f"/api/admin/effects/{slug}/publish")
    expect(page.get_by_role("button", name="Start")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(seed).to_have_value("77")
    demo.require_calm(but=("404",))


def one_a_page(route: Route) -> None:
    route.continue_(url=re.sub(r"limit=\d+", "limit=1", route.request.url))


def test_a_failed_job_says_so_in_a_sentence_and_can_be_tried_again(studio: Studio, demo: Watched) -> None:
    page = demo.page
    graph = a_slow_one(0.2)
    graph["breaks"] = {"class_type": "ImageInvert", "inputs": {"image": ["nap", 0]}}
    graph["one"]["inputs"]["images"] = ["breaks", 0]
    slug = studio.offer("fails-for-a-user", graph, output_node="one", name="Fails for a user")
    studio.order_faults(prompts={"error_at_node": "breaks"})
    alert = page.get_by_role("alert").filter(has_text="This did not work")
    try:
        page.goto(f"{studio.url}/effects/{slug}")
        start(page)
        expect(alert).to_be_visible(timeout=JOB_WITHIN_MS)
    finally:
        studio.order_faults()
    expect(alert).to_contain_text("Your tokens were given back: 2 tokens.")
    expect(alert).to_contain_text("Something went wrong while it was being made. Try again;")
    expect(alert).not_to_contain_text("RuntimeError")
    expect(page.get_by_text("What the machine said")).to_contain_text("The size of tensor a (77)")
    demo.require_fits_everywhere("studio-failed")
    its_name_is_awaited(page, slug, "Fails for a user")

    # What can only fail again is not offered first; where no file was given, none is spoken of.
    again, change = page.get_by_role("button", name="Retry"), page.get_by_role("link", name="Change something")
    offered = again.or_(change)
    expect(offered).to_have_text(["Retry", "Change something"])
    ends_as(page, "user_input")
    expect(offered).to_have_text(["Change something", "Retry"])
    expect(change).to_have_attribute("data-variant", "filled")
    expect(again).to_have_attribute("data-variant", "default")
    expect(alert).to_contain_text("Something about what you chose or entered does not work with this effect.")
    ends_as(page, "workflow_invalid")
    expect(offered).to_have_text(["Change something"])
    page.unroute("**/api/ai-jobs/*")

    # In the history it is found by its state, and by its effect.
    page.goto(f"{studio.url}/history")
    page.get_by_role("combobox", name="State").click()
    page.get_by_role("option", name="Failed").click()
    expect(page).to_have_url(re.compile("status=failed"))
    entries = page.locator("#main").get_by_role("listitem")
    expect(entries.first).to_contain_text("Fails for a user")
    expect(entries.filter(has_not_text="failed")).to_have_count(0)
    expect(entries.first.locator("s")).to_have_text("2 tokens given back")
    demo.require_accessible("a history of what failed")
    page.get_by_role("combobox", name="Effect").click()
    page.get_by_role("option", name="Glow").click()
    expect(page.get_by_text("Nothing fits these filters")).to_be_visible()
    page.get_by_role("button", name="Show everything").click()
    expect(entries.first).to_be_visible()
    page.get_by_role("combobox", name="Effect").click()
    page.get_by_role("option", name="Fails for a user").click()
    expect(entries).to_have_count(1)
    entries.first.get_by_role("link").first.click()
    failed = page.url
    # Its worker would leave it alone for a minute.
    for block in studio.asking("/api/admin/blocks", "GET")["blocks"]:
        studio.asking(f"/api/admin/blocks/{block['worker']}/{block['structure_hash']}", "DELETE")
    page.get_by_role("button", name="Retry").click()
    expect(page).not_to_have_url(failed)
    expect(page.get_by_role("button", name="Download all 2")).to_be_visible(timeout=JOB_WITHIN_MS)
    demo.require_calm()


def its_name_is_awaited(page: Page, slug: str, name: str) -> None:
    """What stands in its address is no name for people, not even for a moment."""
    held: list[Route] = []
    page.route(f"**/api/effects/{slug}", lambda route: held.append(route))
    page.reload()
    expect(page.get_by_role("alert").filter(has_text="This did not work")).to_be_visible()
    until(page, lambda: held)
    expect(page.get_by_text(slug)).to_have_count(0)
    for route in held:
        route.continue_()
    expect(page.get_by_role("heading", name=name)).to_be_visible()
    page.unroute(f"**/api/effects/{slug}")


def ends_as(page: Page, error_class: str) -> None:
    """As if it had failed for another reason."""

    def answer(route: Route) -> None:
        route.fulfill(json={**route.fetch().json(), "error_class": error_class})

    page.unroute("**/api/ai-jobs/*")
    page.route("**/api/ai-jobs/*", answer)
    page.reload()


def test_a_file_is_dropped_and_its_upload_is_seen(studio: Studio, demo: Watched) -> None:
    page = demo.page
    page.goto(f"{studio.url}/effects/glow")
    zone = page.get_by_text("Drop a picture here, or choose one")
    expect(zone).to_be_visible()
    # As a file manager hands it over; the bytes are those of a real picture.
    content = base64.b64encode(a_picture(width=700, height=500)).decode()
    carried = page.evaluate_handle(
        """(content) => {
            const bytes = Uint8Array.from(atob(content), (each) => each.charCodeAt(0));
            const carried = new DataTransfer();
            carried.items.add(new File([bytes], "dropped.png", { type: "image/png" }));
            return carried;
        }""",
        content,
    )
    for event in ("dragenter", "dragover", "drop"):
        zone.dispatch_event(event, {"dataTransfer": carried})
    expect(page.get_by_alt_text("Your file dropped.png")).to_be_visible()
    slow = page.context.new_cdp_session(page)
    conditions = {"offline": False, "latency": 0, "downloadThroughput": -1}
    slow.send("Network.emulateNetworkConditions", {**conditions, "uploadThroughput": len(content) / 4})
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_role("status").filter(has_text="Uploading")).to_be_visible()
    expect(page.get_by_role("progressbar", name="Upload")).to_be_visible()
    page.wait_for_function(
        """() => {
            const bar = document.querySelector("[role=progressbar][aria-label=Upload]");
            const percent = Number(bar?.getAttribute("aria-valuenow"));
            return percent > 10 && percent < 100;
        }"""
    )
    slow.send("Network.emulateNetworkConditions", {**conditions, "uploadThroughput": -1})
    expect(page.get_by_role("link", name="Download")).to_be_visible(timeout=JOB_WITHIN_MS)
    demo.require_calm(but=("content-length",))
