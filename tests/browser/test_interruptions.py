"""What comes between: somebody leaves, a session ends, a line is not encrypted, an upload breaks, a page is stale."""

import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
from playwright.sync_api import Error, FilePayload, Locator, Page, Route, expect

from tests.browser.conftest import DEMO, LAN_NAME, PASSWORD, Fleet, Studio, Watched, a_long_clip, fresh, until
from tests.made_media import a_picture

JOB_WITHIN_MS = 60_000
# As long as a page needs to do what it should not do.
A_WHILE_MS = 1_500
REFUSED = {"error": {"code": "rate_limited", "message": "Too many requests.", "details": {}}}
# Said of one request; another one that was answered since, as the wallet is read when a job ends, says it otherwise.
NO_ANSWER = re.compile("The server does not answer|The server is back")


def start(page: Page) -> None:
    page.get_by_role("button", name="Start").click()


def dialog(page: Page, name: str) -> Locator:
    return page.get_by_role("dialog", name=name)


def own(studio: Studio, page: Page, path: str) -> Any:
    return page.request.get(f"{studio.url}{path}").json()


def job_ids(studio: Studio, page: Page) -> set[str]:
    return {each["id"] for each in own(studio, page, "/api/ai-jobs?limit=100")["jobs"]}


def end_session(studio: Studio, page: Page) -> None:
    (cookie,) = page.context.cookies()
    ours = {"Cookie": f"{cookie['name']}={cookie['value']}", "Origin": studio.server.url}
    assert httpx2.post(f"{studio.server.url}/api/auth/logout", headers=ours).status_code == 204


def hold_uploads(page: Page) -> list[Route]:
    """As a very slow line: they wait here until they are let go."""
    held: list[Route] = []
    page.route("**/objects/**", lambda route: held.append(route) if is_put(route) else route.continue_())
    return held


def is_put(route: Route) -> bool:
    return route.request.method == "PUT"


def is_delete(route: Route) -> bool:
    return route.request.method == "DELETE"


def begin_upload(studio: Studio, page: Page) -> None:
    page.goto(f"{studio.url}/effects/glow")
    lake = FilePayload(name="a lake.png", mimeType="image/png", buffer=a_picture())
    page.locator("input[type=file]").set_input_files(lake)
    start(page)
    expect(page.get_by_text("Uploading a lake.png")).to_be_visible()


def refuse(route: Route) -> None:
    route.fulfill(status=429, json=REFUSED)


# ── uploads ──


def test_who_leaves_in_mid_upload_is_asked_and_stays(studio: Studio, demo: Watched) -> None:
    page = demo.page
    held = hold_uploads(page)
    begin_upload(studio, page)
    page.get_by_role("link", name="History", exact=True).click()
    asked = dialog(page, "Leave while it uploads?")
    expect(asked).to_contain_text("nothing is ordered")
    asked.get_by_role("button", name="Stay").click()
    expect(asked).to_be_hidden()
    expect(page).to_have_url(re.compile("/effects/glow"))
    held.pop().continue_()
    expect(page).to_have_url(re.compile("/jobs/"))
    demo.require_calm(but=("content-length",))


def test_who_leaves_in_mid_upload_orders_nothing_and_is_not_fetched_back(studio: Studio, demo: Watched) -> None:
    page = demo.page
    held = hold_uploads(page)
    begin_upload(studio, page)
    jobs, wallet = job_ids(studio, page), own(studio, page, "/api/wallet")
    page.get_by_role("link", name="History", exact=True).click()
    dialog(page, "Leave while it uploads?").get_by_role("button", name="Leave").click()
    expect(page).to_have_url(re.compile("/history"))
    with suppress(Error):  # nobody waits for it any more
        held.pop().continue_()
    page.wait_for_timeout(A_WHILE_MS)
    expect(page).to_have_url(re.compile("/history"))
    assert job_ids(studio, page) == jobs
    assert own(studio, page, "/api/wallet") == wallet


