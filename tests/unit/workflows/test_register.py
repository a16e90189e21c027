"""A graph and its properties are checked together; proposals pass that check."""

import json
from typing import Any

import pytest

from comfyfleet.comfy.errors import InvalidGraph
from comfyfleet.comfy.graph import load_graph
from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.workflows import (
    PropertyType,
    Requirements,
    list_saving_nodes,
    prepare_version,
    propose_output_node,
    propose_properties,
    read_graph_text,
    read_properties,
)
from comfyfleet.workflows.check_files import check_files, check_given, list_file_inputs
from comfyfleet.workflows.graphs import Shelf
from tests.unit.comfy.graph.graphs import text_to_image
from tests.unit.comfy.graph.test_templates import Everything
from tools.convert_templates import templates

GRAPH: dict[str, Any] = {
    "1": {"class_type": "LoadImage", "inputs": {"image": "{{picture}}"}},
    "2": {"class_type": "Blur", "inputs": {"image": ["1", 0], "radius": "{{radius}}", "name": "of {{who}} {{when}}"}},
    "3": {"class_type": "KSampler", "inputs": {"seed": "{{seed}}", "steps": "{{steps}}"}},
}
FULL = [
    {"name": "picture", "type": "image", "placeholder": "picture"},
    {"name": "radius", "type": "integer", "placeholder": "radius", "default": 3},
    {"name": "who", "type": "text", "placeholder": "who"},
    {"name": "when", "type": "text", "placeholder": "when"},
    {"name": "seed", "type": "seed", "placeholder": "seed"},
    {"name": "steps", "type": "integer", "placeholder": "steps", "required": True},
]


def prepared(graph: Any = GRAPH, properties: Any = FULL, **given: Any) -> Any:
    return prepare_version(json.dumps(graph).encode(), properties=read_properties(properties), **given)


def without(name: str) -> list[dict[str, Any]]:
    return [each for each in FULL if each["name"] != name]


@pytest.mark.parametrize(
    ("properties", "problem"),
    [
        (without("who"), "nothing fills the placeholder {{who}}"),
        ([*FULL, {"name": "x", "type": "text", "placeholder": "x"}], "no placeholder {{x}}"),
        ([*FULL, {"name": "x", "type": "text", "node": "9", "input_name": "y"}], "no input 'y' at node '9'"),
        ([*FULL, {"name": "x", "type": "text", "node": "2", "input_name": "y"}], "no input 'y' at node '2'"),
        ([*FULL, {"name": "x", "type": "text", "node": "2", "input_name": "image"}], "comes from another node"),
        ([*without("who"), {"name": "who", "type": "image", "placeholder": "who"}], "fills a whole input"),
        ([*without("radius"), {"name": "r", "type": "integer", "placeholder": "radius"}], "needs a default"),
    ],
)
def test_properties_that_do_not_fit_the_graph_are_refused(properties: Any, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem.replace("{", r"\{")):
        prepared(properties=properties)


def test_what_a_server_must_have_is_read_from_the_graph_unless_it_is_said() -> None:
    graph = text_to_image()
    found = prepared(graph, []).requirements
    assert "KSampler" in found.node_classes
    assert found.weights
    said = prepared(graph, [], weights=["mine.safetensors"], vram_gb=24).requirements
    assert said == Requirements(found.node_classes, ("mine.safetensors",), 24)
    with pytest.raises(InvalidInput, match="no node 'x'"):
        prepared(graph, [], output_node="x")


def test_a_graph_is_known_by_what_it_holds_not_by_how_it_is_written() -> None:
    plain = json.dumps(GRAPH).encode()
    for text in (json.dumps(GRAPH, indent=2).encode(), b"\xef\xbb\xbf" + plain, json.dumps({"prompt": GRAPH}).encode()):
        kept, parsed = read_graph_text(text)
        assert parsed == GRAPH
        assert json.loads(kept) == GRAPH
        assert prepare_version(text, properties=read_properties(FULL)).path == prepared().path
    assert prepared({**GRAPH, "4": {"class_type": "Note", "inputs": {}}}).path != prepared().path


def test_the_interfaces_format_is_refused_with_what_to_do() -> None:
    with pytest.raises(InvalidInput, match="Export it with 'Export \\(API\\)'"):
        read_graph_text(b'{"last_node_id": 1, "nodes": [{"id": 1, "type": "KSampler"}], "links": []}')


def test_a_proposal_can_be_taken_as_it_is() -> None:
    for graph in (GRAPH, text_to_image()):
        proposed = propose_properties(graph)
        again = read_properties([each.as_json() for each in proposed])
        assert again == proposed
        prepare_version(json.dumps(graph).encode(), properties=proposed)
    kinds = {each.name: each.type for each in propose_properties(GRAPH)}
    assert kinds == {
        "picture": PropertyType.IMAGE,
        "radius": PropertyType.TEXT,
        "who": PropertyType.TEXT,
        "when": PropertyType.TEXT,
        "seed": PropertyType.SEED,
        "steps": PropertyType.INTEGER,
    }
    assert [each.name for each in propose_properties(GRAPH) if each.is_primary_input] == ["picture"]
    defaults = {each.name: each.default for each in propose_properties(GRAPH) if each.default is not None}
    assert defaults == {"seed": "random"}, "what stands around a placeholder is no default"


def test_a_seed_is_proposed_anew_each_time_whatever_the_graph_holds() -> None:
    found = {each.type: each for each in propose_properties(text_to_image())}
    assert found[PropertyType.SEED].default == "random"
    assert isinstance(found[PropertyType.INTEGER].default, int)


def test_the_labels_of_placeholders_begin_as_words_do() -> None:
    labels = {each.name: each.label for each in propose_properties(GRAPH)}
    assert (labels["who"], labels["when"]) == ("Who", "When")


