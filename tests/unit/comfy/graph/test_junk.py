"""Whatever stands in a graph, in a workflow or in a server's description: our errors, or an answer."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from comfyfleet.comfy.errors import InvalidGraph
from comfyfleet.comfy.graph import (
    bind_values,
    find_placeholders,
    find_problems,
    hash_graph,
    list_inputs,
    list_models,
    list_outputs,
    load_graph,
    missing_models,
)
from tests.unit.comfy.graph.drawing import default_workflow
from tests.unit.comfy.graph.graphs import node, object_info, text_to_image, tried_often

JUNK: list[Any] = [None, 0, -1, -10, 1.5, 1e9, True, "", "x", "-20", "{{a}}", [], [1], [[]], ["9", 0], {}, {"a": 1}]
JUNK += [float("inf"), float("nan"), 10**400, [None], {"key": 1}, "x.pt"]
CLASSES = ("KSampler", "CLIPTextEncode", "CheckpointLoaderSimple", "EmptyLatentImage", "VAEDecode", "SaveImage")
SERVER = {name: object_info()[name] for name in (*CLASSES, "SaveVideo", "LoadImage")}


def spots(value: Any) -> Iterator[tuple[Any, Any]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in pairs:
        yield value, key
        yield from spots(each)


def spoilt(value: Any, data: st.DataObject) -> Any:
    value = copy.deepcopy(value)
    for _ in range(data.draw(st.integers(0, 3))):
        holder, key = data.draw(st.sampled_from(list(spots(value))))
        holder[key] = copy.deepcopy(data.draw(st.sampled_from(JUNK)))
    return value


def answers(*works: Callable[[], Any]) -> None:
    for work in works:
        try:
            work()
        except InvalidGraph:
            continue


@tried_often
@given(st.data())
def test_spoilt_graphs_and_servers(data: st.DataObject) -> None:
    whole = text_to_image() | {"8": node("SaveVideo", video=["1", 0], format="mp4"), "9": node("LoadImage", image="x")}
    graph, server = spoilt(whole, data), spoilt(SERVER, data)
    answers(lambda: list(find_problems(graph, object_info=server)), lambda: hash_graph(graph))
    try:
        loaded = load_graph(graph)
    except InvalidGraph:
        return
    list_inputs(loaded, server)
    list_models(loaded)
    list_outputs(loaded, server)
    missing_models(loaded, server)
    bind_values(loaded, dict.fromkeys(find_placeholders(loaded), "value"))


@tried_often
@given(st.data())
def test_spoilt_workflows_and_servers(data: st.DataObject) -> None:
    workflow, server = spoilt(default_workflow().workflow(), data), spoilt(SERVER, data)
    answers(lambda: load_graph(workflow, object_info=server))
