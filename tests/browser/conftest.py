"""A real browser before a real server process. Pictures of what it saw go to `test-results/`.

`fleet` is a control plane alone, `studio` everything that `comfyfleet up` starts: engine, worker, demo. One of each for
a file of tests. `watched` is a fresh page; `demo` and `operator` are pages in which somebody is logged in. A page that
complains on its console fails its test.
"""

import shutil
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit
from uuid import uuid4

import httpx2
import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, Route, expect, sync_playwright

from comfyfleet.cli.up.neighbours import WORKER_ID
from comfyfleet.demo.catalogue import CATALOGUE
from tests.kept_logs import wait_for
from tests.made_media import a_film
from tests.server import START_WITHIN_S, ServerProcess, free_port, server_process

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "test-results"
AXE = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
WIDTHS = (390, 1280, 1920)
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
DEMO, OPERATOR = "demo@localhost", "operator@localhost"
PASSWORD = "correct horse battery staple"
# A name that is not this machine's, as on an office network; it leads here all the same.
LAN_NAME = "fleet.test"
STREAMS = ("/api/events", "/api/admin/live")
PART_BYTES = 64 * 1024**2
WORKER_WITHIN_S = 120.0
POLL_S = 2  # where there is no stream
# One that ends may set off another.
SETTLED = """async () => {
    const moving = () => document.getAnimations()
        .filter((each) => each.effect?.getComputedTiming().iterations !== Infinity && each.playState === 'running');
    while (moving().length) await Promise.all(moving().map((each) => each.finished.catch(() => undefined)));
}"""
# CI's two cores are busy with others' tests, too.
expect.set_options(timeout=20_000)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    f"--host-resolver-rules=MAP {LAN_NAME} 127.0.0.1",
]


@dataclass(frozen=True)
class Fleet:
    """A server with a tenant and a user in it."""

    server: ServerProcess

    def at(self, host: str) -> str:
        return f"http://{host}:{self.server.port}"

    def add_user(self, email: str, *, tokens: int) -> str:
        """By the API, as an operator would: a process per command would take longer than the test."""
        with httpx2.Client(base_url=self.server.url, headers=self.server.operator, timeout=20) as client:
            tenant = f"/api/admin/tenants/{client.get('/api/admin/tenants').json()['tenants'][0]['id']}"
            made = client.post(f"{tenant}/users", json={"email": email}).json()
            chosen = {"token": made["link"].partition("#token=")[2], "password": PASSWORD}
            assert client.post("/api/auth/password", json=chosen).status_code == 200
            gift = {"user_id": made["user"]["id"], "amount": tokens, "provider_transaction_id": f"pay-{email}"}
            assert client.post(f"{tenant}/credits", json=gift).status_code == 201
        return email


def go(page: Page, label: str) -> None:
    """By the navigation, to a page of that name."""
    page.get_by_role("navigation", name="Main").get_by_role("link", name=label, exact=True).click()
    expect(page.get_by_role("heading", level=1, name=label)).to_be_visible()


def until(page: Page, condition: Callable[[], object], within_s: float = 20) -> None:
    """What no locator can tell. The page goes on meanwhile."""
    ends = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < ends, "it did not come to pass"
        page.wait_for_timeout(50)


class Asked:
    """What a page asks the server for, from now on; the stream itself does not count."""

    def __init__(self, page: Page) -> None:
        self.paths: list[str] = []
        page.on("request", self._note)

    def _note(self, request: Request) -> None:
        path = urlsplit(request.url).path
        if path.startswith("/api/") and path not in STREAMS:
            self.paths.append(path)