def test_closing_the_tab_in_mid_upload_asks(studio: Studio, demo: Watched) -> None:
    page = demo.page
    hold_uploads(page)
    begin_upload(studio, page)
    asked: list[str] = []
    page.on("dialog", lambda each: (asked.append(each.type), each.dismiss()))
    page.evaluate("() => location.assign('/wallet')")
    until(page, lambda: asked == ["beforeunload"])
    expect(page.get_by_text("Uploading a lake.png")).to_be_visible()


def test_a_stop_is_no_fault_of_the_network(studio: Studio, demo: Watched) -> None:
    """Also in the pause before another try."""
    page = demo.page
    page.route("**/objects/**", lambda route: route.abort() if is_put(route) else route.continue_())
    page.goto(f"{studio.url}/effects/glow")
    lake = FilePayload(name="a lake.png", mimeType="image/png", buffer=a_picture())
    page.locator("input[type=file]").set_input_files(lake)
    with page.expect_event("requestfailed"):
        start(page)
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("Stopped. Nothing was ordered")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)
    page.unroute("**/objects/**")
    start(page)
    expect(page).to_have_url(re.compile("/jobs/"))


def test_an_upload_that_is_gone_is_sent_once_more(studio: Studio, demo: Watched) -> None:
    page = demo.page
    page.route("**/api/ai-jobs", lambda route: route.abort())
    with page.expect_response("**/api/videos") as kept:
        begin_upload(studio, page)
    expect(page.get_by_role("alert")).to_contain_text(NO_ANSWER)
    # Deleted for its age, while a tab was left open over the weekend.
    delete = "(id) => fetch(`/api/videos/${id}`, { method: 'DELETE' }).then((answer) => answer.status)"
    assert page.evaluate(delete, kept.value.json()["id"]) == 204
    page.unroute("**/api/ai-jobs")
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("alert")).to_contain_text("What you uploaded is not there any more.")
    with page.expect_response("**/api/videos") as kept:
        page.get_by_role("button", name="Try again").click()
    expect(page).to_have_url(re.compile("/jobs/"))
    # And of a result nothing can be made once more.
    once_more = page.get_by_role("button", name="Run again")
    expect(once_more).to_be_visible(timeout=JOB_WITHIN_MS)
    assert page.evaluate(delete, kept.value.json()["id"]) == 204
    once_more.click()
    expect(page.get_by_role("alert")).to_contain_text("A file that this was made from is not there any more.")
    demo.require_calm(but=("content-length", "ERR_FAILED", "404", "422"))


# Of all addresses that bytes are sent to, the second one is refused whenever it is used, as if it had expired.
SPOIL_THE_SECOND = """
    const open = XMLHttpRequest.prototype.open, known = [];
    window.sentTo = [];
    XMLHttpRequest.prototype.open = function (method, url) {
        if (!known.includes(url)) known.push(url);
        window.sentTo.push(known.indexOf(url));
        return open.call(this, method, url === known[1] ? url + "x" : url);
    };
"""


def test_an_upload_in_parts_goes_on_where_it_stopped(studio: Studio, demo: Watched, tmp_path: Path) -> None:
    page = demo.page
    page.add_init_script(SPOIL_THE_SECOND)
    page.route("**/api/files/*/upload", lambda route: route.abort())
    page.goto(f"{studio.url}/effects/painted-film")
    page.locator("input[type=file]").set_input_files(a_long_clip(tmp_path / "a long clip.mp4"))
    start(page)
    expect(page.get_by_role("alert")).to_contain_text(NO_ANSWER, timeout=30_000)
    assert page.evaluate("() => sentTo") == [0, 1]
    page.unroute("**/api/files/*/upload")
    page.wait_for_timeout(1_100)  # signed within the same second, an address would be the same
    page.get_by_role("button", name="Try again").click()
    expect(page).to_have_url(re.compile("/jobs/"), timeout=30_000)
    assert page.evaluate("() => sentTo") == [0, 1, 1, 2]  # the first part once, the second by a fresh address
    page.get_by_role("button", name="Cancel").click()


# ── sessions, and who sits at the tab ──


