"""Pictures of every page, from a real server in a real browser.

At 1280 pixels, by daylight, they go to `docs/pictures`, for the README and the docs. At each width, light and dark, all
six of a page go side by side onto one sheet in `test-results/pages`: to be looked at.
"""

import io
import json
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
from typing import Literal

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright
from rich.progress import track

from comfyfleet.demo.samples import draw_clip, draw_picture

ROOT = Path(__file__).parent.parent
PICTURES, SHEETS = ROOT / "docs" / "pictures", ROOT / "test-results" / "pages"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
FLAGS += ["--disable-sync", "--no-first-run"]
START_WITHIN_S = 60
DRAWN_WITHIN_MS = 180_000
SETTLE_MS = 900  # pictures of a canvas tell nobody when they are drawn
LINK = re.compile(r"open the (studio|console):\s+(http://\S+)")
WIDTHS = (390, 1280, 1920)
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
HEIGHT = 860
NOBODY = "http://nobody.invalid/hook"
SHEET_HEIGHT_MAX = 1_600


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


ENGINE_PORT = free_port()
# By the names of their pictures; `{…}` is found when something has been made.
STUDIO_PAGES = {
    "studio-processing": "/jobs/{waiting}",
    "studio-gallery": "/",
    "studio-effect": "/effects/glow",
    "studio-result": "/jobs/{painting}",
    "studio-before-after": "/jobs/{glow}",
    "studio-clips": "/jobs/{film}",
    "studio-cancelled": "/jobs/{cancelled}",
    "studio-failed": "/jobs/{failed}",
    "studio-history": "/history",
    "studio-wallet": "/wallet",
    "studio-keys": "/keys",
    "studio-webhooks": "/webhooks",
    "studio-webhook": "/webhooks/{endpoint}",
    "studio-not-found": "/effects/nothing",
    "board-runs": "/runs",
    "board-run": "/runs/{run}",
    "board-gate": "/runs/{gate}",
    "board-vote": "/runs/{gate}/vote",
    "board-new": "/runs/new",
    "board-pipelines": "/pipelines",
}
CONSOLE_PAGES = {
    "console-overview": "/console",
    "console-timeline": "/console/timeline",
    "console-workers": "/console/workers",
    "console-worker": "/console/workers/up",
    "console-add-worker": "/console/add-worker",
    "console-fleets": "/console/fleets",
    "console-fleet": "/console/fleets/{fleet}",
    "console-dispatches": "/console/dispatches",
    "console-dispatch": "/console/dispatches/{painting}",
    "console-blocks": "/console/blocks",
    "console-workflows": "/console/workflows",
    "console-import": "/console/workflows/new",
    "console-workflow": "/console/workflows/demo-paint",
    "console-effects": "/console/effects",
    "console-effect": "/console/effects/paint",
    "console-new-effect": "/console/effects/new",
    "console-tenants": "/console/tenants",
    "console-tenant": "/console/tenants/{tenant}",
    "console-audit-log": "/console/audit-log",
    "console-settings": "/console/settings",
}
DOORS = {"door-login": "/", "door-password": "/set-password#token=x"}


def main() -> None:
    SHEETS.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, server(Path(folder)) as (url, links), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        stranger, studio = browser.new_page(), a_page(browser, links["studio"])
        console = a_page(browser, links["console"])
        found = make_something(studio, url, Path(folder))
        found |= found_by_operator(console, url)
        # The studio first: its first page shows a job that is being made, and will not wait.
        walks = [(studio, STUDIO_PAGES), (console, CONSOLE_PAGES), (stranger, DOORS)]
        for page, pages in walks:
            for name, path in track(pages.items(), description=next(iter(pages)).partition("-")[0]):
                take(page, name, url + path.format(**found))
        browser.close()


def make_something(page: Page, url: str, folder: Path) -> dict[str, str]:
    """Something of everything there is to see."""
    page.get_by_role("link", name="Painting").wait_for()
    page.wait_for_function(
        "() => document.querySelectorAll('main img, main video').length >= 5", timeout=DRAWN_WITHIN_MS
    )
    found = {"painting": made(page, url, "paint")}
    found["glow"] = made(page, url, "glow", draw_picture(folder / "a lake.png"))
    found["film"] = made(page, url, "painted-film", draw_clip(folder / "a city.mp4"))
    subprocess.run(
        [sys.executable, "-m", "comfyfleet", "demo", "pipeline"], cwd=folder, check=True, capture_output=True
    )
    found["run"] = page.request.get(f"{url}/api/pipeline-runs").json()["runs"][0]["id"]
    found["gate"] = stand_at_a_gate(page, url)
    found["endpoint"] = an_endpoint(page, url)
    found["cancelled"] = cancelled(page, url, folder / "a city.mp4")
    found["failed"] = failed(page, url, folder / "a lake.png")
    # Two before it: it waits, and then it is made, while its pictures are taken.
    for _ in range(3):
        found["waiting"] = begun(page, url, "painted-film", folder / "a city.mp4")
    return found


def made(page: Page, url: str, effect: str, file: Path | None = None) -> str:
    job_id = begun(page, url, effect, file)
    page.get_by_role("link", name="Download").first.wait_for(timeout=DRAWN_WITHIN_MS)
    return job_id


