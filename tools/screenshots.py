"""Takes the pictures of the README anew, from a real server in a real browser."""

import json
import os
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

from playwright.sync_api import sync_playwright

PICTURES = Path(__file__).parent.parent / "docs" / "pictures"
PASSWORD = "correct horse battery staple"  # noqa: S105 of a user who lives for a second
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
FLAGS += ["--disable-sync", "--no-first-run"]
START_WITHIN_S = 30


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, server(Path(folder)) as address:
        comfyfleet(folder, "tenant", "create", "acme", "--name", "Acme Films")
        comfyfleet(
            folder,
            "user",
            "create",
            "ada@acme.test",
            "--tenant",
            "acme",
            "--role",
            "admin",
            "--password-stdin",
            given=PASSWORD,
        )
        comfyfleet(folder, "wallet", "credit", "ada@acme.test", "500", "--id", "payment-1")
        take(address)


def take(address: str) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        page = browser.new_page(viewport={"width": 720, "height": 420}, device_scale_factor=2)
        page.goto(address)
        page.get_by_label("Email").fill("ada@acme.test")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Log in").click()
        page.get_by_text("500", exact=True).wait_for()
        page.screenshot(path=PICTURES / "front-door.png")
        browser.close()


@contextmanager
def server(folder: Path) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "comfyfleet", "up", "--no-engine", "--port", str(port)]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://localhost:{port}"
    try:
        wait_for(f"{address}/readyz")
        yield address
    finally:
        process.terminate()
        process.wait()


def wait_for(address: str) -> None:
    for _ in range(START_WITHIN_S * 10):
        try:
            with urllib.request.urlopen(address) as answer:  # noqa: S310 our own server
                json.load(answer)
            return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError(address)


def comfyfleet(folder: str, *arguments: str, given: str = "") -> None:
    command = [sys.executable, "-m", "comfyfleet", *arguments]
    subprocess.run(command, cwd=folder, input=given, text=True, check=True, env=os.environ, capture_output=True)


if __name__ == "__main__":
    main()
