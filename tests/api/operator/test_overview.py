"""What the console is made of: figures, blocks of time, what changes, settings; on both engines."""

import json
from typing import Any

import pytest

from comfyfleet import dispatch
from comfyfleet.api.operator import overview, timeline
from comfyfleet.api.operator.timeline import FleetWatch
from comfyfleet.api.options import ApiOptions
from comfyfleet.bootstrap import build_options
from comfyfleet.dispatch import FailureClass, Grant, Report
from comfyfleet.dispatch.waiting import NO_WORKER, none_fit
from comfyfleet.fleet import Registration
from comfyfleet.settings import Settings
from tests.api.conftest import WEBHOOK_SECRET
from tests.api.operator.conftest import Depot, proof
from tests.builders import a_member, a_tenant


async def leased(depot: Depot, made: Registration) -> Grant:
    await depot.enqueue()
    grant = await depot.lease(made)
    assert grant is not None
    return grant


async def complete(depot: Depot, made: Registration, grant: Grant) -> None:
    async with depot.house.control_tx() as tx:
        await dispatch.complete_dispatches(tx, [Report(proof(made, grant), "d")], signer=depot.house.leases)


async def test_one_look_tells_what_waits_who_waits_and_what_ended(depot: Depot) -> None:
    made, tenant = await depot.register(), await a_tenant(depot.house, "acme")
    await complete(depot, made, await leased(depot, made))
    await depot.fail(made, await leased(depot, made), FailureClass.USER_INPUT)
    await leased(depot, made)
    for _ in range(3):
        await depot.enqueue(tenant_id=tenant.id)
    found = await depot.ask("GET", "/overview")
    (workflow,) = found["workflows"]
    assert (workflow["workflow"], workflow["queued"], workflow["running"]) == ("face-swap", 3, 1)
    assert [(each["tenant"], each["queued"]) for each in found["tenants"]] == [("acme", 3)]
    assert found["last_hour"]["by_reason"] == {"completed": 1, "user_input": 1}
    assert (sum(found["last_hour"]["completed"]), sum(found["last_day"]["failed"])) == (1, 1)
    assert (found["status"], found["worker_counts"]) == ("ready", {"approved": 1})
    (worker,) = found["workers"]
    assert (worker["worker_id"], worker["fleet"], worker["open_leases"]) == ("i-1", "video/production", 1)
    assert 0 <= found["busy_share"] <= 1


async def test_where_no_worker_takes_work_what_waits_has_a_reason_at_once(
    depot: Depot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overview, "HOLDS_S", -1.0)
    await depot.register()
    await depot.enqueue()
    reasons = [each["waits_because"] for each in (await depot.ask("GET", "/overview"))["workflows"]]
    for deed in ("drain", "approve"):
        await depot.ask("POST", f"/workers/i-1/{deed}")
        reasons += [each["waits_because"] for each in (await depot.ask("GET", "/overview"))["workflows"]]
    assert reasons == [None, NO_WORKER, None]


