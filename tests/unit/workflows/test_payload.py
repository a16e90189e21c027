"""Defaults, overrides, the user's words: what ends up in the graph, byte for byte."""

import json
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.workflows import Asset, MediaObject, Payload, Version, build_payload, choose, read_properties
from tests.builders import a_version, as_version

GRAPH: dict[str, Any] = {
    "1": {"class_type": "CLIPTextEncode", "inputs": {"text": "{{prompt}}", "clip": ["4", 1]}},
    "2": {"class_type": "CLIPTextEncode", "inputs": {"text": "a film of {{subject}}, {{prompt}}", "clip": ["4", 1]}},
    "3": {"class_type": "KSampler", "inputs": {"seed": 7, "steps": 20, "cfg": 8.0, "positive": ["1", 0]}},
    "4": {"class_type": "CheckpointLoaderSimple", "inputs": {"ckpt_name": "base.safetensors"}},
    "5": {"class_type": "LoadImage", "inputs": {"image": "example.png"}},
    "6": {"class_type": "LoadImage", "inputs": {"image": "{{mask}}"}},
    "9": {"class_type": "SaveImage", "inputs": {"images": ["3", 0], "filename_prefix": "x"}},
}
PROPERTIES = read_properties(
    [
        {"name": "prompt", "type": "text", "required": True, "placeholder": "prompt"},
        {"name": "subject", "type": "text", "placeholder": "subject", "default": "nobody"},
        {"name": "seed", "type": "seed", "node": "3", "input_name": "seed"},
        {"name": "steps", "type": "integer", "minimum": 1, "maximum": 50, "node": "3", "input_name": "steps"},
        {"name": "picture", "type": "image", "node": "5", "input_name": "image", "is_primary_input": True},
        {"name": "mask", "type": "image", "placeholder": "mask"},
    ]
)
VERSION: Version = as_version(a_version(GRAPH, properties=PROPERTIES, output_node="9"))
PICTURE = uuid4()
FILE = MediaObject("tenants/t/files/f", "image/png", 12, "a" * 64, is_users_own=True)
MASK = MediaObject("effects/e/m", "image/webp", 34, "c" * 64)


def build(given: dict[str, Any], overrides: dict[str, Any] | None = None, **said: Any) -> Payload:
    fixed = said.get("fixed", overrides or {})
    chosen = choose(PROPERTIES, overrides or {}, {"picture": str(PICTURE), **given}, fixed=fixed, random_seed=99)
    return build_payload(VERSION, GRAPH, chosen, files=said.get("files", {PICTURE: FILE}), effect_assets={"m": MASK})


NASTY = [
    'she said "no"',
    "{{prompt}} {{subject}} {{ mask }}",
    '"}}, "9": {"class_type": "Evil", "inputs": {}}',
    "back\\slash \\n \\u0041 \\",
    "🦊 ñ 漢字 \u202e right to left \u2028",
    "\t\r\n trailing ",
    "{{{{}}}} {0} %s $x",
    "x" * 100_000 + '"{{prompt}}"',
]


@pytest.mark.parametrize("prompt", NASTY, ids=range(len(NASTY)))
def test_a_prompt_arrives_byte_for_byte(prompt: str) -> None:
    graph = json.loads(json.dumps(build({"prompt": prompt}).as_json()))["workflow"]
    assert graph["1"]["inputs"]["text"] == prompt
    assert graph["2"]["inputs"]["text"] == f"a film of nobody, {prompt}"
    assert graph.keys() == GRAPH.keys()


@given(
    prompt=st.text(st.characters(codec="utf-8", exclude_characters="\x00")),
    subject=st.text("{}\"\\'prompt $", max_size=30),
)
def test_any_text_arrives_byte_for_byte_and_nothing_else_moves(prompt: str, subject: str) -> None:
    graph = json.loads(json.dumps(build({"prompt": prompt, "subject": subject}).as_json()))["workflow"]
    assert graph["1"]["inputs"] == {"text": prompt, "clip": ["4", 1]}
    assert graph["2"]["inputs"]["text"] == f"a film of {subject}, {prompt}"
    assert graph["3"]["inputs"] == {"seed": 99, "steps": 20, "cfg": 8.0, "positive": ["1", 0]}
    assert {node: graph[node] for node in "49"} == {node: GRAPH[node] for node in "49"}


