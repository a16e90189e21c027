"""Operators register graphs, add versions, and roll back."""

import json
from typing import Any

from comfyfleet.api.bodies import ROOMY_BYTES_MAX
from tests.api.operator.conftest import Depot

GRAPH: dict[str, Any] = {
    "1": {"class_type": "CLIPTextEncode", "inputs": {"text": "a {{colour}} boat", "clip": ["2", 0]}},
    "2": {"class_type": "CLIPLoader", "inputs": {"clip_name": "clip.safetensors"}},
    "3": {"class_type": "KSampler", "inputs": {"seed": 5, "positive": ["1", 0]}},
    "4": {"class_type": "SaveImage", "inputs": {"images": ["3", 0], "filename_prefix": "x"}},
}
COLOUR = {"name": "colour", "type": "text", "placeholder": "colour", "default": " red "}
SEED = {"name": "seed", "type": "seed", "node": "3", "input_name": "seed"}
BOAT = {
    "slug": "boat",
    "graph": GRAPH,
    "properties": [COLOUR],
    "output_node": "4",
    "requirements": {"vram_gb": 12},
    "provider": "cloud",
    "expected_s": 30,
    "run_deadline_s": 600,
    "note": "first",
}


async def test_where_several_nodes_save_the_result_is_named_or_refused(depot: Depot) -> None:
    save = {"class_type": "SaveImage", "inputs": {"images": ["3", 0]}, "_meta": {"title": "Large"}}
    graph = {"10": save, **GRAPH}
    proposed = await depot.ask("POST", "/workflows/propose", json={"graph": graph})
    assert (proposed["output_node"], proposed["saving_nodes"]) == (None, ["4", "10"])
    body = {**BOAT, "graph": graph, "output_node": None}
    refused = await depot.ask("POST", "/workflows", 422, json=body)
    assert "4 (SaveImage), 10 (Large)" in refused["error"]["message"]
    await depot.ask("POST", "/workflows", 201, json={**body, "output_node": "10"})
    assert (await depot.ask("GET", "/workflows/boat"))["version"]["output_node"] == "10"
    await depot.ask("POST", "/workflows/boat/versions", 422, json={"graph": graph})


async def test_a_graph_is_registered_with_all_that_is_known_of_it(depot: Depot) -> None:
    made = await depot.ask("POST", "/workflows", 201, json=BOAT)
    said = ("slug", "name", "is_active", "version", "provider", "expected_s", "run_deadline_s")
    assert [made[name] for name in said] == ["boat", "boat", True, 1, "cloud", 30, 600]
    found = await depot.ask("GET", "/workflows/boat")
    assert found["workflow"] == made
    version = found["version"]
    assert version["properties"][0]["default"] == " red ", "a default is kept as it was written"
    assert (version["output_node"], version["note"]) == ("4", "first")
    assert version["requirements"] == {
        "node_classes": ["CLIPLoader", "CLIPTextEncode", "KSampler", "SaveImage"],
        "weights": ["clip.safetensors"],
        "vram_gb": 12,
    }
    assert (await depot.ask("GET", "/workflows/boat/versions/1/graph"))["graph"] == GRAPH
    assert [each["slug"] for each in (await depot.ask("GET", "/workflows"))["workflows"]] == ["boat", "face-swap"]
    await depot.ask("POST", "/workflows", 409, json=BOAT)
    detail = {"structure_hash": made["structure_hash"], "version": 1}
    assert await depot.audited() == [("workflow.add", "boat", detail)]