def test_a_session_that_ends_in_a_dialog_loses_nothing(studio: Studio, demo: Watched) -> None:
    page = demo.page
    page.goto(f"{studio.url}/keys")
    page.get_by_role("button", name="New key").click()
    name = fresh("a nightly script")
    dialog(page, "New key").get_by_label("Name").fill(name)
    end_session(studio, page)
    # Not by the mouse: the stream may have noticed already, and then the login stands before the button.
    dialog(page, "New key").get_by_role("button", name="Create key").dispatch_event("click")
    ended = dialog(page, "Your session has ended")
    ended.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Escape")
    expect(dialog(page, "New key")).to_be_visible()
    ended.get_by_role("button", name="Log in").click()
    expect(ended).to_be_hidden()
    secret = dialog(page, "New key").locator("pre").inner_text()
    # It is shown this once: a stray key or click does not take it away.
    page.keyboard.press("Escape")
    page.mouse.click(5, 5)
    expect(dialog(page, "New key").locator("pre")).to_have_text(secret)
    key = {"Authorization": f"Bearer {secret}"}
    assert httpx2.get(f"{studio.server.url}/api/wallet", headers=key).status_code == 200
    page.get_by_role("button", name="Done").click()
    expect(page.get_by_role("listitem").filter(has_text=name)).to_be_visible()


def test_what_was_typed_leaves_with_whoever_typed_it(studio: Studio, demo: Watched) -> None:
    page = demo.page
    words = page.get_by_label("What to paint")
    page.goto(f"{studio.url}/effects/paint")
    first = words.input_value()
    words.fill("a secret garden")
    page.reload()
    expect(words).to_have_value("a secret garden")
    page.get_by_role("button", name="Account").click()
    page.get_by_role("menuitem", name="Log out").click()
    page.get_by_label("Email").fill(DEMO)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("link", name="Painting").click()
    expect(words).to_have_value(first)
    words.fill("another secret garden")
    somebody_else(studio, page)
    page.reload()
    expect(words).to_have_value(first)


def somebody_else(studio: Studio, page: Page) -> None:
    """Logged in where another one's session ran out, and nobody logged out."""
    email = f"{fresh('guest')}@demo.test"
    made = studio.asking(f"{demo_tenant(studio)}/users", email=email)
    chosen = {"token": made["link"].partition("#token=")[2], "password": PASSWORD}
    assert httpx2.post(f"{studio.server.url}/api/auth/password", json=chosen).status_code == 200
    page.context.clear_cookies()
    page.context.add_cookies([studio.session_of(email)])  # type: ignore[list-item]


def demo_tenant(studio: Studio) -> str:
    tenants = studio.asking("/api/admin/tenants", "GET")["tenants"]
    return f"/api/admin/tenants/{next(each['id'] for each in tenants if each['slug'] == 'demo')}"


def test_a_link_is_called_used_only_where_it_was(studio: Studio, watched: Watched) -> None:
    page = watched.page
    page.route("**/api/auth/enter", lambda route: route.abort())
    page.goto(f"{studio.url}/enter#token=never-was-one")
    expect(page.get_by_role("alert")).to_contain_text("The server does not answer")
    expect(page.get_by_text("This link was used")).to_have_count(0)
    page.unroute("**/api/auth/enter")
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("heading", name="This link was used")).to_be_visible()


def test_a_key_is_copied_on_an_open_network(fleet: Fleet, watched: Watched) -> None:
    """There, browsers have no `navigator.clipboard`."""
    page = watched.page
    page.goto(f"{fleet.at(LAN_NAME)}/keys")
    page.get_by_label("Email").fill(fleet.add_user(f"{fresh('copying')}@acme.test", tokens=1))
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("button", name="New key").click()
    assert page.evaluate("() => navigator.clipboard") is None
    page.get_by_label("Name").fill("a script")
    page.get_by_role("button", name="Create key").click()
    secret = dialog(page, "New key").locator("pre").inner_text()
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_focused()
    page.get_by_role("button", name="Done").click()
    page.get_by_role("button", name="New key").click()
    page.get_by_label("Name").focus()
    page.keyboard.press("Control+V")
    expect(page.get_by_label("Name")).to_have_value(secret)