def test_what_is_proposed_for_comfyuis_own_templates_can_be_taken_too() -> None:
    """Every tenth of some 600."""
    server, taken = Everything(), 0
    for path in sorted(templates())[::10]:
        try:
            graph = load_graph(path, object_info=server)
        except InvalidGraph:
            continue
        proposed = propose_properties(graph, server)
        assert read_properties([each.as_json() for each in proposed]) == proposed
        output = next((each.node for each in list_saving_nodes(graph)), None)
        prepare_version(json.dumps(graph).encode(), properties=proposed, output_node=output)
        taken += bool(proposed)
    assert taken > 40


def test_the_output_node_is_proposed_where_there_is_one_choice() -> None:
    save = {"class_type": "SaveImage", "inputs": {"images": ["1", 0]}}
    assert propose_output_node(text_to_image()) == "7"
    assert propose_output_node(GRAPH) is None
    assert propose_output_node({**GRAPH, "8": save}) == "8"
    assert propose_output_node({**GRAPH, "8": save, "9": save}) is None
    several = {**GRAPH, "10": save, "9": save}
    assert [each.node for each in list_saving_nodes(several)] == ["9", "10"], "by node id, not as the file has them"
    with pytest.raises(InvalidInput, match=r"several nodes save: 9 \(SaveImage\), 10 \(SaveImage\)"):
        prepare_version(json.dumps(several).encode(), properties=propose_properties(several))
    named = prepare_version(json.dumps(several).encode(), properties=propose_properties(several), output_node="10")
    assert named.output_node == "10"


def test_the_shelf_keeps_what_was_used_last_within_its_measure() -> None:
    shelf = Shelf(bytes_max=100, graphs_max=3)
    for name in "abc":
        shelf.put(name, {name: {}}, 10)
    assert shelf.take("a") == {"a": {}}
    shelf.put("d", {}, 10)
    assert (shelf.take("b"), len(shelf), shelf.size_bytes) == (None, 3, 30)
    shelf.put("e", {}, 85)
    assert (len(shelf), shelf.size_bytes) == (2, 95)
    shelf.put("huge", {}, 101)
    assert (len(shelf), shelf.size_bytes) == (0, 0)


def a_loader(class_type: str, name: str, value: str = "{{where}}") -> dict[str, Any]:
    return {"1": {"class_type": class_type, "inputs": {name: value}}}


LOADERS = [
    ("LoadImage", "image"),
    ("LoadImageMask", "image"),
    ("LoadAudio", "audio"),
    ("LoadLatent", "latent"),
    ("Load3D", "model_file"),
    ("LoadImageDataSetFromFolder", "folder"),
    ("VHS_LoadVideoPath", "video"),
    ("ImageLoaderOfSomePack", "file_path"),
]
WHERE = {"name": "where", "type": "text"}


@pytest.mark.parametrize(("class_type", "name"), LOADERS)
def test_a_text_cannot_name_a_file_of_the_server(class_type: str, name: str) -> None:
    by_placeholder = [{**WHERE, "placeholder": "where"}]
    by_node = [{**WHERE, "node": "1", "input_name": name}]
    for value, properties in (("{{where}}", by_placeholder), ("sub/{{where}}.x", by_placeholder), ("a.x", by_node)):
        with pytest.raises(InvalidInput, match="a text must not name a file"):
            prepared(a_loader(class_type, name, value), properties)
    proposed = propose_properties(a_loader(class_type, name, "a.x"))
    assert not [each for each in proposed if each.type is PropertyType.TEXT]


def test_nor_by_a_link_and_a_choice_may() -> None:
    graph = {
        "1": {"class_type": "PrimitiveString", "inputs": {"value": "a.png"}},
        "2": {"class_type": "StringConcatenate", "inputs": {"string_a": ["1", 0], "string_b": "x"}},
        "3": {"class_type": "VHS_LoadVideoPath", "inputs": {"video": ["2", 0], "frame_load_cap": 1}},
        "4": {"class_type": "CLIPTextEncode", "inputs": {"text": "a cat", "clip": ["1", 0]}},
    }
    with pytest.raises(InvalidInput, match="a text must not name a file"):
        prepared(graph, [{**WHERE, "node": "1", "input_name": "value"}])
    prepared(graph, [{**WHERE, "node": "4", "input_name": "text"}])
    choice = {"name": "where", "type": "choice", "choices": ["a.png", "b.png"], "node": "1", "input_name": "image"}
    prepared(a_loader("LoadImage", "image", "a.png"), [choice])


def test_a_definition_knows_what_a_name_does_not_say() -> None:
    graph = {"1": {"class_type": "Surprise", "inputs": {"source": "a.png", "other": "b.png"}}}
    flags = [{"image_upload": True}, {"file_upload": True}, {"remote": {"route": "/internal/files/output"}}]
    for flag in flags:
        info = {"Surprise": {"input": {"required": {"source": ["COMBO", flag], "other": ["STRING", {}]}}}}
        properties = read_properties([{**WHERE, "node": "1", "input_name": "source"}])
        with pytest.raises(InvalidInput, match="'source' of node '1'"):
            check_files(graph, properties, list_file_inputs([info]))
        check_files(graph, read_properties([{**WHERE, "node": "1", "input_name": "other"}]), list_file_inputs([info]))


def test_of_an_old_version_users_may_not_set_such_a_text() -> None:
    graph = a_loader("LoadImage", "image", "a.png")
    properties = read_properties([{**WHERE, "node": "1", "input_name": "image"}])
    with pytest.raises(InvalidInput, match="only operators may choose"):
        check_given(graph, properties, {"where": "../../etc/passwd"})
    check_given(graph, properties, {})
