"""How a fleet scales, on its page: told as it happens, changed there, explained where nothing can be launched.

Its machines come from a program of a few lines that says what two files say: nothing is started.
"""

import json
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Studio, Watched, fresh

PROVIDER = """#!/bin/sh
# Answers a launch with the one file, and anything else with the other.
read -r asked
case "$asked" in *'"launch"'*) cat {folder}/launched.json ;; *) cat {folder}/machines.json ;; esac
"""
# A look at the fleet is due every ten seconds, and CI's cores are busy.
TOLD_WITHIN_MS = 60_000


@dataclass(frozen=True)
class Scaled:
    """A fleet with one workflow of its own, and a provider that says what a test tells it to."""

    studio: Studio
    slug: str
    fleet_id: str
    effect: str
    folder: Path

    def provide(self, *, launched: Any, machines: Any = ()) -> None:
        (self.folder / "launched.json").write_text(json.dumps(launched))
        (self.folder / "machines.json").write_text(json.dumps({"machines": list(machines)}))

    def scale(self, *words: str) -> None:
        """From a terminal, in a process that tells the server nothing."""
        self.studio.server.command("fleets", "scale", f"{self.slug}/production", *words)


@pytest.fixture
def scaled(studio: Studio, tmp_path: Path) -> Iterator[Scaled]:
    slug = fresh("night")
    fleet = studio.asking("/api/admin/fleets", slug=slug, stage="production")
    nap = {
        "1": {"class_type": "FleetSleep", "inputs": {"seconds": 0.1, "steps": 1, "seed": 7, "previews": False}},
        "2": {"class_type": "SaveImage", "inputs": {"images": ["1", 0], "filename_prefix": "nap"}},
    }
    effect = studio.offer("scaled", nap, assigned=False, expected_s=5)
    studio.asking(f"/api/admin/fleets/{fleet['id']}/workflows/{effect}", "PUT", is_active=True)
    (tmp_path / "provider.sh").write_text(PROVIDER.format(folder=tmp_path))
    made = Scaled(studio, slug, fleet["id"], effect, tmp_path)
    made.provide(launched={"ids": [], "errors": [{"problem": "capacity", "text": "none left in zone a", "number": 1}]})
    yield made
    if studio.asking(f"/api/admin/fleets/{fleet['id']}", "GET")["scales_by"]:
        made.scale("--min", "0", "--max", "0")


def panel(page: Page, title: str) -> Any:
    return page.get_by_role("heading", level=2, name=title, exact=True).locator("xpath=ancestor::section")


def test_a_fleet_that_scales_is_told_explained_and_changed(operator: Watched, scaled: Scaled) -> None:
    page, studio = operator.page, scaled.studio
    operator.goto_and_listen(f"{studio.url}/console/fleets/{scaled.fleet_id}")
    expect(panel(page, "Scaling")).to_contain_text("The server can start and end machines with its queue instead")
    command = f"comfyfleet fleets scale {scaled.slug}/production --max 4 --adapter command"
    expect(page.get_by_text(command)).to_be_visible()

    config = json.dumps({"command": f"sh {scaled.folder}/provider.sh"})
    words = ["--max", "3", "--class", "a10,spot=0.4,zones=a"]
    scaled.scale(*words, "--adapter", "command", "--adapter-settings", config)
    expect(panel(page, "Scaling")).to_contain_text("From 0 to 3 workers with its queue; machines by command.")
    expect(panel(page, "Machines")).to_contain_text("None: the next job starts one.")

    # What an order sets off is told, and so is why it leads nowhere.
    job = studio.order(scaled.effect)
    alert = page.get_by_role("alert").filter(has_text="The provider has no capacity")
    expect(alert).to_contain_text("the last answer: none left in zone a", timeout=TOLD_WITHIN_MS)
    expect(panel(page, "Scaling")).to_contain_text("1 job, 5 s of work")
    decisions = page.get_by_role("table", name="Decisions")
    expect(decisions.get_by_role("row").filter(has_text="Jobs wait, and there was no worker")).to_have_count(1)

    # The cause is mended, and launches go on.
    machine = {"id": "gpu-7", "state": "running", "class": "a10", "market": "spot", "zone": "a"}
    scaled.provide(launched={"ids": ["gpu-7"]}, machines=[machine | {"launched_at_s": time.time()}])
    alert.get_by_role("button", name="Resume launches").click()
    expect(page.get_by_text("Machines are launched again from the next look on.")).to_be_visible()
    row = page.get_by_role("table", name="Machines").get_by_role("row").filter(has_text="gpu-7")
    expect(row).to_contain_text(re.compile("a10.*Spot.*a.*starting"), timeout=TOLD_WITHIN_MS)
    expect(alert).to_be_hidden(timeout=TOLD_WITHIN_MS)
    expect(page.get_by_role("img", name=re.compile(r"Machines over time: .*1 starting"))).to_be_visible(
        timeout=TOLD_WITHIN_MS
    )
    change_settings(page)
    assert studio.asking(f"/api/admin/fleets/{scaled.slug}/production/scaling", "GET")["settings"]["min_workers"] == 1
    expect(panel(page, "Scaling")).to_contain_text("From 1 to 6 workers")
    operator.require_fits_everywhere("console-fleet-scaling")
    studio.cancel(job)
    operator.require_calm(but=("422",))


def change_settings(page: Page) -> None:
    """What is wrong is said at its field: by the page where it can tell, else by the server."""
    page.get_by_role("button", name="Change settings").click()
    form = page.get_by_role("dialog", name="How this fleet scales")
    form.get_by_label("Buffer").fill("")
    expect(form.get_by_text("Enter a number.")).to_be_visible()
    expect(form.get_by_role("button", name="Save")).to_be_disabled()
    form.get_by_label("Buffer").fill("0")
    form.get_by_label("Minimum").fill("7")
    form.get_by_label("Maximum").fill("6")
    form.get_by_role("button", name="Save").click()
    expect(form.get_by_label("Minimum")).to_have_attribute("aria-invalid", "true")
    expect(form.get_by_text("is 7, but max_workers is 6; lower one or raise the other")).to_be_visible()
    form.get_by_label("Minimum").fill("1")
    form.get_by_label("Budget ($ an hour)").fill("2")
    form.get_by_label("$ an hour, Spot").fill("")
    form.get_by_role("button", name="Save").click()
    expect(form.get_by_text("is missing, but budget_per_hour is 2")).to_be_visible()
    expect(form.get_by_label("$ an hour, Spot")).to_have_attribute("aria-invalid", "true")
    form.get_by_label("$ an hour, Spot").fill("0.5")
    form.get_by_role("button", name="Save").click()
    expect(form).to_be_hidden()
