"""Channels, alerts and the log of notifications, as an operator's HTTP calls see them."""

from dataclasses import replace
from ipaddress import ip_network

import httpx2
import pytest
from fastapi import FastAPI

from comfyfleet import notifications
from comfyfleet.api.app import build_app
from comfyfleet.bootstrap import build_options
from comfyfleet.house import House
from comfyfleet.notifications import AlertReading, AlertReadings, AlertTimes
from comfyfleet.settings import Settings
from tests.api.operator.conftest import Depot
from tests.builders import a_member

CHANNELS = "/notification-channels"
WEBHOOK = {"name": "pager", "kind": "webhook", "target": "https://chat.example.com/hooks/T0KEN-of-the-chat"}


@pytest.fixture
def app(house: House, settings: Settings) -> FastAPI:
    return build_app(replace(house, notification_networks=(ip_network("10.0.0.0/8"),)), build_options(settings))


async def fire(house: House) -> None:
    async with house.control_tx() as tx:
        readings = AlertReadings.of([AlertReading("NoWorkers", "3 jobs wait", "video/test")], known=["NoWorkers"])
        await notifications.note_readings(tx, readings, times=AlertTimes(for_s=0.0), public_url="http://localhost")


async def test_a_channel_is_made_tested_switched_off_and_deleted(depot: Depot) -> None:
    made = await depot.ask("POST", CHANNELS, 201, json=WEBHOOK)
    channel, secret = made["channel"], made["secret"]
    assert secret.startswith("whsec_")
    assert (channel["target"], channel["is_active"]) == ("https://chat.example.com/…", True)
    path = f"{CHANNELS}/{channel['id']}"
    sent = await depot.ask("POST", f"{path}/test", 202)
    [row] = (await depot.ask("GET", "/notifications"))["notifications"]
    assert (row["id"], row["kind"], row["status"], row["channel"]) == (
        sent["notification_id"],
        "test",
        "pending",
        "pager",
    )
    assert (await depot.ask("POST", f"{path}/disable"))["is_active"] is False
    refused = await depot.ask("POST", f"{path}/test", 422)
    assert "pager is off; enable it first" in refused["error"]["message"]
    assert (await depot.ask("POST", f"{path}/enable"))["is_active"] is True
    listed = await depot.client.get(f"/api/admin{CHANNELS}", headers=depot.headers)
    assert [each["name"] for each in listed.json()["channels"]] == ["pager"]
    await depot.ask("DELETE", path, 204)
    await depot.ask("DELETE", path, 404)
    await depot.ask("POST", f"{path}/test", 404)
    verbs = [name for name, _, _ in await depot.audited() if name.startswith("notification_channel")]
    assert [each.partition(".")[2] for each in verbs] == ["create", "test", "disable", "enable", "delete"]
    told = str(await depot.audited()) + listed.text
    assert "T0KEN-of-the-chat" not in told, "the path of a chat's address is its secret"
    assert secret not in told


async def test_refusals_have_a_code_and_say_what_to_do(depot: Depot) -> None:
    private = {**WEBHOOK, "target": "http://192.168.0.9/x"}
    refused = (await depot.ask("POST", CHANNELS, 422, json=private))["error"]
    assert refused["code"] == "channel_not_public"
    assert "COMFYFLEET_NOTIFICATION_NETWORKS" in refused["message"]
    mail = {"name": "mail", "kind": "mail", "target": "ops@example.com"}
    refused = (await depot.ask("POST", CHANNELS, 422, json=mail))["error"]
    assert refused["code"] == "mail_not_configured"
    await depot.ask("POST", CHANNELS, 422, json={**WEBHOOK, "kind": "pigeon"})
    await depot.ask("POST", CHANNELS, 201, json={**WEBHOOK, "target": "http://10.1.2.3/x"})
    assert (await depot.ask("POST", CHANNELS, 409, json=WEBHOOK))["error"]["code"] == "already_exists"


async def test_alerts_are_listed_by_state_and_stand_on_top_of_the_overview(depot: Depot) -> None:
    await depot.ask("POST", CHANNELS, 201, json=WEBHOOK)
    assert (await depot.ask("GET", "/overview"))["firing_alerts"] == []
    await fire(depot.house)
    [alert] = (await depot.ask("GET", "/alerts"))["alerts"]
    assert {name: alert[name] for name in ("condition", "subject", "state", "severity", "text", "runbook")} == {
        "condition": "NoWorkers",
        "subject": "video/test",
        "state": "firing",
        "severity": "page",
        "text": "3 jobs wait",
        "runbook": "docs/runbooks/NoWorkers.md",
    }
    assert (await depot.ask("GET", "/alerts?state=pending&state=resolved"))["alerts"] == []
    await depot.ask("GET", "/alerts?state=angry", 422)
    [row] = (await depot.ask("GET", "/notifications"))["notifications"]
    assert (row["kind"], row["condition"], row["subject"]) == ("firing", "NoWorkers", "video/test")


async def test_the_overview_names_what_fires(depot: Depot) -> None:
    await fire(depot.house)
    [alert] = (await depot.ask("GET", "/overview"))["firing_alerts"]
    assert (alert["condition"], alert["subject"]) == ("NoWorkers", "video/test")


async def test_only_operators_come_here(depot: Depot, client: httpx2.AsyncClient) -> None:
    member = await a_member(depot.house)
    for path in ("/alerts", CHANNELS, "/notifications"):
        assert (await client.get(f"/api/admin{path}", headers=member.headers)).status_code == 403
    assert (await client.post(f"/api/admin{CHANNELS}", json=WEBHOOK, headers=member.headers)).status_code == 403
