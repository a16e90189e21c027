import copy
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from comfyfleet.comfy.errors import InvalidGraph
from comfyfleet.comfy.graph import bind_values, find_placeholders, load_graph
from comfyfleet.kernel.errors import InvalidInput
from tests.unit.comfy.graph.graphs import node, text_to_image

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=200) | st.sampled_from(
    ['"', "\\", "\\n", '"}}', "{{", "{{other}}", "{{text}}", "}}{{", "\\u0022", '","clip":["1",0],"x":"', "🦊", "\x00"]
)


def prompting(text: str) -> dict[str, Any]:
    graph = text_to_image()
    graph["2"]["inputs"]["text"] = text
    return graph


@given(TEXTS)
@example("🦊 \\ \" {{text}} ' %s" * 6_000)
def test_any_text_arrives_byte_for_byte(text: str) -> None:
    bound = bind_values(prompting("{{text}}"), {"text": text})
    sent = load_graph(json.dumps(bound))
    assert sent["2"]["inputs"]["text"] == text
    sent["2"]["inputs"]["text"] = "{{text}}"
    assert sent == prompting("{{text}}")


@given(TEXTS, TEXTS)
def test_inside_a_text_it_arrives_as_well_and_is_not_read_again(one: str, other: str) -> None:
    bound = bind_values(prompting("A {{one}} B {{ other }} C {{one}}"), {"one": one, "other": other})
    assert bound["2"]["inputs"]["text"] == f"A {one} B {other} C {one}"


@pytest.mark.parametrize("value", [7, 7.5, True, False, "7", None])
def test_a_whole_value_keeps_its_type(value: object) -> None:
    graph = text_to_image()
    graph["5"]["inputs"]["seed"] = "{{seed}}"
    bound = bind_values(graph, {"seed": value})["5"]["inputs"]["seed"]
    assert bound is value


@pytest.mark.parametrize(
    ("value", "spelled"), [(7, "7"), (7.0, "7"), (7.25, "7.25"), (True, "true"), (1e300, "1e+300")]
)
def test_inside_a_text_a_value_is_spelled(value: float, spelled: str) -> None:
    assert bind_values(prompting("{{x}} cats"), {"x": value})["2"]["inputs"]["text"] == f"{spelled} cats"


def test_a_list_cannot_pass_for_a_link() -> None:
    bound = bind_values(prompting("{{x}}"), {"x": ["1", 0]}, {("3", "text"): ["5", 0]})
    assert bound["2"]["inputs"]["text"] == {"__value__": ["1", 0]}
    assert bound["3"]["inputs"]["text"] == {"__value__": ["5", 0]}


def test_by_node_and_input_even_over_a_link() -> None:
    graph = text_to_image()
    before = copy.deepcopy(graph)
    bound = bind_values(graph, inputs={("5", "seed"): 11, ("4", "width"): 640, ("2", "text"): "{{raw}}"})
    assert bound["5"]["inputs"]["seed"] == 11
    assert bound["2"]["inputs"]["text"] == "{{raw}}"
    bound["5"]["inputs"]["model"].append("changed")
    bound["4"]["inputs"]["height"] = 1
    assert graph == before, "the graph given is never touched"


def test_placeholders_are_found_in_boxes_and_not_in_links() -> None:
    graph = {"1": node("A", x={"on": True, "lora": "{{lora}}"}, y=["{{lora}}", 0], z="{{a}} {{b}} {{a}}")}
    assert find_placeholders(graph) == {"lora": [("1", "x")], "a": [("1", "z")], "b": [("1", "z")]}
    bound = bind_values(graph, {"lora": "x.safetensors", "a": "1", "b": "2"})
    assert bound["1"]["inputs"] == {"x": {"on": True, "lora": "x.safetensors"}, "y": ["{{lora}}", 0], "z": "1 2 1"}


def test_a_place_without_a_value_is_refused() -> None:
    with pytest.raises(InvalidGraph, match=r"\{\{text\}\}") as caught:
        bind_values(prompting("{{text}}"))
    assert (caught.value.node, caught.value.input_name) == ("2", "text")


@pytest.mark.parametrize(
    ("values", "inputs"),
    [
        ({"prompt": "x"}, {}),
        ({}, {("9", "text"): "x"}),
        ({}, {("2", "txet"): "x"}),
        ({"text": float("nan")}, {}),
        ({}, {("2", "text"): float("inf")}),
    ],
)
def test_a_value_without_a_place_is_refused(values: dict[str, Any], inputs: dict[tuple[str, str], Any]) -> None:
    with pytest.raises(InvalidInput):
        bind_values(prompting("{{text}}"), {"text": "x"} | values, inputs)
