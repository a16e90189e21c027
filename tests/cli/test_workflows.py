"""`comfyfleet workflows` and `comfyfleet effects`: from a graph to something that users pick."""

import json
from typing import Any

import pytest

from tests.cli.conftest import Command
from tests.unit.comfy.graph.drawing import default_workflow
from tests.unit.comfy.graph.graphs import object_info

GRAPH: dict[str, Any] = {
    "1": {"class_type": "LoadImage", "inputs": {"image": "example.png"}},
    "2": {"class_type": "CLIPTextEncode", "inputs": {"text": "a [red] {{colour}} boat"}},
    "3": {"class_type": "KSampler", "inputs": {"seed": 5, "steps": 20}},
    "4": {"class_type": "SaveImage", "inputs": {"images": ["3", 0], "filename_prefix": "x"}},
}
PNG = b"\x89PNG\r\n\x1a\n and the rest"


@pytest.fixture
def home(comfyfleet: Command) -> Command:
    comfyfleet("db", "upgrade")
    (comfyfleet.folder / "boat.json").write_text(json.dumps(GRAPH))
    (comfyfleet.folder / "picture.png").write_bytes(PNG)
    return comfyfleet


def test_a_person_confirms_what_users_may_set(home: Command) -> None:
    said = home("workflows", "create", "boat", "boat.json", given="y\n")
    for line in ("image", "{{colour}}", "3.seed", "primary input", "May users set these?", "Added workflow boat."):
        assert line in said
    said = home("workflows", "create", "other", "boat.json", given="n\n", code=2)
    assert "--properties FILE" in said
    assert "not confirmed" in home("workflows", "create", "other", "boat.json", code=2), "nobody answered"
    drawn = {"last_node_id": 1, "nodes": [{"id": 1, "type": "KSampler"}], "links": []}
    (home.folder / "drawn.json").write_text(json.dumps(drawn))
    assert "Export (API)" in home("workflows", "create", "drawn", "drawn.json", code=2)
    assert "add --yes" in home("workflows", "create", "other", "boat.json", "--json", code=2)
    assert [each["slug"] for each in home.json("workflows", "list")] == ["boat"]
    shown = home("workflows", "show", "boat")
    for line in ("boat (boat), active", "1 (in force)", "LoadImage, SaveImage", "colour"):
        assert line in shown


def test_a_file_of_the_editor_is_converted_with_the_definitions_that_are_named(home: Command) -> None:
    (home.folder / "drawn.json").write_text(json.dumps(default_workflow().workflow()))
    (home.folder / "info.json").write_text(json.dumps(object_info()))
    refused = home("workflows", "create", "drawn", "drawn.json", "--yes", code=2)
    assert "no worker has reported any yet" in refused
    assert "--object-info URL" in refused
    said = home("workflows", "create", "drawn", "drawn.json", "--yes", "--object-info", "info.json")
    assert "Converted from the editor's format with the node classes of info.json." in said
    shown = home.json("workflows", "show", "drawn")["version"]
    steps = next(each for each in shown["properties"] if each["name"] == "steps")
    assert (steps["minimum"], steps["maximum"]) == (1, 10000), "ranges are the server's"
    assert shown["output_node"] == "9"


def test_of_several_nodes_that_save_a_person_says_which_makes_the_result(home: Command) -> None:
    large = {"class_type": "SaveImage", "inputs": {"images": ["3", 0]}, "_meta": {"title": "Large"}}
    (home.folder / "two.json").write_text(json.dumps({"10": large, **GRAPH}))
    refused = home("workflows", "add", "two", "two.json", "--yes", code=2)
    assert "4 (SaveImage), 10 (Large)" in refused
    assert "--output-node NODE" in refused
    said = home("workflows", "add", "two", "two.json", given="y\n7\n10\n")
    assert "Nodes that save: 4, 10." in said
    assert home.json("workflows", "show", "two")["version"]["output_node"] == "10"
    # The next version keeps the answer, where its graph has the node.
    home("workflows", "add", "two", "two.json", "--yes", "--new-version", "--expected-s", "5")
    assert home.json("workflows", "show", "two")["version"]["output_node"] == "10"
    home("workflows", "add", "named", "two.json", "--yes", "--output-node", "4")
    assert home.json("workflows", "show", "named")["version"]["output_node"] == "4"


