import json
from pathlib import Path

import pytest

from comfyfleet.comfy.errors import InterfaceFormat, InvalidGraph
from comfyfleet.comfy.graph import GraphLimits, hash_graph, load_graph
from tests.unit.comfy.graph.graphs import text_to_image


def test_a_graph_is_the_same_from_bytes_text_file_and_object(tmp_path: Path) -> None:
    graph = text_to_image()
    text = json.dumps(graph)
    file = tmp_path / "graph.json"
    file.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert load_graph(text.encode()) == load_graph(text) == load_graph(file) == load_graph(graph) == graph


def test_the_body_of_a_submission_holds_its_graph() -> None:
    assert load_graph({"prompt": text_to_image(), "client_id": "x"}) == text_to_image()


def test_a_workflow_of_the_interface_is_told_with_what_to_do() -> None:
    with pytest.raises(InterfaceFormat, match=r"Export \(API\)"):
        load_graph({"nodes": [], "links": [], "version": 0.4})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "not JSON"),
        (b"<html>", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[]", "object of nodes"),
        (b"{}", "no nodes"),
        (b'{"1": {"class_type": "A", "inputs": {"x": NaN}}}', "NaN"),
        (b'{"1": {"class_type": "A", "inputs": {"x": -Infinity}}}', "Infinity"),
        (b'{"1": {"class_type": "A", "inputs": {"x": 1e999}}}', "too large"),
        (b'{"1": {"class_type": "A", "inputs": {"x": 1' + b"0" * 5_000 + b"}}}", "not JSON"),
        (b'{"1": {"class_type": "A", "inputs": {"x": 36893488147419103232}}}', "integer"),
        (b'{"1": {"class_type": "A", "inputs": {"x": "\\ud800"}}}', "half a character"),
        (b'{"1": {"class_type": "A", "inputs": {}}, "1": {"class_type": "B", "inputs": {}}}', "'1' stands twice"),
        (b'{"1": {"class_type": "A", "inputs": {"x": 1, "x": 2}}}', "'x' stands twice"),
        (b'{"1": {"inputs": {}}}', "class_type"),
        (b'{"1": {"class_type": "A"}}', "inputs"),
        (b'{"1": []}', "node 1"),
        (b'{"1": {"class_type": "A", "inputs": {"": 1}}}', "without a name"),
    ],
)
def test_what_no_server_could_run_is_refused(text: bytes, said: str) -> None:
    with pytest.raises(InvalidGraph, match=said):
        load_graph(text)


@pytest.mark.parametrize("bomb", [b"[" * 100_000, b'{"a":' * 100_000, b'{"1":{"inputs":' + b"[" * 500 + b"]" * 500])
def test_nesting_bombs_end_in_a_refusal(bomb: bytes) -> None:
    with pytest.raises(InvalidGraph):
        load_graph(bomb)
    with pytest.raises(InvalidGraph):
        hash_graph(bomb)


def test_depth_counts_in_objects_too() -> None:
    deep: object = 1
    for _ in range(200):
        deep = {"x": deep}
    with pytest.raises(InvalidGraph, match="deeper than 64"):
        load_graph({"1": {"class_type": "A", "inputs": {"x": deep}}})


def test_too_many_bytes_and_too_many_nodes_are_refused(tmp_path: Path) -> None:
    small = GraphLimits(bytes=100, nodes=3)
    with pytest.raises(InvalidGraph, match="more than 100 bytes"):
        load_graph(json.dumps(text_to_image()), limits=small)
    with pytest.raises(InvalidGraph, match="more than 100 bytes"):
        load_graph(Path("/dev/zero"), limits=small)
    with pytest.raises(InvalidGraph, match="7 nodes"):
        load_graph(text_to_image(), limits=small)
    with pytest.raises(InvalidGraph, match="No such file"):
        load_graph(tmp_path / "none.json")


def test_nan_in_an_object_is_refused_as_it_is_in_text() -> None:
    with pytest.raises(InvalidGraph, match="nan"):
        load_graph({"1": {"class_type": "A", "inputs": {"x": float("nan")}}})
