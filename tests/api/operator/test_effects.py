"""Operators make effects; tenants see what is published."""

from typing import Any

import httpx2
import pytest

from comfyfleet import fleet
from comfyfleet.storage import ObjectKey
from comfyfleet.workflows import read_properties
from tests.api.operator.conftest import Depot
from tests.builders import a_member, a_workflow

GRAPH: dict[str, Any] = {
    "1": {"class_type": "LoadImage", "inputs": {"image": "a.png"}},
    "2": {"class_type": "LoadImage", "inputs": {"image": "b.png"}},
    "3": {"class_type": "CLIPTextEncode", "inputs": {"text": "x"}},
    "4": {"class_type": "KSampler", "inputs": {"steps": 20}},
}
PROPERTIES = read_properties(
    [
        {"name": "picture", "type": "image", "node": "1", "input_name": "image", "is_primary_input": True},
        {"name": "mask", "type": "image", "node": "2", "input_name": "image"},
        {"name": "prompt", "type": "text", "node": "3", "input_name": "text", "label": "Prompt", "required": True},
        {"name": "steps", "type": "integer", "maximum": 50, "node": "4", "input_name": "steps"},
    ]
)
FILM = {
    "slug": "old-film",
    "name": "Old film",
    "description": "As in 1920.",
    "workflow": "film",
    "overrides": {"steps": 30, "mask": "frame"},
    "fixed": ["mask", "steps"],
    "waits_for_worker": True,
    "credits_cost": 12,
}
PNG = b"\x89PNG\r\n\x1a\n and the rest"
IMAGE = {"Content-Type": "image/png"}


@pytest.fixture
async def film(depot: Depot) -> Depot:
    """A worker can run it, so it is on sale as soon as it is published."""
    workflow = await a_workflow(depot.house, "film", graph=GRAPH, properties=PROPERTIES, expected_s=40)
    async with depot.house.control_tx() as tx:
        await fleet.assign_workflow(tx, depot.fleet.id, workflow.id)
    await depot.register()
    await depot.ask("POST", "/effects", 201, json=FILM)
    return depot


async def put(depot: Depot, name: str, content: bytes = PNG, status: int = 200, **headers: str) -> Any:
    path = f"/effects/old-film/assets/{name}"
    return await depot.ask("PUT", path, status, content=content, headers_extra={**IMAGE, **headers})


async def test_from_a_workflow_to_what_users_see(film: Depot) -> None:
    member = await a_member(film.house)
    user = {"headers": member.headers}
    refused = await film.ask("POST", "/effects/old-film/publish", 422)
    assert refused["error"]["details"]["field"] == "overrides.mask"
    await put(film, "frame")
    shown = await put(film, "preview", PNG + b"!")
    assert sorted(shown["assets"]) == ["frame", "preview"]
    assert (await film.client.get("/api/effects", **user)).json() == {"effects": [], "next_cursor": None}
    assert (await film.client.get("/api/effects/old-film", **user)).status_code == 404
    await film.ask("POST", "/effects/old-film/publish")

    (offer,) = (await film.client.get("/api/effects", **user)).json()["effects"]
    assert (await film.client.get("/api/effects/old-film", **user)).json().keys() == offer.keys()
    assert (offer["name"], offer["credits_cost"], offer["estimated_seconds"]) == ("Old film", 12, 40)
    assert [each["name"] for each in offer["properties"]] == ["picture", "prompt"]
    assert offer["properties"][1] == {
        "name": "prompt",
        "type": "text",
        "label": "Prompt",
        "description": "",
        "default": None,
        "required": True,
        "minimum": None,
        "maximum": None,
        "step": None,
        "choices": None,
        "multiline": False,
        "is_primary_input": False,
    }
    assert offer["unavailable_because"] is None
    preview = await film.client.get(offer["preview_url"])
    assert (preview.content, preview.headers["content-type"]) == (PNG + b"!", "image/png")
    assert "film" not in str(offer).replace("old-film", "").replace("Old film", ""), "workflows are the operator's"

    await film.ask("POST", "/workflows/film/deactivate")
    offer = (await film.client.get("/api/effects/old-film", **user)).json()
    assert offer["unavailable_because"] == "its workflow is switched off"
    await film.ask("POST", "/effects/old-film/unpublish")
    assert (await film.client.get("/api/effects/old-film", **user)).status_code == 404
    assert [action for action, _, _ in await film.audited()] == [
        "effect.add",
        "effect.put_asset",
        "effect.put_asset",
        "effect.publish",
        "workflow.deactivate",
        "effect.unpublish",
    ]