def test_properties_are_exported_edited_and_given_with_the_next_version(home: Command) -> None:
    home("workflows", "create", "boat", "boat.json", "--yes", "--vram-gb", "12", "--expected-s", "30")
    properties = json.loads(home("workflows", "export-properties", "boat"))
    assert {each["name"] for each in properties} == {"image", "colour", "seed", "steps"}
    (home.folder / "properties.json").write_text(json.dumps([each for each in properties if each["name"] != "steps"]))
    given = ("boat.json", "--properties", "properties.json", "--note", "fewer")
    assert "exists already" in home("workflows", "create", "boat", *given, code=4)
    assert "Version 2 of boat is in force." in home("workflows", "create", "boat", *given, "--new-version")
    # Those of the version in force are kept, where they fit.
    green = {**GRAPH, "2": {"class_type": "CLIPTextEncode", "inputs": {"text": "a green {{colour}} boat"}}}
    (home.folder / "green.json").write_text(json.dumps(green))
    assert home.json("workflows", "create", "boat", "green.json", "--new-version", "--yes")["version"] == 3
    assert [len(each["properties"]) for each in home.json("workflows", "list-versions", "boat")] == [3, 3, 4]
    assert "Version 1 of boat is in force." in home("workflows", "use", "boat", "1")
    shown = home.json("workflows", "show", "boat")
    assert (shown["workflow"]["version"], shown["version"]["requirements"]["vram_gb"]) == (1, 12)
    assert home.json("workflows", "show", "boat", "--version", "2")["version"]["note"] == "fewer"
    assert "fewer" in home("workflows", "list-versions", "boat")
    # And so is all else that nobody speaks of.
    assert home.json("workflows", "show", "boat", "--version", "3")["version"]["requirements"]["vram_gb"] == 12
    assert "not_found" in home("workflows", "use", "boat", "9", code=3)
    (home.folder / "properties.json").write_text('{"name": "x"}')
    assert "must hold a list" in home("workflows", "create", "other", *given, code=2)


def test_an_effect_is_made_shown_and_taken_away(home: Command) -> None:
    home("workflows", "create", "boat", "boat.json", "--yes")
    add = ("effects", "create", "red-boat", "--workflow", "boat", "--cost", "7", "--override", "steps=30")
    assert "overrides.steps" in home(*add[:-1], "steps=many", code=2)
    said = home(*add, "--fixed", "colour=5", "--preview", "picture.png")
    assert "Next: comfyfleet effects publish red-boat" in said
    shown = home.json("effects", "show", "red-boat")
    assert (shown["overrides"], shown["credits_cost"]) == ({"steps": 30, "colour": "5"}, 7)
    assert shown["fixed"] == ["colour"]
    opened = {each["name"]: each.get("default") for each in shown["properties"]}
    assert (opened["steps"], "colour" in opened) == (30, False)
    assert "own defaults" in home("effects", "show", "red-boat")
    changed = home.json("effects", "update", "red-boat", "--fixed", "steps=12", "--open", "colour", "--cost", "8")
    assert (changed["overrides"], changed["fixed"], changed["credits_cost"]) == ({"steps": 12}, ["steps"], 8)
    assert home.json("effects", "update", "red-boat", "--override", "steps=14")["fixed"] == []
    assert home.json("effects", "update", "red-boat", "--description", "A boat.")["overrides"] == {"steps": 14}
    assert (shown["assets"]["preview"]["media_type"], shown["is_published"]) == ("image/png", False)
    assert "Users see red-boat." in home("effects", "publish", "red-boat")
    home("workflows", "deactivate", "boat")
    for words in (("list",), ("show", "red-boat")):
        assert "its workflow is switched off" in home("effects", *words)
    assert "Unpublish it first" in home("effects", "delete", "red-boat", code=4)
    home("effects", "unpublish", "red-boat")
    assert "has extra" in home("effects", "put-asset", "red-boat", "extra", "picture.png")
    assert "must end in" in home("effects", "put-asset", "red-boat", "extra", "boat.json", code=2)
    assert home.json("effects", "delete", "red-boat")["slug"] == "red-boat"
    assert home.json("effects", "list") == []