# ── pages that are not loaded yet ──


def cut_line(page: Page) -> None:
    page.route("**/assets/**", lambda route: route.abort())
    page.route("**/api/auth/session", lambda route: route.abort())


def mend_line(page: Page) -> None:
    page.unroute("**/assets/**")
    page.unroute("**/api/auth/session")


def test_a_page_that_cannot_be_fetched_is_asked_for_again(studio: Studio, demo: Watched) -> None:
    page = demo.page
    with page.expect_response("**/api/events*"):
        page.goto(f"{studio.url}/effects/paint")
    page.get_by_label("What to paint").fill("a bridge in fog")
    cut_line(page)
    page.get_by_role("link", name="History", exact=True).click()
    alert = page.locator("#main").get_by_role("alert")
    expect(alert).to_contain_text("The server does not answer. It may be restarting")
    expect(page).to_have_url(re.compile("/history"))
    demo.require_accessible("a page that could not be fetched")
    mend_line(page)
    alert.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("heading", name="History")).to_be_visible()
    page.go_back()
    expect(page.get_by_label("What to paint")).to_have_value("a bridge in fog")
    # Without a stream it comes by itself, too.
    page.route("**/api/events*", lambda route: route.abort())
    page.reload()
    expect(page.get_by_text("Connection lost.")).to_be_visible()
    cut_line(page)
    page.get_by_role("link", name="API keys").click()
    expect(alert).to_contain_text("The server does not answer.")
    mend_line(page)
    expect(page.get_by_role("heading", name="API keys")).to_be_visible()
    # The second is axe's, whom the cut line met, too.
    demo.require_calm(but=("ERR_FAILED", "Couldn't load preload assets", "The server does not answer."))


def test_what_was_refused_is_not_waited_for(studio: Studio, demo: Watched, operator: Watched) -> None:
    """A part of a page that gets no answer says why, and how to ask again; the rest of the page is there."""
    page = demo.page
    page.route("**/api/wallet", refuse)
    page.goto(f"{studio.url}/wallet")
    expect(page.get_by_role("alert")).to_contain_text("That was a lot at once.")
    # In the head there is no room for it: it leads to where the reason is told.
    expect(page.get_by_role("banner").get_by_role("link", name="Wallet", exact=True)).to_be_visible()
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    demo.require_accessible("a wallet that was refused")
    page.unroute("**/api/wallet")
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("banner").get_by_role("link", name="tokens")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)
    demo.require_calm(but=("429",))

    page = operator.page
    page.route("**/start-command*", refuse)
    page.goto(f"{studio.url}/console/fleets/{studio.asking('/api/admin/fleets', 'GET')['fleets'][0]['id']}")
    expect(page.get_by_role("alert")).to_contain_text("That was a lot at once.")
    page.unroute("**/start-command*")
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("button", name="Copy the command")).to_be_visible()
    operator.require_calm(but=("429",))


def test_a_graph_that_cannot_be_drawn_takes_nothing_else_away(studio: Studio, operator: Watched) -> None:
    page = operator.page
    page.route("**/GraphView-*.js", lambda route: route.abort())
    page.goto(f"{studio.url}/console/workflows/demo-paint")
    expect(page.get_by_role("alert")).to_have_text(re.compile("picture of the graph could not be loaded"))
    page.get_by_role("tab", name="Properties").click()
    expect(page.get_by_role("table", name="Properties")).to_be_visible()
    operator.require_accessible("a workflow without its picture")
    page.unroute("**/GraphView-*.js")
    page.reload()
    expect(page.get_by_role("figure", name="Graph of")).to_be_visible()
    operator.require_calm(but=("GraphView", "ERR_FAILED", "dynamically imported module"))


# ── pages that are left open ──


