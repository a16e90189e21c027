"""An audit chain that was changed behind the server's back: what an operator sees, and how it ends."""

import re
import sqlite3
from contextlib import closing

import httpx2
import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Fleet, Watched, fresh


def change_a_row(fleet: Fleet) -> None:
    """As somebody who can write the database."""
    with closing(sqlite3.connect(fleet.server.home / "central.sqlite")) as central, central:
        for (name,) in central.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            if name.startswith("audit_log"):
                central.execute(f"DROP TRIGGER {name}")
        central.execute("UPDATE audit_log SET action = 'nothing' WHERE seq = 2")


@pytest.mark.flaky(reruns=0)  # a chain is broken for good: what fell cannot be tried again on this server
def test_an_alarm_is_seen_and_acknowledged_on_the_overview(fleet: Fleet, watched: Watched) -> None:
    email = fleet.add_user(f"{fresh('ada')}@acme.test", tokens=10)
    assert fleet.server.stop() == 0
    change_a_row(fleet)
    fleet.server.start()
    page = watched.page
    links = (fleet.server.home / "login.links").read_text()
    door = re.search(rf"open the console: {fleet.server.url}(/enter#token=\S+)", links)
    assert door is not None
    page.goto(f"{fleet.server.url}{door[1]}")
    alarm = page.get_by_role("alert").filter(has_text="An audit chain does not hold: credits are stopped")
    expect(alarm).to_contain_text("row 2", timeout=60_000)
    expect(page.get_by_label("Health")).to_contain_text("audit: alarm")
    watched.require_fits_everywhere("overview-audit-alarm")
    with httpx2.Client(base_url=fleet.server.url, headers=fleet.server.operator, timeout=20) as client:
        tenant = client.get("/api/admin/tenants").json()["tenants"][0]["id"]
        users = client.get(f"/api/admin/tenants/{tenant}/users").json()["users"]
        user = next(each["id"] for each in users if each["email"] == email)
        gift = {"user_id": user, "amount": 5, "provider_transaction_id": "after-the-alarm"}
        assert client.post(f"/api/admin/tenants/{tenant}/credits", json=gift).status_code == 503
        alarm.get_by_role("button", name="Acknowledge").click()
        page.get_by_role("dialog").get_by_role("button", name="Acknowledge").click()
        expect(alarm).to_have_count(0)
        expect(page.get_by_label("Health")).not_to_contain_text("audit: alarm")
        assert client.post(f"/api/admin/tenants/{tenant}/credits", json=gift).status_code == 201
    watched.require_calm()
