"""Takes the pictures of the README and the docs anew, from a real server in a real browser.

Every page at every width, light and dark, is pictured by the browser tests, into `test-results/`.
"""

import io
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

PICTURES = Path(__file__).parent.parent / "docs" / "pictures"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
FLAGS += ["--disable-sync", "--no-first-run"]
START_WITHIN_S = 60
DRAWN_WITHIN_MS = 180_000
SETTLE_MS = 1_500  # pictures of a canvas tell nobody when they are drawn
LINK = re.compile(r"open the (studio|console):\s+(http://\S+)")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, server(Path(folder)) as links, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        studio = a_page(browser, links["studio"])
        take_studio(studio)
        play_pipeline(Path(folder))
        take_board(studio)
        take_console(a_page(browser, links["console"]))
        browser.close()


def take_studio(page: Page) -> None:
    page.get_by_role("link", name="Painting").wait_for()
    page.wait_for_function(
        "() => document.querySelectorAll('main img, main video').length >= 5", timeout=DRAWN_WITHIN_MS
    )
    page.wait_for_load_state("networkidle")
    keep(page, "studio-gallery")
    page.get_by_role("link", name="Painting").click()
    page.get_by_role("button", name="Start").click()
    page.get_by_role("link", name="Download").wait_for(timeout=DRAWN_WITHIN_MS)
    page.wait_for_load_state("networkidle")
    keep(page, "studio-result")


def play_pipeline(folder: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "comfyfleet", "demo", "pipeline"], cwd=folder, check=True, capture_output=True
    )


def take_board(page: Page) -> None:
    page.get_by_role("link", name="Runs").click()
    keep(page, "board-runs")
    page.get_by_role("link", name="Demo").first.click()
    page.get_by_role("heading", name="Demo").wait_for()
    page.wait_for_timeout(SETTLE_MS)
    keep(page, "board-run")


def take_console(page: Page) -> None:
    page.get_by_role("heading", name="Overview").wait_for()
    for name in ("Overview", "Timeline", "Workers", "Dispatches", "Workflows", "Effects", "Audit log", "Settings"):
        page.get_by_role("navigation").get_by_role("link", name=name, exact=True).click()
        page.get_by_role("heading", name=name, exact=True).wait_for()
        page.wait_for_timeout(SETTLE_MS)
        keep(page, f"console-{name.lower().replace(' ', '-')}")


def a_page(browser: Browser, link: str) -> Page:
    page = browser.new_page(viewport={"width": 1280, "height": 860}, reduced_motion="reduce")
    page.goto(link)
    return page


def keep(page: Page, name: str) -> None:
    with Image.open(io.BytesIO(page.screenshot())) as taken:
        taken.convert("RGB").save(PICTURES / f"{name}.webp", quality=82)


@contextmanager
def server(folder: Path) -> Iterator[dict[str, str]]:
    """Its links into the studio and the console."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    said = folder / "said.txt"
    command = [sys.executable, "-m", "comfyfleet", "up", "--port", str(port)]
    with said.open("wb") as out:
        process = subprocess.Popen(command, cwd=folder, stdout=out, stderr=subprocess.DEVNULL)
    try:
        wait_for(f"http://127.0.0.1:{port}/readyz")
        yield dict(LINK.findall(said.read_text()))
    finally:
        process.terminate()
        process.wait()


def wait_for(address: str) -> None:
    for _ in range(START_WITHIN_S * 10):
        try:
            with urllib.request.urlopen(address):  # noqa: S310 our own server
                return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError(address)


if __name__ == "__main__":
    main()