async def test_an_effect_is_changed_and_deleted(film: Depot) -> None:
    changed = await film.ask("PATCH", "/effects/old-film", json={"credits_cost": 5, "overrides": {"steps": 10}})
    assert (changed["credits_cost"], changed["overrides"], changed["name"]) == (5, {"steps": 10}, "Old film")
    assert [each["name"] for each in changed["properties"]] == ["picture", "mask", "prompt"]
    assert (await film.ask("GET", "/effects"))["effects"] == [await film.ask("GET", "/effects/old-film")]
    refused = await film.ask("PATCH", "/effects/old-film", 422, json={"overrides": {"steps": 51}})
    assert refused["error"]["details"]["field"] == "overrides.steps"
    await film.ask("POST", "/effects/old-film/publish")
    assert (await film.ask("DELETE", "/effects/old-film", 409))["error"]["code"] == "effect_published"
    await film.ask("POST", "/effects/old-film/unpublish")
    await film.ask("DELETE", "/effects/old-film", 204)
    for method, path in [("GET", ""), ("DELETE", ""), ("POST", "/publish"), ("DELETE", "/assets/frame")]:
        await film.ask(method, f"/effects/old-film{path}", 404)
    await put(film, "frame", status=404)
    told = {"changed": ["credits_cost", "overrides"], "credits_cost": 5}
    assert ("effect.change", "old-film", told) in await film.audited()


async def test_a_default_of_the_effect_shows_in_the_users_form_and_a_fixed_value_does_not(film: Depot) -> None:
    changed = await film.ask("PATCH", "/effects/old-film", json={"fixed": ["mask"]})
    assert (changed["overrides"], changed["fixed"]) == ({"steps": 30, "mask": "frame"}, ["mask"])
    await put(film, "frame")
    await film.ask("POST", "/effects/old-film/publish")
    member = await a_member(film.house)
    offer = (await film.client.get("/api/effects/old-film", headers=member.headers)).json()
    shown = {each["name"]: each["default"] for each in offer["properties"]}
    assert shown == {"picture": None, "steps": 30, "prompt": None}
    refused = await film.ask("PATCH", "/effects/old-film", 422, json={"fixed": ["mask", "prompt"]})
    assert refused["error"]["details"]["field"] == "fixed"


async def test_a_new_effect_that_makes_no_sense_is_refused_with_its_field(film: Depot) -> None:
    for status, said in [
        (409, {}),
        (404, {"slug": "x", "workflow": "unknown"}),
        (422, {"slug": "X"}),
        (422, {"slug": "x", "overrides": {"steps": "many"}}),
        (422, {"slug": "x", "overrides": {"steps": [1]}}),
        (422, {"slug": "x", "credits_cost": -1}),
        (422, {"slug": "x", "surprise": 1}),
    ]:
        await film.ask("POST", "/effects", status, json={**FILM, **said})
    assert len((await film.ask("GET", "/effects"))["effects"]) == 1


async def test_an_asset_that_is_not_what_it_says_or_too_large_is_refused(film: Depot) -> None:
    for content, kind, field in [
        (b"<html>", "image/png", "content"),
        (PNG, "image/svg+xml", "content_type"),
        (b"", "image/png", "content"),
    ]:
        refused = await put(film, "frame", content, 422, **{"Content-Type": kind})
        assert refused["error"]["details"]["field"] == field
    await put(film, "1st", status=422)
    # More than other bodies may have, and less than the setting.
    large = PNG + b"x" * 2_000_000
    shown = await put(film, "frame", large)
    assert shown["assets"]["frame"]["size"] == len(large)
    path = f"effects/{shown['id']}/{shown['assets']['frame']['content_hash']}"
    assert await film.house.store.read(ObjectKey(path), bytes_max=len(large)) == large
    too_large = await put(film, "frame", PNG + b"x" * 33 * 1024**2, 413)
    assert too_large["error"]["code"] == "body_too_large"
    await film.ask("DELETE", "/effects/old-film/assets/frame")
    assert (await film.ask("GET", "/effects/old-film"))["assets"] == {}


async def test_pages_of_effects_follow_each_other(film: Depot, client: httpx2.AsyncClient) -> None:
    member = await a_member(film.house)
    for number in range(3):
        await film.ask("POST", "/effects", 201, json={"slug": f"e{number}", "workflow": "film"})
        await film.ask("POST", f"/effects/e{number}/publish")
    first = (await client.get("/api/effects?limit=2", headers=member.headers)).json()
    rest = (await client.get(f"/api/effects?limit=2&cursor={first['next_cursor']}", headers=member.headers)).json()
    assert [each["slug"] for each in first["effects"] + rest["effects"]] == ["e2", "e1", "e0"]
    assert rest["next_cursor"] is None