def test_what_the_effect_sets_goes_over_the_default_and_what_the_user_sets_too() -> None:
    made = build({"prompt": "a cat", "steps": 30}, {"subject": "the sea", "seed": 5})
    assert made.graph["2"]["inputs"]["text"] == "a film of the sea, a cat"
    assert (made.graph["3"]["inputs"]["seed"], made.graph["3"]["inputs"]["steps"]) == (5, 30)
    assert made.properties == {"prompt": "a cat", "subject": "the sea", "seed": 5, "steps": 30}
    assert made.output_node == "9"


def test_a_seed_is_drawn_when_nobody_says_one_and_kept_when_somebody_does() -> None:
    for given_seed, seed in [({}, 99), ({"seed": "random"}, 99), ({"seed": 0}, 0), ({"seed": 2**64 - 1}, 2**64 - 1)]:
        assert build({"prompt": "x", **given_seed}).graph["3"]["inputs"]["seed"] == seed


def test_files_become_assets_with_the_place_they_go_to() -> None:
    made = build({"prompt": "x"}, {"mask": "m"})
    assert made.assets == (
        Asset("picture", FILE.path, "image/png", 12, "a" * 64, True, is_primary_input=True, targets=(("5", "image"),)),
        Asset("mask", MASK.path, "image/webp", 34, "c" * 64, False, is_primary_input=False, targets=(("6", "image"),)),
    )
    # Not the file that the graph happened to name: nobody may take it for the user's.
    assert (made.graph["5"]["inputs"]["image"], made.graph["6"]["inputs"]["image"]) == ("", "")
    assert made.as_json()["assets"][0]["targets"] == [{"node": "5", "input_name": "image"}]


@pytest.mark.parametrize(
    ("given_values", "overrides", "field", "problem"),
    [
        ({}, {}, "properties.prompt", "is needed"),
        ({"prompt": "x", "stepz": 1}, {}, "properties.stepz", "it has: mask, picture, prompt"),
        ({"prompt": "x", "steps": 51}, {}, "properties.steps", "from 1 to 50"),
        ({"prompt": 5}, {}, "properties.prompt", "must be text"),
        ({"prompt": "x", "seed": "dice"}, {}, "properties.seed", "must be a number"),
        ({"prompt": "x", "steps": 3}, {"steps": 4}, "properties.steps", "set by the effect"),
        ({"prompt": "x", "mask": "cat.png"}, {}, "properties.mask", "id of a file"),
        ({"prompt": "x", "picture": None}, {}, "properties.picture", "name an image"),
        ({"prompt": "x", "mask": str(uuid4())}, {}, "properties.mask", "no such file"),
        ({"prompt": "x"}, {"mask": "gone"}, "properties.mask", "no such file"),
    ],
)
def test_what_is_wrong_names_its_field(given_values: Any, overrides: Any, field: str, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem) as refused:
        build(given_values, overrides)
    assert refused.value.facts["field"] == field


@pytest.mark.parametrize(
    ("given_values", "steps"), [({}, 30), ({"steps": None}, 30), ({"steps": 7}, 7), ({"steps": 50}, 50)]
)
def test_an_override_that_is_not_fixed_is_a_default_which_the_user_changes(given_values: Any, steps: int) -> None:
    made = build({"prompt": "x", **given_values}, {"steps": 30}, fixed=())
    assert (made.properties["steps"], made.graph["3"]["inputs"]["steps"]) == (steps, steps)


def test_the_effects_file_stands_in_until_the_user_brings_one() -> None:
    assert [each.path for each in build({"prompt": "x"}, {"mask": "m"}, fixed=()).assets] == [FILE.path, MASK.path]
    own, mine = uuid4(), MediaObject("tenants/t/files/mine", "image/png", 1, is_users_own=True)
    brought = build({"prompt": "x", "mask": str(own)}, {"mask": "m"}, fixed=(), files={PICTURE: FILE, own: mine})
    assert [each.path for each in brought.assets] == [FILE.path, mine.path]


def test_what_a_user_says_instead_of_a_default_is_checked_as_ever() -> None:
    with pytest.raises(InvalidInput, match="from 1 to 50"):
        build({"prompt": "x", "steps": 51}, {"steps": 30}, fixed=())


def test_a_film_where_a_picture_goes_is_refused() -> None:
    with pytest.raises(InvalidInput, match="is video/mp4, and this takes an image"):
        build({"prompt": "x"}, files={PICTURE: MediaObject("p", "video/mp4", 1)})


def test_what_nobody_sets_stays_as_the_graph_has_it() -> None:
    assert build({"prompt": "x"}).graph["3"]["inputs"]["steps"] == 20