def test_the_ledger_grows_while_the_wallet_is_open(studio: Studio, demo: Watched) -> None:
    page = demo.page
    page.goto(f"{studio.url}/wallet")
    rows = page.get_by_role("table", name="Ledger").get_by_role("row")
    expect(rows.nth(1)).to_be_visible()
    studio.order("paint", prompt="a lake at dawn")
    expect(rows.nth(2)).to_be_visible()
    page.route("**/api/wallet/entries?*", one_a_page)
    page.reload()
    page.get_by_role("button", name="Older ones").click()
    expect(rows.nth(2)).to_be_visible()
    page.unroute("**/api/wallet/entries?*")
    page.reload()
    expect(rows.nth(1)).to_contain_text(re.compile("set aside|spent"))
    expect(rows.nth(1)).to_contain_text("spent", timeout=JOB_WITHIN_MS)
    balance = own(studio, page, "/api/wallet")["balance"]
    tenant = demo_tenant(studio)
    users = studio.asking(f"{tenant}/users", "GET")["users"]
    user = next(each["id"] for each in users if each["email"] == DEMO)
    studio.asking(f"{tenant}/credits", user_id=user, amount=500, provider_transaction_id=uuid4().hex)
    expect(rows.nth(1)).to_contain_text("Tokens added")
    expect(page.get_by_role("banner").get_by_role("link", name="tokens")).to_contain_text(f"{balance + 500:,}")
    # What was read stays where reading it again is refused.
    page.route("**/api/wallet/**", refuse)
    with page.expect_response("**/api/wallet/**"):
        studio.asking(f"{tenant}/credits", user_id=user, amount=1, provider_transaction_id=uuid4().hex)
    expect(rows.nth(1)).to_contain_text("Tokens added")
    expect(page.get_by_role("alert")).to_have_count(0)
    demo.require_calm(but=("429",))


def one_a_page(route: Route) -> None:
    route.continue_(url=re.sub(r"limit=\d+", "limit=1", route.request.url))


def test_history_asks_once_for_a_page_that_is_refused(studio: Studio, demo: Watched) -> None:
    page = demo.page
    studio.order("paint", prompt="a lake at night")
    wait_for_quiet(studio, page)  # whatever moves is a reason to read again
    asked: list[str] = []
    page.route("**/api/ai-jobs?*", more_to_come(asked))
    page.goto(f"{studio.url}/history")
    expect(page.get_by_role("alert")).to_contain_text("That was a lot at once.")
    page.wait_for_timeout(A_WHILE_MS)
    assert len(asked) == 1
    expect(page.get_by_role("listitem").first).to_be_visible()
    page.get_by_role("button", name="Try again").click()
    until(page, lambda: len(asked) == 2)
    demo.require_calm(but=("429",))


def wait_for_quiet(studio: Studio, page: Page) -> None:
    def all_is_over() -> bool:
        open_states = ("queued", "processing")
        return not any(own(studio, page, f"/api/ai-jobs?status={each}")["jobs"] for each in open_states)

    until(page, all_is_over, within_s=JOB_WITHIN_MS / 1000)


def more_to_come(asked: list[str]) -> Callable[[Route], None]:
    """Behind the first page stands another one, which is refused."""

    def answer(route: Route) -> None:
        if "cursor=" in route.request.url:
            asked.append(route.request.url)
            refuse(route)
        else:
            route.fulfill(json={**route.fetch().json(), "next_cursor": "more"})

    return answer


def test_history_of_an_effect_that_is_not_offered_says_so(studio: Studio, demo: Watched) -> None:
    page = demo.page
    studio.order("paint", prompt="a lake in a storm")
    page.goto(f"{studio.url}/history?effect=gone-since")
    expect(page.get_by_role("heading", name="This effect is not offered any more")).to_be_visible()
    expect(page.get_by_role("listitem")).to_have_count(0)
    expect(page.get_by_role("combobox", name="Effect")).to_have_value("gone-since")
    page.get_by_role("button", name="Show everything").click()
    expect(page.get_by_role("listitem").first).to_be_visible()
    demo.require_calm(but=("404",))


# ── what is done with a result, and with a webhook ──