@dataclass
class Watched:
    """A page, and everything it asked for and complained about."""

    page: Page
    hosts: set[str] = field(default_factory=set)
    complaints: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.set_default_timeout(15_000)
        self.page.on("request", lambda request: self.hosts.add(urlsplit(request.url).netloc))
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.type}: {message.text}")

    def goto_and_listen(self, url: str) -> None:
        """Until the page is told what happens, and has nothing more to ask."""
        with self.page.expect_response(lambda answer: urlsplit(answer.url).path in STREAMS):
            self.page.goto(url)
        self.page.wait_for_load_state("load")
        self.page.wait_for_timeout(1_000)

    def picture(self, name: str) -> None:
        PICTURES.mkdir(exist_ok=True)
        self.page.screenshot(path=PICTURES / f"{name}.png", full_page=True)

    @contextmanager
    def slow_network(self) -> Iterator[None]:
        """What a page asks for is on its way until the end. Who is logged in is known: else no page would be shown."""
        held: list[Route] | None = []

        def ask(route: Route) -> None:
            if held is None or route.request.url.endswith("/api/auth/session"):
                route.continue_()
            else:
                held.append(route)

        self.page.route("**/api/**", ask)
        yield
        arriving, held = held, None
        for route in arriving:
            route.continue_()
        # It stays in the way and lets all pass: a request that it just has in hand would be lost with it.

    def require_says_that_it_loads(self, url: str) -> None:
        """Before its content is there a page is accessible, too, and says to everybody that something is coming."""
        with self.slow_network():
            self.page.goto(url)
            expect(self.page.locator("main").get_by_role("status", name="Loading").first).to_be_visible()
            self.require_accessible(f"{url} while it loads")
        expect(self.page.locator("[aria-busy=true]")).to_have_count(0)

    def require_calm(self, *, but: tuple[str, ...] = ()) -> None:
        """Nothing was blocked, nothing broke. `but`: what this very test provokes."""
        assert [each for each in self.complaints if not any(known in each for known in but)] == []

    def require_accessible(self, where: str = "") -> None:
        """No serious finding of axe in what is shown now, and nothing to scroll sideways for."""
        # What is still coming in, is half transparent.
        self.page.evaluate(SETTLED)
        # Past the page's own rules for scripts, which allow none but ours; once in each document.
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(AXE.read_text())
        found: Any = self.page.evaluate("() => axe.run(document, { resultTypes: ['violations'] })")
        serious = [
            f"{each['id']}: {[(node['html'][:200], node['failureSummary']) for node in each['nodes']][:3]}"
            for each in found["violations"]
            if each["impact"] in ("serious", "critical")
        ]
        assert serious == [], (where, serious)
        width = self.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert width[0] <= width[1], (where, "scrolls sideways", width)

    def require_fits_everywhere(self, name: str, *, settle: Callable[[], None] = lambda: None) -> None:
        """The page that is shown now, at each width, light and dark: accessible, within its screen, and a picture."""
        for scheme in SCHEMES:
            self.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            expect(self.page.locator("html")).to_have_attribute("data-mantine-color-scheme", scheme)
            for width in WIDTHS:
                self.page.set_viewport_size({"width": width, "height": 900})
                settle()
                self.picture(f"{name}-{width}-{scheme}")
                self.require_accessible(f"{name} {width} {scheme}")
        # What is folded away is made when the browser has time, and nobody waits for that either.
        expect(self.page.locator("[aria-busy=true]")).to_have_count(0)
        self.page.set_viewport_size({"width": 1280, "height": 900})


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The first test of a file waits for its server and its worker, on a machine that may be busy: what is not ready
    then must say so itself, with its logs, before pytest ends the test."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent) and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(START_WITHIN_S + WORKER_WITHIN_S + 60))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    # One for a file; each page has a profile of its own. While Playwright is open its event loop runs, and no
    # asynchronous test could run in this process: it ends with the file, and these files have none.
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("NO BROWSER: install chromium; nothing of what people see was tested")
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield found
        found.close()


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    # The whole suite comes from one address: it must not run into the limit for people who guess.
    with server_process(tmp_path_factory.mktemp("fleet"), LOGINS_PER_MINUTE="1000") as server:
        server.command("tenants", "create", "acme", "--name", "Acme Films")
        yield Fleet(server)


def fresh(name: str) -> str:
    """Another one each time: what was made stays, and a test may be run again."""
    return f"{name}-{uuid4().hex[:6]}"


def a_long_clip(path: Path) -> Path:
    """So large that it goes in two parts; most of it is a box that players skip."""
    film = a_film(seconds=1.0)
    rest = PART_BYTES + 100_000 - len(film)
    with path.open("wb") as file:
        file.write(film + struct.pack(">I4s", rest, b"free"))
        file.truncate(len(film) + rest)
    return path


