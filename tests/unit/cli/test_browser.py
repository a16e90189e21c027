"""Opening a page from a terminal."""

from pathlib import Path

import pytest

from comfyfleet.cli.browser import open_in_browser

URL = "http://127.0.0.1:8700/runs/1/vote?step=1"


def test_the_page_is_opened_in_the_browser_that_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/opened\n')
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    monkeypatch.setattr("webbrowser._tryorder", None)  # the names are read once for a process
    assert open_in_browser(URL)
    assert (tmp_path / "opened").read_text().strip() == URL


@pytest.mark.skipif("sys.platform == 'darwin'")
def test_where_there_is_no_screen_nothing_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    assert not open_in_browser(URL)