async def test_versions_go_forth_and_back(depot: Depot) -> None:
    await depot.ask("POST", "/workflows", 201, json=BOAT)
    body = {"graph": GRAPH, "properties": [COLOUR, SEED], "note": "second"}
    for _ in range(2):
        assert (await depot.ask("POST", "/workflows/boat/versions", 201, json=body))["version"] == 2
    listed = await depot.ask("GET", "/workflows/boat/versions")
    assert (listed["in_force"], [each["version"] for each in listed["versions"]]) == (2, [2, 1])
    assert [len(each["properties"]) for each in listed["versions"]] == [2, 1]
    back = await depot.ask("POST", "/workflows/boat/versions/1/use")
    assert (back["version"], back["provider"], back["expected_s"]) == (1, "cloud", 30)
    assert (await depot.ask("GET", "/workflows/boat"))["version"] == listed["versions"][1]
    assert (await depot.ask("GET", "/workflows/boat/versions/2"))["note"] == "second"
    for method, path in [("GET", "3"), ("POST", "3/use"), ("GET", "3/graph")]:
        await depot.ask(method, f"/workflows/boat/versions/{path}", 404)
    for wrong in ("0", "-1", "x", str(2**31)):
        await depot.ask("GET", f"/workflows/boat/versions/{wrong}", 422)
    await depot.ask("POST", "/workflows/unknown/versions", 404, json=body)
    verbs = [(action, detail.get("version")) for action, _, detail in await depot.audited()]
    assert verbs == [("workflow.add", 1), ("workflow.add_version", 2), ("workflow.use", 1)]


async def test_a_graph_is_looked_at_and_nothing_is_kept(depot: Depot) -> None:
    proposed = await depot.ask("POST", "/workflows/propose", json={"graph": GRAPH})
    kinds = {each["name"]: (each["type"], each["required"]) for each in proposed["properties"]}
    assert kinds == {"colour": ("text", True), "seed": ("seed", False)}
    assert (proposed["output_node"], proposed["requirements"]["weights"]) == ("4", ["clip.safetensors"])
    twice = await depot.ask("POST", "/workflows/propose", json={"graph": GRAPH | {"5": GRAPH["4"]}})
    assert (twice["output_node"], twice["saving_nodes"]) == (None, ["4", "5"])
    made = await depot.ask("POST", "/workflows", 201, json={**BOAT, "properties": proposed["properties"]})
    assert made["structure_hash"] == proposed["structure_hash"]
    drawn = {"last_node_id": 1, "nodes": [{"id": 1, "type": "KSampler"}], "links": []}
    for path in ("/workflows/propose", "/workflows"):
        refused = await depot.ask(
            "POST", path, 422, json={"slug": "x", "graph": drawn} if path == "/workflows" else {"graph": drawn}
        )
        assert refused["error"]["details"]["field"] == "graph"
        assert "Export (API)" in refused["error"]["message"]


async def test_what_is_wrong_with_a_workflow_is_named(depot: Depot) -> None:
    wrong = {
        "slug": {"slug": "Boat"},
        "graph": {"graph": {"1": {}}},
        "properties": {"properties": []},
        "properties[0]": {"properties": [{**COLOUR, "placeholder": "color"}]},
        "properties[0].default": {"properties": [{**COLOUR, "type": "number"}]},
        "properties[1].choices": {"properties": [COLOUR, {**SEED, "type": "choice"}]},
        "output_node": {"output_node": "9"},
        "structure_hash": {"structure_hash": "*"},
    }
    for field, said in wrong.items():
        refused = await depot.ask("POST", "/workflows", 422, json={**BOAT, **said})
        assert refused["error"]["details"].get("field") == field, refused
    for said in (
        {"provider": "moon"},
        {"expected_s": 0},
        {"properties": [{**COLOUR, "surprise": 1}]},
        {"note": "\x00"},
        {"requirements": {"weights": ["\x00"]}},
    ):
        refused = await depot.ask("POST", "/workflows", 422, json={**BOAT, **said})
        assert refused["error"]["code"] == "invalid_request"
    assert await depot.audited() == []


async def test_a_graph_may_be_larger_than_other_bodies(depot: Depot) -> None:
    note = {"class_type": "Note", "inputs": {"text": "x" * 3_000_000}}
    body = {**BOAT, "graph": {**GRAPH, "5": note}}
    await depot.ask("POST", "/workflows", 201, json=body)
    assert (await depot.ask("GET", "/workflows/boat/versions/1/graph"))["graph"]["5"] == note
    huge = json.dumps({**BOAT, "note": "x" * ROOMY_BYTES_MAX})
    await depot.ask("POST", "/workflows", 413, content=huge, headers_extra={"Content-Type": "application/json"})