@dataclass(frozen=True)
class Studio:
    """All that `comfyfleet up` starts."""

    server: ServerProcess
    engine_url: str

    @property
    def url(self) -> str:
        return f"http://localhost:{self.server.port}"

    def session_of(self, email: str) -> dict[str, Any]:
        """A cookie of somebody who logged in; without the page that is tested elsewhere."""
        answer = httpx2.post(f"{self.server.url}/api/auth/login", json={"email": email, "password": PASSWORD})
        assert answer.status_code == 200, answer.text
        name, _, value = answer.headers["set-cookie"].split(";")[0].partition("=")
        # A `__Host-` cookie is taken from https only; it is sent to localhost all the same.
        url = self.url.replace("http:", "https:")
        return {"name": name, "value": value, "url": url, "httpOnly": True, "secure": True, "sameSite": "Lax"}

    def asking(self, path: str, method: str = "POST", **body: Any) -> Any:
        """As an operator, behind the back of whoever looks at a page."""
        answer = httpx2.request(method, f"{self.server.url}{path}", headers=self.server.operator, json=body or None)
        assert answer.status_code < 300, answer.text
        return answer.json() if answer.content else None

    def offer(
        self,
        like: str,
        graph: Any,
        *,
        assigned: bool = True,
        expected_s: float = 2,
        output_node: str | None = None,
        **effect: Any,
    ) -> str:
        """A workflow and a published effect of the same slug, by the API as an operator would. Users may set a seed.
        Where several nodes save, `output_node` makes the result."""
        slug = fresh(like)
        sowed = next(name for name, node in graph.items() if "seed" in node["inputs"])
        seed = {"name": "seed", "type": "seed", "label": "Seed", "default": "random", "node": sowed}
        properties = [seed | {"input_name": "seed"}]
        said = {"graph": graph, "properties": properties, "expected_s": expected_s, "output_node": output_node}
        self.asking("/api/admin/workflows", slug=slug, **said)
        for fleet in self.asking("/api/admin/fleets", "GET")["fleets"] if assigned else []:
            self.asking(f"/api/admin/fleets/{fleet['id']}/workflows/{slug}", "PUT", is_active=True)
        shown = {"credits_cost": 2, "waits_for_worker": True, **effect}
        self.asking("/api/admin/effects", slug=slug, workflow=slug, **shown)
        self.asking(f"/api/admin/effects/{slug}/publish")
        return slug

    def wait_for_previews(self) -> None:
        """A fleet that has just started draws them, and each is an action that is told."""
        while any(self.asking(f"/api/admin/effects/{each.slug}", "GET")["preview_url"] is None for each in CATALOGUE):
            time.sleep(0.1)

    def order(self, effect: str, key: str = "", **properties: Any) -> str:
        """A job of the demo's user, by the API as a studio would."""
        with httpx2.Client(base_url=self.server.url, timeout=30) as client:
            login = client.post("/api/auth/login", json={"email": DEMO, "password": PASSWORD})
            assert login.status_code == 200, login.text
            cookie = {"Cookie": login.headers["set-cookie"].split(";")[0], "Origin": self.server.url}
            found = client.get(f"/api/effects/{effect}", headers=cookie).json()
            said = {"effect_id": found["id"], "properties": properties, "idempotency_key": key or uuid4().hex}
            made = client.post("/api/ai-jobs", json=said, headers=cookie)
            assert made.status_code in (200, 201, 202), made.text
        job = str(made.json()["id"])
        while httpx2.get(self._dispatch(job), headers=self.server.operator).status_code == 404:
            time.sleep(0.02)  # it is on its way to the queue
        return job

    def cancel(self, *jobs: str) -> None:
        """Those that are over stay what they are."""
        for job in jobs:
            httpx2.post(f"{self._dispatch(job)}/cancel", headers=self.server.operator).raise_for_status()

    def _dispatch(self, job: str) -> str:
        return f"{self.server.url}/api/admin/dispatches/{job}"

    def order_faults(self, **order: Any) -> None:
        """What the engine does wrong from now on; nothing: it behaves again."""
        httpx2.post(f"{self.engine_url}/comfyfleet/faults", json=order).raise_for_status()


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    with a_studio(tmp_path_factory.mktemp("studio")) as found:
        yield found


@contextmanager
def a_studio(folder: Path, **more: str) -> Iterator[Studio]:
    settings = {
        "LOGINS_PER_MINUTE": "1000",
        "MEDIA_IMAGE_BYTES_MAX": "1000000",
        "GET_TOKENS_TEXT": "Ask Mira at the front desk.",
        "GET_TOKENS_URL": "https://shop.example/tokens",
        "WEBHOOK_NETWORKS": '["127.0.0.0/8"]',
        "TRACE_URL": "https://traces.example/trace/{trace_id}",
    }
    engine_port = str(free_port())
    started = ("--engine", "--engine-port", engine_port)
    with server_process(folder, *started, **settings, **more) as server:
        for email in (DEMO, OPERATOR):
            server.command("users", "set-password", email, "--password-stdin", stdin=PASSWORD)
        wait_for(
            lambda: worker_takes_work(server),
            within_s=WORKER_WITHIN_S,
            what="the worker of `up` takes work",
            log=folder / "err.txt",
        )
        yield Studio(server, f"http://127.0.0.1:{engine_port}")


def worker_takes_work(server: ServerProcess) -> bool:
    """Registered and approved, and its engine answers."""
    answer = httpx2.get(f"{server.url}/api/admin/workers/{WORKER_ID}", headers=server.operator, timeout=20)
    if answer.status_code != 200:
        return False
    found = answer.json()
    return found["status"] == "approved" and found["capabilities"].get("unwell") == {}


@pytest.fixture
def watched(browser: Browser) -> Iterator[Watched]:
    with a_page(browser) as page:
        yield page


@pytest.fixture
def demo(browser: Browser, studio: Studio) -> Iterator[Watched]:
    """The demo's user, logged in; the page is still empty."""
    with a_page(browser, studio.session_of(DEMO)) as page:
        yield page


@pytest.fixture
def operator(browser: Browser, studio: Studio) -> Iterator[Watched]:
    with a_page(browser, studio.session_of(OPERATOR)) as page:
        yield page


@contextmanager
def a_page(browser: Browser, session: Any = None) -> Iterator[Watched]:
    context = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    if session is not None:
        context.add_cookies([session])
    yield Watched(context.new_page())
    context.close()
