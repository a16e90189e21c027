from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comfyfleet.comfy.errors import InvalidGraph, MissingNodeClass
from comfyfleet.comfy.graph import check_graph, find_problems
from tests.unit.comfy.graph.graphs import node, object_info, text_to_image


def problem_of(graph: dict[str, Any]) -> InvalidGraph:
    with pytest.raises(InvalidGraph) as caught:
        check_graph(graph)
    return caught.value


def test_a_good_graph_has_no_problems() -> None:
    assert list(find_problems(text_to_image(), object_info=object_info())) == []


def test_a_dangling_link_names_node_and_input() -> None:
    graph = text_to_image()
    graph["6"]["inputs"]["samples"] = ["99", 0]
    problem = problem_of(graph)
    assert (problem.node, problem.input_name) == ("6", "samples")
    assert str(problem) == "node 6, input 'samples': is linked to node 99, which does not exist"
    assert problem.facts == {"node": "6", "input_name": "samples"}


def test_a_circle_names_one_of_its_links() -> None:
    graph = text_to_image()
    graph["4"]["inputs"]["width"] = ["6", 0]
    problem = problem_of(graph)
    assert (problem.node, problem.input_name) == ("4", "width")
    assert "4 → 6 → 5 → 4" in str(problem)


def test_a_node_that_feeds_itself_is_a_circle() -> None:
    assert problem_of({"1": node("A", x=["1", 0])}).input_name == "x"


@given(st.integers(2, 40), st.data())
def test_a_chain_is_fine_until_its_ends_meet(length: int, data: st.DataObject) -> None:
    graph = {str(each): node("A", before=[str(each - 1), 0]) for each in range(1, length)} | {"0": node("A")}
    check_graph(graph)
    late = data.draw(st.integers(0, length - 1))
    graph[str(data.draw(st.integers(0, late)))]["inputs"]["again"] = [str(late), 0]
    assert "circle" in str(problem_of(graph))


def test_ten_thousand_nodes_in_a_row_are_walked_without_recursion() -> None:
    graph = {str(each): node("A", before=[str(each - 1), 0]) for each in range(1, 10_000)} | {"0": node("A")}
    check_graph(graph)


@pytest.mark.parametrize("slot", [-1, 0.5])
def test_an_output_that_cannot_be_is_refused(slot: float) -> None:
    graph = text_to_image()
    graph["6"]["inputs"]["samples"] = ["5", slot]
    assert problem_of(graph).input_name == "samples"


@pytest.mark.parametrize(
    "sizes",
    [{"width": 10**6}, {"height": 1e300}, {"batch_size": 10**9}, {"width": 60_000, "height": 60_000, "batch_size": 64}],
)
def test_absurd_sizes_are_refused(sizes: dict[str, float]) -> None:
    graph = text_to_image()
    graph["4"]["inputs"].update(sizes)
    assert problem_of(graph).node == "4"


def test_with_its_description_a_server_finds_more() -> None:
    graph = text_to_image()
    graph["6"]["inputs"]["vae"] = ["1", 3]
    del graph["5"]["inputs"]["model"]
    graph["8"] = node("FaceSwapDeluxe", image=["6", 0])
    found = list(find_problems(graph, object_info=object_info()))
    assert isinstance(found[0], MissingNodeClass)
    assert found[0].classes == {"FaceSwapDeluxe": "8"}
    assert {(each.node, each.input_name) for each in found[1:]} == {("5", "model"), ("6", "vae")}
