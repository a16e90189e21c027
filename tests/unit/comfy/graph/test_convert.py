import copy
from typing import Any

import pytest

from comfyfleet.comfy.errors import InvalidGraph, MissingNodeClass, Unconvertible
from comfyfleet.comfy.graph import check_graph, convert_workflow, load_graph
from tests.unit.comfy.graph.drawing import SAMPLER_TAKES, Drawing, default_workflow, slot
from tests.unit.comfy.graph.graphs import object_info

IMAGE = ("IMAGE",)


def converted(drawing: Drawing, **subgraphs: Drawing) -> dict[str, Any]:
    graph = convert_workflow(drawing.workflow(**subgraphs), object_info())
    check_graph(graph)
    return graph


def inputs_of(graph: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {node_id: node["inputs"] for node_id, node in graph.items()}


def test_the_default_workflow_becomes_what_the_interface_would_send() -> None:
    graph = load_graph(default_workflow().workflow(), object_info=object_info())
    assert inputs_of(graph) == {
        "3": {
            "seed": 156680208700286,
            "steps": 20,
            "cfg": 8,
            "sampler_name": "euler",
            "scheduler": "normal",
            "denoise": 1,
            "model": ["4", 0],
            "positive": ["6", 0],
            "negative": ["7", 0],
            "latent_image": ["5", 0],
        },
        "4": {"ckpt_name": "v1-5.safetensors"},
        "5": {"width": 512, "height": 512, "batch_size": 1},
        "6": {"text": "beautiful scenery", "clip": ["4", 1]},
        "7": {"text": "text, watermark", "clip": ["4", 1]},
        "8": {"samples": ["3", 0], "vae": ["4", 2]},
        "9": {"filename_prefix": "ComfyUI", "images": ["8", 0]},
    }
    assert graph["4"]["_meta"] == {"title": "Load Checkpoint"}
    check_graph(graph, object_info=object_info())


def pictures() -> Drawing:
    made = Drawing().node(1, "LoadImage", ["cat.png", "image"], gives=("IMAGE", "MASK"))
    return made.node(9, "SaveImage", ["out"], takes={"images": "IMAGE"})


def test_reroutes_notes_and_upload_buttons_go_to_no_server() -> None:
    made = (
        pictures().node(2, "Reroute", takes={"": "*"}, gives=("*",)).node(3, "Reroute", takes={"": "*"}, gives=("*",))
    )
    made.node(4, "Note", ["remember"]).node(5, "MarkdownNote", ["# remember"])
    made.link(1, 0, 2, "").link(2, 0, 3, "").link(3, 0, 9, "images")
    assert inputs_of(converted(made)) == {
        "1": {"image": "cat.png"},
        "9": {"filename_prefix": "out", "images": ["1", 0]},
    }


def test_a_primitive_node_is_the_value_of_the_widget_it_feeds() -> None:
    made = default_workflow().node(20, "PrimitiveNode", [42, "increment"], gives=("INT",))
    sampler = next(each for each in made.nodes if each["id"] == 3)
    sampler["inputs"].append({"name": "seed", "type": "INT", "widget": {"name": "seed"}, "link": None})
    assert converted(made.link(20, 0, 3, "seed"))["3"]["inputs"]["seed"] == 42


def test_a_widget_made_an_input_takes_its_link_and_keeps_its_place() -> None:
    made = default_workflow().node(20, "PrimitiveInt", [42, "fixed"], gives=("INT",))
    sampler = next(each for each in made.nodes if each["id"] == 3)
    sampler["inputs"].append({"name": "steps", "type": "INT", "widget": {"name": "steps"}, "link": None})
    graph = converted(made.link(20, 0, 3, "steps"))
    assert graph["3"]["inputs"]["steps"] == ["20", 0]
    assert graph["3"]["inputs"]["cfg"] == 8
    assert graph["20"]["inputs"] == {"value": 42}


def test_a_bypassed_node_passes_on_what_fits() -> None:
    made = pictures().node(2, "ImageInvert", [], takes={"image": "IMAGE"}, gives=IMAGE, mode=4)
    made.node(3, "ImageScale", ["area", 1, 1, "disabled"], takes={"image": "IMAGE"}, gives=IMAGE, mode=4)
    made.link(1, 0, 2, "image").link(2, 0, 3, "image").link(3, 0, 9, "images")
    assert inputs_of(converted(made))["9"]["images"] == ["1", 0]


def test_a_bypassed_node_of_two_kinds_passes_on_the_right_one() -> None:
    made = default_workflow()
    lora = {"model": "MODEL", "clip": "CLIP"}
    made.node(10, "LoraLoader", ["x.safetensors", 1, 1], takes=lora, gives=("MODEL", "CLIP"), mode=4)
    made.link(4, 0, 10, "model").link(4, 1, 10, "clip").link(10, 1, 6, "clip").link(10, 0, 3, "model")
    graph = converted(made)
    assert graph["6"]["inputs"]["clip"] == ["4", 1]
    assert graph["3"]["inputs"]["model"] == ["4", 0]
    assert "10" not in graph


def test_a_bypassed_node_with_nothing_that_fits_is_no_link() -> None:
    made = Drawing().node(1, "EmptyImage", [64, 64, 1, 0], gives=IMAGE, mode=4)
    made.node(9, "SaveImage", ["out"], takes={"images": "IMAGE"}).link(1, 0, 9, "images")
    assert inputs_of(converted(made)) == {"9": {"filename_prefix": "out"}}


def test_a_muted_node_and_its_links_are_gone() -> None:
    made = pictures().node(2, "ImageInvert", [], takes={"image": "IMAGE"}, gives=IMAGE, mode=2)
    made.link(1, 0, 2, "image").link(2, 0, 9, "images")
    assert inputs_of(converted(made)) == {"1": {"image": "cat.png"}, "9": {"filename_prefix": "out"}}


def inverting() -> Drawing:
    """A subgraph: an image in, blurred and inverted, out; its blur radius is set from outside."""
    made = Drawing(inputs=[slot("image", "IMAGE"), slot("radius", "INT")], outputs=[slot("IMAGE", "IMAGE")])
    takes = {"image": "IMAGE", "blur_radius": "INT"}
    made.node(21, "ImageBlur", [3, 1.5], takes=takes, widgets=("blur_radius",), gives=IMAGE)
    made.node(22, "ImageInvert", [], takes={"image": "IMAGE"}, gives=IMAGE)
    return made.link(-10, 0, 21, "image").link(-10, 1, 21, "blur_radius").link(21, 0, 22, "image").link(22, 0, -20, 0)


def using(kind: str, values: Any, **properties: Any) -> Drawing:
    made = pictures().node(5, kind, values, takes={"image": "IMAGE"}, gives=IMAGE, **properties)
    return made.link(1, 0, 5, "image").link(5, 0, 9, "images")


def test_a_subgraph_becomes_its_nodes() -> None:
    assert inputs_of(converted(using("blur", [7]), blur=inverting())) == {
        "1": {"image": "cat.png"},
        "5:21": {"blur_radius": 7, "sigma": 1.5, "image": ["1", 0]},
        "5:22": {"image": ["5:21", 0]},
        "9": {"filename_prefix": "out", "images": ["5:22", 0]},
    }


def test_where_a_subgraph_only_shows_its_widgets_their_own_values_count() -> None:
    graph = converted(using("blur", [], proxyWidgets=[["21", "blur_radius"]]), blur=inverting())
    assert graph["5:21"]["inputs"]["blur_radius"] == 3


def test_a_subgraph_used_twice_has_two_values() -> None:
    made = using("blur", [7]).node(6, "blur", [8], takes={"image": "IMAGE"}, gives=IMAGE)
    made.node(10, "PreviewImage", [], takes={"images": "IMAGE"}).link(5, 0, 6, "image").link(6, 0, 10, "images")
    graph = converted(made, blur=inverting())
    assert graph["5:21"]["inputs"]["blur_radius"] == 7
    assert graph["6:21"]["inputs"] == {"blur_radius": 8, "sigma": 1.5, "image": ["5:22", 0]}


def test_subgraphs_nest_and_values_go_all_the_way_down() -> None:
    outer = Drawing(inputs=[slot("picture", "IMAGE"), slot("r", "INT")], outputs=[slot("IMAGE", "IMAGE")])
    outer.node(31, "blur", [1], takes={"image": "IMAGE", "radius": "INT"}, widgets=("radius",), gives=IMAGE)
    outer.link(-10, 0, 31, "image").link(-10, 1, 31, "radius").link(31, 0, -20, 0)
    made = pictures().node(5, "outer", [9], takes={"picture": "IMAGE"}, gives=IMAGE)
    graph = converted(made.link(1, 0, 5, "picture").link(5, 0, 9, "images"), outer=outer, blur=inverting())
    assert graph["5:31:21"]["inputs"] == {"blur_radius": 9, "sigma": 1.5, "image": ["1", 0]}
    assert graph["9"]["inputs"]["images"] == ["5:31:22", 0]


def test_a_bypassed_subgraph_passes_its_input_on() -> None:
    made = pictures().node(5, "blur", [7], takes={"image": "IMAGE"}, gives=IMAGE, mode=4)
    graph = converted(made.link(1, 0, 5, "image").link(5, 0, 9, "images"), blur=inverting())
    assert sorted(graph) == ["1", "9"]
    assert graph["9"]["inputs"]["images"] == ["1", 0]


def test_a_choice_brings_inputs_of_its_own() -> None:
    made = Drawing().node(1, "LoadVideo", ["a.mp4", "image"], gives=("VIDEO",))
    values = ["video/x", "mp4", "h264", "re-encode", 20, "HDR", "auto"]
    made.node(2, "SaveVideo", values, takes={"video": "VIDEO"}).link(1, 0, 2, "video")
    found = converted(made)["2"]["inputs"]
    assert found["format"] == "mp4"
    assert found["format.codec"] == "h264"
    assert found["format.codec.encoding"] == "re-encode"
    assert found["format.codec.encoding.crf"] == 20
    assert found["format.codec.encoding.color_space"] == "HDR"
    assert found["video"] == ["1", 0]


def test_a_list_as_a_value_is_boxed() -> None:
    info = {"Points": {"input": {"required": {"points": ["CURVE", {"widgetType": "CURVE"}]}}, "output": []}}
    graph = convert_workflow(Drawing().node(1, "Points", [[[0, 0], [1, 1]]]).workflow(), info)
    assert graph["1"]["inputs"] == {"points": {"__type__": "CURVE", "__value__": [[0, 0], [1, 1]]}}


def test_values_by_name_are_taken_by_name() -> None:
    made = Drawing().node(1, "EmptyImage", {"width": 64, "height": 32, "videopreview": {"hidden": True}})
    found = {"width": 64, "height": 32, "batch_size": 1, "color": 0}
    assert converted(made)["1"]["inputs"] == found


def test_missing_classes_are_all_named() -> None:
    made = pictures().node(2, "FaceSwap", [1]).node(3, "FaceSwap", []).node(4, "Rembg", [], mode=4)
    with pytest.raises(MissingNodeClass) as caught:
        converted(made.node(5, "Deep", []))
    assert caught.value.classes == {"FaceSwap": "2", "Deep": "5"}


@pytest.mark.parametrize(
    ("kind", "values", "said"),
    [
        ("KSampler", [7, "euler", 20, 8, "normal", 1], "INT"),
        ("EmptyImage", [64, "wide", 1, 0], "'height'"),
        ("EmptyImage", [64, True, 1, 0], "'height'"),
        ("SaveAnimatedWEBP", ["x", 6, "yes", 80, "default"], "'lossless'"),
        ("SaveVideo", ["x", "betamax"], "does not offer"),
        ("SetNode", ["image"], "only a browser"),
        ("GetNode", ["image"], "only a browser"),
        ("workflow>my group", [], "group node 'my group'"),
    ],
)
def test_what_cannot_be_exact_is_refused(kind: str, values: list[Any], said: str) -> None:
    with pytest.raises(Unconvertible, match=said) as caught:
        converted(pictures().node(2, kind, values, takes=SAMPLER_TAKES))
    assert caught.value.node == "2"


def test_links_that_only_a_browser_makes_are_refused() -> None:
    workflow = pictures().workflow()
    workflow["extra"]["ue_links"] = [{"downstream": 1}]
    with pytest.raises(Unconvertible, match="Use Everywhere"):
        convert_workflow(workflow, object_info())


@pytest.mark.parametrize("values", [[1, 2], {"radius": 1}])
def test_a_subgraph_whose_values_do_not_fit_is_refused(values: Any) -> None:
    with pytest.raises(Unconvertible) as caught:
        converted(using("blur", values), blur=inverting())
    assert caught.value.node == "5"


def test_a_subgraph_that_names_an_input_of_its_own_in_the_old_list_takes_the_value_from_there() -> None:
    graph = converted(using("blur", [7], proxyWidgets=[["-1", "radius"]]), blur=inverting())
    assert graph["5:21"]["inputs"]["blur_radius"] == 7


def test_circles_of_reroutes_and_of_subgraphs_end() -> None:
    made = (
        pictures().node(2, "Reroute", takes={"": "*"}, gives=("*",)).node(3, "Reroute", takes={"": "*"}, gives=("*",))
    )
    with pytest.raises(InvalidGraph, match="circle") as caught:
        converted(made.link(3, 0, 2, "").link(2, 0, 3, "").link(3, 0, 9, "images"))
    assert (caught.value.node, caught.value.input_name) == ("9", "images")
    endless = Drawing().node(1, "endless", []).node(2, "endless", [])
    with pytest.raises(InvalidGraph):
        converted(Drawing().node(1, "endless", []), endless=endless)


def test_a_link_to_nowhere_names_node_and_input() -> None:
    made = pictures()
    made.nodes[1]["inputs"][0]["link"] = 77
    with pytest.raises(InvalidGraph, match="link 77") as caught:
        converted(made)
    assert (caught.value.node, caught.value.input_name) == ("9", "images")


@pytest.mark.parametrize("key", ["id", "type", "mode", "inputs", "widgets_values", "properties"])
@pytest.mark.parametrize("junk", [7, "x", [1], {"a": 1}, [None]])
def test_junk_in_a_node_ends_in_one_of_our_errors(key: str, junk: Any) -> None:
    workflow = copy.deepcopy(default_workflow().workflow())
    workflow["nodes"][3][key] = junk
    try:
        load_graph(workflow, object_info=object_info())
    except InvalidGraph:
        return


@pytest.mark.parametrize("junk", [7, "x", [1], [[1, 2, 3]], [{"id": 1}], {"a": 1}])
@pytest.mark.parametrize("key", ["nodes", "links", "definitions", "extra"])
def test_junk_in_a_workflow_ends_in_one_of_our_errors(key: str, junk: Any) -> None:
    workflow = default_workflow().workflow() | {key: junk}
    try:
        load_graph(workflow, object_info=object_info())
    except InvalidGraph:
        return
