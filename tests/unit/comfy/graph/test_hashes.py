import copy
import hashlib
import json
import subprocess
import sys
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comfyfleet.comfy.errors import InvalidGraph
from comfyfleet.comfy.graph import content_hash, hash_graph, structure_hash
from tests.unit.comfy.graph.graphs import node, text_to_image

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
)
VALUES = st.recursive(SCALARS | TEXT, lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner), max_leaves=6)
LINKS = st.tuples(st.sampled_from("12345"), st.integers(0, 3)).map(list)
NODES = st.fixed_dictionaries(
    {"class_type": TEXT, "inputs": st.dictionaries(st.text(min_size=1, max_size=12), VALUES | LINKS, max_size=5)},
    optional={"_meta": st.fixed_dictionaries({"title": TEXT}) | VALUES, "is_changed": VALUES},
)
GRAPHS = st.dictionaries(st.sampled_from("12345"), NODES, min_size=1)


def shuffled(value: Any, draw: Any) -> Any:
    if isinstance(value, dict):
        keys = draw(st.permutations(list(value)))
        return {key: shuffled(value[key], draw) for key in keys}
    return [shuffled(each, draw) for each in value] if isinstance(value, list) else value


def respelled(value: Any) -> str:
    """Another text of the same JSON: whole numbers with a point, texts escaped, spaces anywhere."""
    match value:
        case bool() | None:
            return json.dumps(value)
        case int():
            return f"{value}.0" if abs(value) < 2**53 else str(value)
        case float():
            return repr(value) if value != int(value) or abs(value) >= 2**53 else f"{int(value)}e0"
        case str():
            return '"' + "".join(f"\\u{unit:04x}" for unit in _utf16(value)) + '"'
        case list():
            return "[ " + " , ".join(respelled(each) for each in value) + " ]"
        case _:
            return "{\n" + " ,\t".join(f"{respelled(key)} : {respelled(each)}" for key, each in value.items()) + "}"


def _utf16(text: str) -> list[int]:
    raw = text.encode("utf-16-be")
    return [int.from_bytes(raw[place : place + 2]) for place in range(0, len(raw), 2)]


@settings(max_examples=60)
@given(GRAPHS, st.data())
def test_the_same_graph_written_differently_is_the_same_graph(graph: dict[str, Any], data: st.DataObject) -> None:
    expected = hash_graph(json.dumps(graph).encode())
    assert hash_graph(graph) == expected
    assert hash_graph(json.dumps(shuffled(graph, data.draw), indent=3).encode()) == expected
    assert hash_graph(respelled(graph).encode()) == expected


@settings(max_examples=60)
@given(GRAPHS)
def test_content_is_sha256_of_canonical_json(graph: dict[str, Any]) -> None:
    text = _canonical(graph)
    assert content_hash(graph) == hashlib.sha256(text.encode()).hexdigest()


def _canonical(value: Any) -> str:
    """By the letter of decision 14, with nothing of the code it checks."""
    match value:
        case bool() | None:
            return json.dumps(value)
        case int():
            return str(value)
        case float():
            return _shortest(value)
        case str():
            return json.dumps(value, ensure_ascii=False)
        case list():
            return "[" + ",".join(_canonical(each) for each in value) + "]"
        case _:
            return "{" + ",".join(f"{_canonical(key)}:{_canonical(value[key])}" for key in sorted(value)) + "}"


def _shortest(value: float) -> str:
    """As JavaScript writes it (RFC 8785), but for whole numbers, which are exact however large."""
    if value == int(value):
        return str(int(value))
    if abs(value) >= 1e-6:
        return format(Decimal(repr(value)), "f")
    return repr(value).replace("e-0", "e-")


@settings(max_examples=40)
@given(GRAPHS, GRAPHS)
def test_other_graphs_have_other_contents(one: dict[str, Any], other: dict[str, Any]) -> None:
    # Equal in JSON's eyes: True is not 1 there, as it is in Python's.
    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True) or hash_graph(one) == hash_graph(other)
    assert same == (_typed(one) == _typed(other))


def _typed(value: Any) -> Any:
    match value:
        case bool() | None:
            return ("word", value)
        case dict():
            return {key: _typed(each) for key, each in value.items()}
        case list():
            return [_typed(each) for each in value]
        case _:
            return value


