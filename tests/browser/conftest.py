"""A real browser before a real server process. Pictures of what it saw go to `test-results/`."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright

from tests.server import ServerProcess, server_process

PICTURES = Path(__file__).parents[2] / "test-results"
PASSWORD = "correct horse battery staple"
# A name that is not this machine's, as on an office network; it leads here all the same.
LAN_NAME = "fleet.test"
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

    def picture(self, name: str) -> None:
        PICTURES.mkdir(exist_ok=True)
        self.page.screenshot(path=PICTURES / f"{name}.png", full_page=True)


@pytest.fixture
def browser() -> Iterator[Browser]:
    # Per test: while Playwright is open its event loop runs, and no asynchronous test could run in this process.
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("NO BROWSER: install chromium; nothing of what people see was tested")
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield found
        found.close()


@pytest.fixture(scope="session")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    # The whole suite comes from one address: it must not run into the limit for people who guess.
    with server_process(tmp_path_factory.mktemp("fleet"), LOGINS_PER_MINUTE="1000") as server:
        server.command("tenant", "create", "acme", "--name", "Acme Films")
        yield Fleet(server)


@pytest.fixture
def watched(browser: Browser) -> Iterator[Watched]:
    context = browser.new_context(viewport={"width": 800, "height": 600})
    yield Watched(context.new_page())
    context.close()