async def test_what_no_worker_has_all_for_is_told_at_once(depot: Depot, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker is there and takes work; it lacks what this workflow needs, or may not run it."""
    monkeypatch.setattr(overview, "HOLDS_S", -1.0)
    await depot.register(capabilities={"vram_gb": 8, "node_classes": ["SaveImage"], "weights": []})
    await depot.enqueue()
    [workflow] = (await depot.ask("GET", "/overview"))["workflows"]
    assert workflow["queued"] == 1
    assert workflow["waits_because"] == f"{none_fit('nodes')} Missing: node classes: KSampler."
    assert (await depot.ask("GET", "/overview"))["worker_counts"] == {"approved": 1}


async def test_nobody_and_nothing_is_an_overview_too(depot: Depot) -> None:
    found = await depot.ask("GET", "/overview")
    assert (found["workflows"], found["tenants"], found["workers"], found["busy_share"]) == ([], [], [], None)


def rows(told: Any) -> list[tuple[str, str, str | None]]:
    """Of each block: by whom, of which workflow, how it ended."""
    blocks, outcomes = told["blocks"], [*told["outcomes"], None]
    columns = zip(blocks["worker"], blocks["workflow"], blocks["outcome"], strict=True)
    return [(told["workers"][w]["worker_id"], told["workflows"][f], outcomes[o]) for w, f, o in columns]


async def test_the_timeline_has_a_block_for_every_attempt(depot: Depot) -> None:
    made, other = await depot.register(), await depot.register("i-2")
    done = await leased(depot, made)
    await complete(depot, made, done)
    running = await leased(depot, other)
    found = await depot.ask("GET", "/timeline")
    assert rows(found) == [("i-2", "face-swap", None), ("i-1", "face-swap", "completed")]
    assert found["blocks"]["dispatch_id"] == [str(running.dispatch_id), str(done.dispatch_id)]
    assert found["blocks"]["end_ms"][0] == -1
    assert found["blocks"]["end_ms"][1] >= found["blocks"]["start_ms"][1] >= 0
    only = await depot.ask("GET", "/timeline", params={"worker": "i-1"})
    assert (rows(only), len(only["workers"])) == ([("i-1", "face-swap", "completed")], 1)


async def test_a_timeline_has_bounds(depot: Depot) -> None:
    for params in (
        {"from": "2026-11-16T10:00:00Z", "to": "2026-11-16T10:00:00Z"},
        {"from": "2026-11-01T10:00:00Z", "to": "2026-11-16T10:00:00Z"},
        {"from": "2026-11-16T10:00:00"},
        {"to": "yesterday"},
        {"to": "0001-01-01T00:00:00Z"},
        {"from": "9999-12-31T23:59:59Z"},
    ):
        await depot.ask("GET", "/timeline", 422, params=params)
    await depot.ask("GET", "/timeline", 404, params={"worker": "i-9"})
    past = await depot.ask("GET", "/timeline", params={"from": "1970-01-01T00:00:00Z", "to": "1970-01-02T00:00:00Z"})
    assert past["blocks"]["worker"] == []


async def test_changes_are_told_once_each_whoever_made_them(depot: Depot, monkeypatch: Any) -> None:
    monkeypatch.setattr(timeline, "LOOK_EVERY_S", -1.0)
    watch, made = FleetWatch(), await depot.register()
    grant = await leased(depot, made)
    await watch.look(depot.house)
    assert list(watch.after(0)) == []  # what was there before is read with the timeline
    await complete(depot, made, grant)
    second = await leased(depot, made)
    await watch.look(depot.house)
    await watch.look(depot.house)
    ((number, told),) = watch.after(0)
    assert sorted(rows(json.loads(told)), key=str) == [
        ("i-1", "face-swap", "completed"),
        ("i-1", "face-swap", None),
    ]
    await depot.ask("POST", "/workers/i-1/drain")
    await complete(depot, made, second)
    await watch.look(depot.house)
    ((_, told),) = watch.after(number)
    assert json.loads(told)["workers"] == [
        {"worker_id": "i-1", "fleet": "video/production", "status": "draining", "max_concurrency": 2}
    ]
    assert rows(json.loads(told)) == [("i-1", "face-swap", "completed")]


async def test_a_users_wallet_is_seen_in_its_own_tenant_only(depot: Depot) -> None:
    member, other = await a_member(depot.house, tokens=50), await a_member(depot.house)
    found = await depot.ask("GET", f"/tenants/{member.tenant.id}/users/{member.user.id}/wallet")
    assert (found["balance"], [each["amount"] for each in found["transactions"]]) == (50, [50])
    await depot.ask("GET", f"/tenants/{other.tenant.id}/users/{member.user.id}/wallet", 404)


def options(**given: Any) -> ApiOptions:
    return build_options(Settings(**given))


async def test_settings_in_force_show_no_secret(depot: Depot, settings: Settings) -> None:
    found = (await depot.ask("GET", "/settings"))["settings"]
    named = {each["name"]: each for each in found}
    assert set(named) == set(Settings.model_fields)
    assert named["lease_ttl_s"]["source"] in ("default", "given")
    assert named["secret_key"] == {**named["secret_key"], "value": None, "is_secret": True}
    assert named["payment_webhook_secrets"]["is_set"]
    text = json.dumps(found)
    for hidden in (WEBHOOK_SECRET, settings.central_url()):
        assert hidden not in text


def test_an_address_is_shown_without_its_login() -> None:
    given = {"s3_endpoint_url": "https://me:hunter2@store.example.com", "pools": {"a": "postgresql://u:pw@h/d"}}
    shown = {each.name: each.value for each in options(**given).settings}
    assert (shown["s3_endpoint_url"], shown["pools"]) == ("https://…@store.example.com", ["a"])
    assert "hunter2" not in str(options(**given).settings)