def test_the_hashes_are_these_in_every_process_and_release() -> None:
    """Kept in databases: if one of them changes, blocks and affinities of running fleets are lost."""
    graph = text_to_image()
    graph["2"]["inputs"]["text"] = "ein Leuchtturm in der Dämmerung, 灯塔, 🗼"
    graph["5"]["inputs"] |= {"cfg": 6.1, "denoise": 1e-7, "seed": 18446744073709551615}
    graph["8"] = node("Odd", big=1e22, small=5e-324, flag=True, nothing=None, boxed={"__value__": [1.0, 0.5]})
    found = hash_graph(graph)
    assert found.content == "4f51646dd1447b7d3cf04a46918ee2aa8921cc891323c9ce3f646dc38d249c60"
    assert found.structure == "3aab3b2a6c91e04491b87f06b1805b98c37f064b4d335e53b515521211e94929"


def test_another_process_agrees() -> None:
    text = json.dumps(text_to_image())
    program = (
        "import sys; from comfyfleet.comfy.graph import hash_graph; print(hash_graph(sys.stdin.buffer.read()).content)"
    )
    ran = subprocess.run([sys.executable, "-c", program], input=text, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == content_hash(text_to_image())


@given(TEXT, st.integers(0, 2**64 - 1), st.integers(16, 8192), st.floats(0, 30), st.text(max_size=20))
def test_prompts_seeds_sizes_and_input_files_are_not_structure(
    prompt: str, seed: int, size: int, cfg: float, file: str
) -> None:
    graph = text_to_image() | {"8": node("LoadImage", image="cat.png")}
    changed = copy.deepcopy(graph)
    changed["2"]["inputs"]["text"] = prompt
    changed["5"]["inputs"] |= {"seed": seed, "cfg": cfg, "steps": 4}
    changed["4"]["inputs"] |= {"width": size, "height": size}
    changed["7"]["inputs"]["filename_prefix"] = prompt
    changed["8"]["inputs"]["image"] = f"{file}.png"
    changed["8"]["_meta"] = {"title": "My cat"}
    assert structure_hash(changed) == structure_hash(graph)
    assert structure_hash(json.dumps(changed).encode()) == structure_hash(graph)


@pytest.mark.parametrize("prompt", ["as in model.safetensors", "x.pt", "LORA.CKPT"])
def test_a_prompt_that_ends_like_a_file_is_still_a_prompt(prompt: str) -> None:
    graph = text_to_image()
    graph["2"]["inputs"]["text"] = prompt
    assert structure_hash(graph) == structure_hash(text_to_image())


def change_class(graph: dict[str, Any]) -> None:
    graph["5"]["class_type"] = "KSamplerAdvanced"


def change_model(graph: dict[str, Any]) -> None:
    graph["1"]["inputs"]["ckpt_name"] = "sdxl.safetensors"


def change_link(graph: dict[str, Any]) -> None:
    graph["5"]["inputs"]["positive"] = ["3", 0]


def change_slot(graph: dict[str, Any]) -> None:
    graph["6"]["inputs"]["vae"] = ["1", 1]


def add_node(graph: dict[str, Any]) -> None:
    graph["8"] = node("PreviewImage", images=["6", 0])


def name_a_model_in_an_unknown_input(graph: dict[str, Any]) -> None:
    graph["5"]["inputs"]["detector"] = "face_yolov8m.PT"


def name_a_model_inside_a_box(graph: dict[str, Any]) -> None:
    graph["5"]["inputs"]["lora_1"] = {"on": True, "lora": "detail.safetensors", "strength": 1}


def name_a_model_in_a_list(graph: dict[str, Any]) -> None:
    graph["5"]["inputs"]["models"] = {"__value__": ["detail.gguf"]}


@pytest.mark.parametrize(
    "change",
    [
        change_class,
        change_model,
        change_link,
        change_slot,
        add_node,
        name_a_model_in_an_unknown_input,
        name_a_model_inside_a_box,
        name_a_model_in_a_list,
    ],
)
def test_classes_links_and_models_are_structure(change: Any) -> None:
    graph = text_to_image()
    change(graph)
    unusual = copy.deepcopy(graph)
    unusual["1"]["is_changed"] = "x"  # read by the longer way
    assert structure_hash(graph) != structure_hash(text_to_image())
    assert structure_hash(unusual) == structure_hash(graph)


@pytest.mark.parametrize(
    "text", [b"", b"[]", b"{", b'{"1": 2}', b'{"1": {"class_type": "A", "inputs": {"x": 1e999}}}', b'{"1": NaN}']
)
def test_what_is_no_graph_has_no_hash(text: bytes) -> None:
    with pytest.raises(InvalidGraph):
        hash_graph(text)