def begun(page: Page, url: str, effect: str, file: Path | None = None) -> str:
    page.goto(f"{url}/effects/{effect}")
    page.get_by_role("button", name="Start").wait_for()
    if file is not None:
        page.locator("input[type=file]").set_input_files(file)
    page.get_by_role("button", name="Start").click()
    page.wait_for_url(re.compile("/jobs/"))
    return page.url.rpartition("/")[2]


def cancelled(page: Page, url: str, file: Path) -> str:
    """A film: a picture is done before anybody has pressed the button."""
    job_id = begun(page, url, "painted-film", file)
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Try again").wait_for(timeout=DRAWN_WITHIN_MS)
    return job_id


def failed(page: Page, url: str, file: Path) -> str:
    """The engine errs on purpose; the worker is kept from this workflow then, which is a page as well."""
    order_faults({"prompts": {"error_at_node": "*"}})
    job_id = begun(page, url, "repaint", file)
    page.get_by_role("button", name="Try again").wait_for(timeout=DRAWN_WITHIN_MS)
    order_faults({})
    return job_id


def order_faults(order: dict[str, object]) -> None:
    asked = urllib.request.Request(
        f"http://127.0.0.1:{ENGINE_PORT}/comfyfleet/faults",
        json.dumps(order).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(asked):  # noqa: S310
        return


def stand_at_a_gate(page: Page, url: str) -> str:
    page.goto(f"{url}/runs/new")
    for label, value in {"Name": "Lake in autumn", "Scene": "a lake below mountains", "Mood": "autumn"}.items():
        page.get_by_label(label).fill(value)
    page.get_by_label("Variants").fill("4")
    page.get_by_role("button", name="Start", exact=True).click()
    page.get_by_role("button", name="Approve").wait_for(timeout=DRAWN_WITHIN_MS)
    return page.url.rpartition("/")[2]


def an_endpoint(page: Page, url: str) -> str:
    """Nobody is there: its deliveries show how that looks."""
    page.goto(f"{url}/webhooks")
    page.get_by_role("button", name="Add an address").click()
    page.get_by_role("textbox", name="Address").fill(NOBODY)
    page.get_by_role("button", name="Add", exact=True).click()
    page.get_by_role("button", name="Done").click()
    page.get_by_role("link", name=NOBODY).click()
    page.get_by_role("button", name="Send a test").click()
    page.get_by_role("row").filter(has_text="webhook.test").wait_for()
    return page.url.rpartition("/")[2]


def found_by_operator(page: Page, url: str) -> dict[str, str]:
    get = page.request.get
    return {
        "fleet": get(f"{url}/api/admin/fleets").json()["fleets"][0]["id"],
        "tenant": get(f"{url}/api/admin/tenants").json()["tenants"][0]["id"],
    }


def take(page: Page, name: str, address: str) -> None:
    shots: list[Image.Image] = []
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": HEIGHT})
            if not shots:
                page.goto(address)
                page.get_by_role("heading").first.wait_for()
                page.wait_for_load_state("networkidle" if "processing" not in name else "load")
            page.wait_for_timeout(SETTLE_MS)
            if (width, scheme) == (1280, "light"):
                read(page.screenshot()).save(PICTURES / f"{name}.webp", quality=82)
            shots.append(read(page.screenshot(full_page=True)))
    lay_out(shots).save(SHEETS / f"{name}.png")


def read(taken: bytes) -> Image.Image:
    with Image.open(io.BytesIO(taken)) as picture:
        return picture.convert("RGB")


def lay_out(shots: list[Image.Image]) -> Image.Image:
    """Two rows: light and dark. Phones are shown larger than their share."""
    scales = [1.0 if shot.width < 1000 else 1000 / shot.width for shot in shots]
    small = [
        shot.resize((int(shot.width * scale), int(shot.height * scale))).crop(
            (0, 0, int(shot.width * scale), min(int(shot.height * scale), SHEET_HEIGHT_MAX))
        )
        for shot, scale in zip(shots, scales, strict=True)
    ]
    rows = [small[: len(WIDTHS)], small[len(WIDTHS) :]]
    heights = [max(shot.height for shot in row) for row in rows]
    sheet = Image.new("RGB", (sum(shot.width + 12 for shot in rows[0]), sum(heights) + 12), "#777")
    for number, row in enumerate(rows):
        at = 0
        for shot in row:
            sheet.paste(shot, (at, number * (heights[0] + 12)))
            at += shot.width + 12
    return sheet


def a_page(browser: Browser, link: str) -> Page:
    page = browser.new_page(viewport={"width": 1280, "height": HEIGHT}, reduced_motion="reduce")
    page.goto(link)
    return page


@contextmanager
def server(folder: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Where it is, and its links into the studio and the console."""
    port = free_port()
    command = [sys.executable, "-m", "comfyfleet", "up", "--port", str(port), "--engine-port", str(ENGINE_PORT)]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(f"http://127.0.0.1:{port}/readyz")
        yield f"http://127.0.0.1:{port}", dict(LINK.findall((folder / ".comfyfleet" / "login.links").read_text()))
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
