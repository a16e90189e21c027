"""`--set` and `--input`, put into a graph."""

from pathlib import Path
from typing import Any

import pytest

from comfyfleet.cli.comfy.values import UnknownName, bind_given, parse_pairs
from comfyfleet.comfy.errors import InvalidGraph
from comfyfleet.kernel.errors import InvalidInput

GRAPH: dict[str, Any] = {
    "1": {"class_type": "LoadImage", "inputs": {"image": "example.png"}},
    "2": {"class_type": "CLIPTextEncode", "inputs": {"text": "a cat", "clip": ["1", 0]}},
    "3": {"class_type": "KSampler", "inputs": {"seed": 1, "cfg": 7.5, "steps": 20, "positive": ["2", 0], "name": "x"}},
    "4:1": {"class_type": "Odd", "inputs": {"on": True, "nothing": None, "a.b": 3}},
}


def bound(graph: dict[str, Any] = GRAPH, **sets: str) -> dict[str, Any]:
    return bind_given(graph, {name.replace("__", "."): text for name, text in sets.items()}, {}).graph


def test_a_name_is_an_input_of_the_graph() -> None:
    graph = bound(prompt='a "dog", 42', seed="7")
    assert graph["2"]["inputs"]["text"] == 'a "dog", 42'
    assert graph["3"]["inputs"]["seed"] == 7


def test_node_and_input_reach_everything() -> None:
    sets = {"2.text": "12", "3.cfg": "3", "4:1.on": "no", "4:1.a.b": "4", "4:1.nothing": "[1]", "3.name": "1"}
    graph = bind_given(GRAPH, sets, {}).graph
    assert graph["2"]["inputs"]["text"] == "12"
    assert graph["3"]["inputs"]["cfg"] == 3.0
    assert graph["3"]["inputs"]["name"] == "1"
    assert graph["4:1"]["inputs"] == {"on": False, "nothing": {"__value__": [1]}, "a.b": 4}
    assert GRAPH["2"]["inputs"]["text"] == "a cat"


def test_a_random_seed_is_another_each_time() -> None:
    seeds = {bound(seed="random")["3"]["inputs"]["seed"] for _ in range(5)}
    assert len(seeds) > 1


def test_placeholders_come_before_names() -> None:
    graph = {
        "1": {"class_type": "Text", "inputs": {"text": "{{style}} of {{prompt}}", "width": "{{width}}"}},
        "2": {"class_type": "CLIPTextEncode", "inputs": {"text": "a cat"}},
    }
    filled = bound(graph, style="photo", prompt="a dog", width="512")
    assert filled["1"]["inputs"] == {"text": "photo of a dog", "width": 512}
    with pytest.raises(InvalidGraph, match="waits for a value"):
        bound(graph, style="photo", prompt="a dog")


@pytest.mark.parametrize(
    ("sets", "problem"),
    [
        ({"sed": "1"}, "It has: "),
        ({"3.sampler": "1"}, "no such input"),
        ({"seed": "many"}, "no whole number"),
        ({"cfg": "x"}, "no number"),
        ({"4:1.on": "maybe"}, "neither true nor false"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_reason(sets: dict[str, str], problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        bind_given(GRAPH, sets, {})


def test_a_name_that_nobody_knows_is_told_apart() -> None:
    with pytest.raises(UnknownName):
        bind_given(GRAPH, {"sed": "1"}, {})


def test_files_go_where_their_name_says(tmp_path: Path) -> None:
    cat = tmp_path / "cat.png"
    cat.write_bytes(b"cat")
    graph = {**GRAPH, "9": {"class_type": "LoadImage", "inputs": {"image": "{{second}}"}}}
    given = bind_given(graph, {}, {"image": str(cat), "second": str(cat)})
    assert given.files == {("1", "image"): cat, ("9", "image"): cat}
    assert given.graph["9"]["inputs"]["image"] == "cat.png"
    with pytest.raises(InvalidInput, match="there is no file"):
        bind_given(GRAPH, {}, {"image": str(tmp_path)})
    inside = {"1": {"class_type": "Text", "inputs": {"text": "see {{second}}"}}}
    with pytest.raises(InvalidInput, match="no file can go"):
        bind_given(inside, {}, {"second": str(cat)})


def test_pairs_are_name_and_value() -> None:
    assert parse_pairs(["a=b=c", " d = "], option="--set") == {"a": "b=c", "d": " "}
    for bad in (["a"], ["=b"], ["a=1", "a=2"]):
        with pytest.raises(InvalidInput):
            parse_pairs(bad, option="--set")