def test_a_result_is_made_once_more_changed_and_deleted(studio: Studio, demo: Watched) -> None:
    page = demo.page
    first = studio.order("paint", prompt="a forest in autumn", seed=7)
    page.goto(f"{studio.url}/jobs/{first}")
    once_more = page.get_by_role("button", name="Run again")
    expect(once_more).to_be_visible(timeout=JOB_WITHIN_MS)
    once_more.click()
    expect(page).not_to_have_url(re.compile(first))
    expect(once_more).to_be_visible(timeout=JOB_WITHIN_MS)
    expect(page.get_by_text("a forest in autumn")).to_be_visible()
    again = page.url.rpartition("/")[2]
    page.get_by_role("link", name="Change something").click()
    expect(page.get_by_label("What to paint")).to_have_value("a forest in autumn")
    page.go_back()
    page.get_by_role("button", name="Delete").click()
    dialog(page, "Delete this result?").get_by_role("button", name="Delete").click()
    expect(page).to_have_url(re.compile("/history"))
    expect(page.locator(f"a[href='/jobs/{first}']")).to_be_visible()
    expect(page.locator(f"a[href='/jobs/{again}']")).to_have_count(0)
    demo.require_calm()


def test_a_webhook_is_paused_resumed_given_a_secret_and_deleted(studio: Studio, demo: Watched) -> None:
    page = demo.page
    url = f"https://example.com/{fresh('hook')}"
    page.goto(f"{studio.url}/webhooks")
    page.get_by_role("button", name="Add an address").click()
    page.get_by_role("textbox", name="Address").fill(url)
    page.get_by_role("button", name="Add", exact=True).click()
    first = page.get_by_role("dialog").locator("pre").inner_text()
    page.get_by_role("button", name="Done").click()
    # However many there are, each is found.
    page.evaluate(ADD_A_WEBHOOK)
    page.route("**/api/webhooks?*", one_a_page)
    page.reload()
    expect(page.get_by_role("link", name="https://example.com/another")).to_be_visible()
    expect(page.get_by_role("link", name=url)).to_have_count(0)
    page.get_by_role("button", name="Show more").click()
    page.get_by_role("link", name=url).click()
    head = page.locator("#main")
    pause(page)
    expect(head.get_by_text("paused", exact=True)).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(head.get_by_text("active", exact=True)).to_be_visible()
    pause(page)
    page.route("**/api/webhooks/*", lambda route: refuse(route) if route.request.method != "GET" else route.continue_())
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_role("alert").filter(has_text="That was a lot at once.")).to_be_visible()
    page.unroute("**/api/webhooks/*")
    page.get_by_role("button", name="Resume").click()
    expect(head.get_by_text("active", exact=True)).to_be_visible()
    page.get_by_role("button", name="New secret").click()
    dialog(page, "Make a new secret?").get_by_role("button", name="New secret").click()
    expect(head.locator("pre")).to_contain_text("whsec_")
    assert head.locator("pre").inner_text() != first
    page.get_by_role("button", name="Delete").click()
    asked = dialog(page, "Delete this address?")
    held: list[Route] = []
    page.route("**/api/webhooks/*", lambda route: held.append(route) if is_delete(route) else route.continue_())
    asked.get_by_role("button", name="Delete").click()
    # What is under way is not taken back by looking away; how it ends is said.
    expect(asked.get_by_role("button", name="Keep")).to_be_disabled()
    page.keyboard.press("Escape")
    until(page, lambda: held)
    refuse(held.pop())
    page.unroute("**/api/webhooks/*")
    expect(asked.get_by_role("alert")).to_contain_text("That was a lot at once.")
    asked.get_by_role("button", name="Delete").click()
    expect(page).to_have_url(re.compile("/webhooks$"))
    expect(page.get_by_role("link", name=url)).to_have_count(0)
    demo.require_calm(but=("429",))


ADD_A_WEBHOOK = """() => fetch("/api/webhooks", { method: "POST", headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ url: "https://example.com/another" }) })"""


def pause(page: Page) -> None:
    page.get_by_role("button", name="Pause").click()
    dialog(page, "Pause this address?").get_by_role("button", name="Pause").click()
    expect(dialog(page, "Pause this address?")).to_be_hidden()
