"""How a fleet scales, by HTTP: the shape that KEDA reads, what operators may change, and what only the shell may."""

from typing import Any

import httpx2
import pytest

from comfyfleet import fleet, machines
from comfyfleet.house import House
from comfyfleet.scaling import MachineClass, ScalingSettings
from comfyfleet.scaling.fake_cloud import FakeCloud
from comfyfleet.upkeep.scale_fleets import FleetScaler
from tests.builders import a_member, a_workflow, an_operator_key
from tests.database.dispatch.test_queue import Queue
from tests.database.machines.test_scale_fleets import Provider

PATH = "/api/admin/fleets/video/test/scaling"
BODY: dict[str, Any] = {
    "min_workers": 0,
    "max_workers": 4,
    "classes": [{"name": "gpu", "memory_gb": 24, "offers": [{"market": "spot", "price": 0.4}]}],
}


@pytest.fixture
def engine() -> str:
    return "sqlite"


@pytest.fixture
async def operator(house: House) -> dict[str, str]:
    workflow = await a_workflow(house, "face-swap")
    async with house.control_tx() as tx:
        made = await fleet.create_fleet(tx, slug="video", stage="test", name="Video")
        await fleet.assign_workflow(tx, made.id, workflow.id)
        settings = ScalingSettings(classes=(MachineClass("gpu"),), max_workers=2)
        config = {"command": "true", "environment": {"KEY": "provider-secret"}}
        await machines.set_fleet_scaling(tx, made, settings, adapter="command", adapter_settings=config)
    await Queue(house).add(workflow_id=workflow.id)
    return await an_operator_key(house)


async def test_one_number_for_keda_with_what_it_follows_from(
    house: House, client: httpx2.AsyncClient, operator: dict[str, str]
) -> None:
    before = (await client.get(PATH, headers=operator)).json()
    assert (before["desired_workers"], before["reason"], before["at"]) == (0, "none", None)
    provider = Provider(FakeCloud())
    await FleetScaler(house, adapters=lambda *_: provider, waits_s=30.0).tick()
    answer = await client.get(PATH, headers=operator)
    said = answer.json()
    shown = {name: said[name] for name in ("desired_workers", "ready", "starting", "draining", "busy", "queued")}
    assert shown == {"desired_workers": 1, "ready": 0, "starting": 0, "draining": 0, "busy": 0, "queued": 1}
    assert (said["reason"], said["backlog_seconds"], said["expected_wait_seconds"]) == ("wake", 1.0, None)
    assert "provider-secret" not in answer.text
    [decision] = (await client.get(f"{PATH}/decisions", headers=operator)).json()["decisions"]
    assert (decision["desired"], decision["reason"], decision["waiting"]) == (1, "wake", 1)
    assert decision["holds"] == said["holds"] == []
    [machine] = (await client.get(f"{PATH.removesuffix('scaling')}machines", headers=operator)).json()["machines"]
    assert (machine["state"], machine["machine_class"], machine["has_worker"]) == ("starting", "gpu", False)


async def test_what_keeps_a_fleet_from_growing_is_told_with_its_words(
    house: House, client: httpx2.AsyncClient, operator: dict[str, str]
) -> None:
    provider = Provider(FakeCloud(), before_describe=RuntimeError("the key is wrong"))
    await FleetScaler(house, adapters=lambda *_: provider, waits_s=30.0).tick()
    [hold] = (await client.get(PATH, headers=operator)).json()["holds"]
    assert (hold["hold"], hold["is_alerting"]) == ("provider", True)
    assert "the key is wrong" in hold["text"]
    [decision] = (await client.get(f"{PATH}/decisions", headers=operator)).json()["decisions"]
    assert decision["holds"] == [hold]


async def test_a_fleet_says_who_provides_its_machines(
    house: House, client: httpx2.AsyncClient, operator: dict[str, str]
) -> None:
    async with house.control_tx() as tx:
        plain = await fleet.create_fleet(tx, slug="plain", stage="test", name="Plain")
        scaling = await fleet.find_fleet(tx, "video", "test")
    paths = [f"/api/admin/fleets/{each.id}" for each in (scaling, plain)]
    assert [(await client.get(path, headers=operator)).json()["scales_by"] for path in paths] == ["command", None]


async def test_operators_change_the_numbers_and_never_the_program(
    client: httpx2.AsyncClient, operator: dict[str, str]
) -> None:
    changed = await client.put(PATH, json=BODY, headers=operator)
    assert (changed.status_code, changed.json()["settings"]["max_workers"]) == (200, 4)
    refused = await client.put(PATH, json={**BODY, "adapter": "command"}, headers=operator)
    assert refused.status_code == 422
    assert (await client.post(f"{PATH}/resume", headers=operator)).status_code == 200


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"min_workers": 5}, "min_workers: is 5, but max_workers is 4"),
        ({"budget_per_hour": 3, "classes": [{"name": "a", "offers": [{"market": "spot"}]}]}, "classes.a.spot.price"),
        ({"classes": []}, "classes: is empty"),
    ],
)
async def test_settings_that_make_no_sense_are_refused_in_words(
    client: httpx2.AsyncClient, operator: dict[str, str], change: dict[str, Any], word: str
) -> None:
    answer = await client.put(PATH, json={**BODY, **change}, headers=operator)
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "invalid_input")
    assert word in answer.json()["error"]["message"]


async def test_who_is_no_operator_sees_nothing_and_an_unknown_fleet_is_none(
    house: House, client: httpx2.AsyncClient, operator: dict[str, str]
) -> None:
    member = await a_member(house)
    assert (await client.get(PATH, headers=member.headers)).status_code in (403, 404)
    assert (await client.put(PATH, json=BODY, headers=member.headers)).status_code in (403, 404)
    assert (await client.get("/api/admin/fleets/video/none/scaling", headers=operator)).status_code == 404
