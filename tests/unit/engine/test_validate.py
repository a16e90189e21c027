"""What the recordings do not hold of validation."""

from pathlib import Path

import pytest

from comfyfleet.engine.folders import Folders
from comfyfleet.engine.node import Context, Inputs, Made, Node, Output
from comfyfleet.engine.registry import Registry
from comfyfleet.engine.validate import validate


class Source(Node):
    required = {"number": ("INT", {"min": 0, "max": 9}), "choice": (["a", "b"],)}
    outputs = (Output("THING"),)

    def run(self, inputs: Inputs, context: Context) -> Made:
        return Made(inputs["number"])


class Chain(Node):
    required = {"thing": ("THING",)}
    optional = {"many": ("COMBO", {"options": [str(number) for number in range(21)]})}
    outputs = (Output("THING"),)

    def run(self, inputs: Inputs, context: Context) -> Made:
        return Made(inputs["thing"])


class Sink(Chain):
    output_node = True


class Judge(Node):
    required = {"name": (["known"],)}
    judged = ("name",)
    output_node = True

    def problem(self, inputs: Inputs, folders: Folders) -> str | None:
        return None if inputs["name"] == "guest" else f"nobody called {inputs['name']}"

    def run(self, inputs: Inputs, context: Context) -> Made:
        return Made()


REGISTRY = Registry([Source(), Chain(), Sink(), Judge()])
FOLDERS = Folders(Path("nowhere"))


def a_node(class_type: str, **inputs: object) -> dict[str, object]:
    return {"class_type": class_type, "inputs": inputs}


def types(validated, node_id: str) -> list[str]:
    return [each["type"] for each in validated.node_errors.get(node_id, {"errors": []})["errors"]]


def test_a_chain_of_five_thousand_nodes_is_judged_without_deep_recursion():
    graph = {"0": a_node("Source", number=1, choice="a")}
    graph |= {str(place): a_node("Chain", thing=[str(place - 1), 0]) for place in range(1, 5000)}
    graph["end"] = a_node("Sink", thing=["4999", 0])

    assert validate(graph, REGISTRY, FOLDERS).outputs == ("end",)


def test_the_good_outputs_are_kept_and_the_bad_ones_blamed():
    graph = {
        "1": a_node("Source", number=1, choice="a"),
        "2": a_node("Source", number=10, choice="c"),
        "3": a_node("Sink", thing=["1", 0]),
        "4": a_node("Sink", thing=["2", 0]),
        "5": a_node("Sink", thing=["2", 0]),
    }
    validated = validate(graph, REGISTRY, FOLDERS)

    assert (validated.error, validated.outputs) == (None, ("3",))
    assert types(validated, "2") == ["value_bigger_than_max", "value_not_in_list"]
    assert validated.node_errors["2"]["dependent_outputs"] == ["4", "5"]


def test_long_lists_of_choices_are_not_sent_back():
    graph = {"1": a_node("Source", number=1, choice="a"), "2": a_node("Sink", thing=["1", 0], many="x")}
    [error] = validate(graph, REGISTRY, FOLDERS).node_errors["2"]["errors"]

    assert error["details"] == "many: 'x' not in (list of length 21)"
    assert error["extra_info"]["input_config"] is None


def test_a_node_judges_what_it_says_it_judges():
    assert validate({"1": a_node("Judge", name="guest")}, REGISTRY, FOLDERS).outputs == ("1",)

    refused = validate({"1": a_node("Judge", name="known")}, REGISTRY, FOLDERS)
    assert refused.node_errors["1"]["errors"][0]["details"] == "name - nobody called known"


def test_numbers_are_converted_in_place():
    graph = {"1": a_node("Source", number="7", choice={"__value__": "b"}), "2": a_node("Sink", thing=["1", 0])}

    assert validate(graph, REGISTRY, FOLDERS).error is None
    assert graph["1"]["inputs"] == {"number": 7, "choice": "b"}


def test_a_node_that_links_to_itself_is_a_cycle():
    validated = validate({"1": a_node("Sink", thing=["1", 0])}, REGISTRY, FOLDERS)

    assert types(validated, "1") == ["dependency_cycle"]


@pytest.mark.parametrize("link", [["1"], ["1", 0, 0]])
def test_a_link_has_two_parts(link):
    graph = {"1": a_node("Source", number=1, choice="a"), "2": a_node("Sink", thing=link)}

    assert types(validate(graph, REGISTRY, FOLDERS), "2") == ["bad_linked_input"]
