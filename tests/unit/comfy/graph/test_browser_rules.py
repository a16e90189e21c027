"""What the interface's own code does when it queues a prompt, rule by rule.

Each expected graph is what the official editor (1.49.6) sent for the same drawing in a browser.
"""

from typing import Any

import pytest

from comfyfleet.comfy.errors import Unconvertible
from comfyfleet.comfy.graph import check_graph, convert_workflow
from tests.unit.comfy.graph.drawing import Drawing, slot
from tests.unit.comfy.graph.graphs import object_info

SIDE = {"default": 512, "min": 16, "max": 16384, "step": 16}
BOXES = {"x": 0, "y": 0, "width": 512, "height": 512}


def a_class(*outputs: str, module: str = "nodes", optional: Any = None, **required: Any) -> dict[str, Any]:
    inputs = {"required": required, "optional": optional or {}}
    return {"input": inputs, "output": list(outputs), "python_module": module}


CLASSES: dict[str, Any] = {
    "Canvas": a_class("LATENT", width=["INT", SIDE], height=["INT", SIDE], count=["INT", {"default": 1, "min": 1}]),
    "Guided": a_class("LATENT", cfg=["FLOAT", {"default": 8.0, "min": 0.0, "max": 100.0, "step": 0.1, "round": 0.01}]),
    "Encode": a_class("CONDITIONING", text=["STRING", {"multiline": True, "dynamicPrompts": True}], clip=["CLIP"]),
    "Show": a_class("STRING", source=["*", {}]),
    "CustomCombo": a_class("STRING", "INT", choice=["COMBO", {"options": []}]),
    "ImageCompare": a_class(compare_view=["IMAGECOMPARE", {"socketless": True}]),
    "ImageCompositor": a_class("IMAGE", compositor=["COMPOSITOR", {"default": {}, "socketless": True}]),
    "CreateBoundingBoxes": a_class(
        "IMAGE", width=["INT", SIDE], boxes=["BOUNDING_BOXES", {"default": []}], last=["BOUNDING_BOXES", {}]
    ),
    "Crop": a_class("IMAGE", region=["BOUNDING_BOX", {"default": BOXES}], fill=["COLOR", {"default": "#000000"}]),
    "SaveGLB": a_class(mesh=["MESH"], filename_prefix=["STRING", {"default": "3d/ComfyUI"}]),
    "Preview3D": a_class(model_file=["STRING,FILE_3D", {"widgetType": "STRING", "default": ""}]),
    "Load3D": a_class("IMAGE", model_file=["COMBO", {"options": ["none"]}], image=["LOAD_3D", {}], width=["INT", SIDE]),
    "Sum": a_class(
        "FLOAT",
        expression=["STRING", {"default": "a + b"}],
        values=[
            "COMFY_AUTOGROW_V3",
            {"template": {"input": {"required": {"value": ["FLOAT,INT", {}]}}, "names": ["a", "b", "c"], "min": 1}},
        ],
    ),
    "Strange": a_class("IMAGE", module="custom_nodes.strange", amount=["INT", {"default": 1}]),
}


def sent(drawing: Drawing, **subgraphs: Drawing) -> dict[str, dict[str, Any]]:
    graph = convert_workflow(drawing.workflow(**subgraphs), object_info() | CLASSES)
    check_graph(graph)
    return {node_id: node["inputs"] for node_id, node in graph.items()}


# ── what the interface adds to classes ──────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["b", 1, "a", "b", ""], {"choice": "b", "index": 1, "option1": "a", "option2": "b", "option3": ""}),
        (["b", 7, "a", "b"], {"choice": "b", "index": 1, "option1": "a", "option2": "b", "option3": ""}),
        (["zz", 1, "a"], {"choice": "zz", "index": -1, "option1": "a", "option2": ""}),
        ([None, 1, "a", "", "c"], {"choice": "a", "index": 0, "option1": "a", "option2": ""}),
    ],
)
def test_a_combo_with_choices_of_its_own_sends_each_of_them(values: list[Any], expected: dict[str, Any]) -> None:
    assert sent(Drawing().node(1, "CustomCombo", values)) == {"1": expected}


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        ("ImageCompare", [], {"compare_view": {"__value__": ["", ""]}}),
        ("ImageCompositor", [], {"compositor": {}}),
        ("ImageCompositor", [{"layers": [1]}], {"compositor": {"layers": [1]}}),
        ("CreateBoundingBoxes", [64, [], []], {"width": 64, "boxes": {"__value__": []}, "last": {"__value__": []}}),
        ("Crop", [{"x": 1}, 1, 2, 3, 4, "#ffffff"], {"region": {"x": 1}, "fill": "#ffffff"}),
        ("SaveGLB", ["mesh", "old/file.glb"], {"filename_prefix": "mesh", "image": ""}),
        ("Preview3D", ["a.glb", ""], {"model_file": "a.glb", "image": ""}),
        ("Canvas", [64, 32, 1, "left over", 5], {"width": 64, "height": 32, "count": 1}),
        ("Encode", ["a {b} c // not this"], {"text": "a b c "}),
        ("Encode", ["x /* nor\nthis */ y \\{z\\}"], {"text": "x  y {z}"}),
        ("Encode", ["{{prompt}} in oil"], {"text": "{{prompt}} in oil"}),  # ours: an order fills it in
    ],
)
def test_each_class_is_sent_as_the_interface_sends_it(kind: str, values: list[Any], expected: dict[str, Any]) -> None:
    assert sent(Drawing().node(1, kind, values)) == {"1": expected}


@pytest.mark.parametrize(
    ("kind", "values", "input_name", "said"),
    [
        ("Load3D", ["none", "upload3dmodel", "uploadExtraResources", "clear", "", 64], "image", "3D scene"),
        ("Encode", ["a {red|blue} cat"], "text", "choice in braces"),
        ("SaveImage", ["%date:yyyy-MM-dd%/x"], "filename_prefix", "%date:yyyy-MM-dd%"),
        ("SaveImage", ["%KSampler.seed%"], "filename_prefix", "%KSampler.seed%"),
        ("Strange", [1, "of code of its own"], None, "holds 2 values"),
    ],
)
def test_what_only_a_browser_knows_is_refused_with_node_and_input(
    kind: str, values: list[Any], input_name: str | None, said: str
) -> None:
    with pytest.raises(Unconvertible, match=said) as caught:
        sent(Drawing().node(7, kind, values))
    assert (caught.value.node, caught.value.input_name) == ("7", input_name)


# ── primitive nodes ─────────────────────────────────────────────────────────────────────────


def canvas() -> Drawing:
    takes = {"width": "INT", "height": "INT"}
    return Drawing().node(1, "Canvas", [512, 256, 1], takes=takes, widgets=("width", "height"), gives=("LATENT",))


def test_a_primitive_behind_a_reroute_leaves_the_widget_its_value() -> None:
    made = canvas().node(2, "PrimitiveNode", [64, "fixed"], gives=("INT",))
    made.node(3, "Reroute", takes={"": "*"}, gives=("*",)).link(2, 0, 3, "").link(3, 0, 1, "width")
    assert sent(made.link(2, 0, 1, "height")) == {"1": {"width": 512, "height": 256, "count": 1}}


def test_a_primitive_writes_numbers_in_steps_into_all_that_it_feeds() -> None:
    made = (
        canvas().node(2, "PrimitiveNode", [77, "fixed"], gives=("INT",)).link(2, 0, 1, "width").link(2, 0, 1, "height")
    )
    made.node(4, "Guided", [8], takes={"cfg": "FLOAT"}, widgets=("cfg",))
    made.node(5, "PrimitiveNode", [7.123456, "fixed"], gives=("FLOAT",)).link(5, 0, 4, "cfg")
    assert sent(made) == {"1": {"width": 80, "height": 80, "count": 1}, "4": {"cfg": 7.1}}


def test_a_primitive_text_is_a_prompt_like_any_other() -> None:
    made = Drawing().node(1, "Encode", ["old"], takes={"text": "STRING"}, widgets=("text",))
    made.node(2, "PrimitiveNode", ["a {b} // c"], gives=("STRING",)).link(2, 0, 1, "text")
    assert sent(made) == {"1": {"text": "a b "}}


# ── subgraphs ───────────────────────────────────────────────────────────────────────────────


def sizing() -> Drawing:
    made = Drawing(inputs=[slot("w", "INT")], outputs=[slot("LATENT", "LATENT")])
    made.nodes += canvas().nodes
    made.nodes[0]["id"] = 11
    return made.link(-10, 0, 11, "width").link(11, 0, -20, 0)


def test_a_promoted_widget_feeds_a_plain_socket_too() -> None:
    """Saved with the old list alone, as many templates are: no value on the node, one link to a widget, one beside."""
    inside = sizing().node(12, "Show", [], takes={"source": "*"}).link(-10, 0, 12, "source")
    graph = sent(Drawing().node(5, "sizes", [], proxyWidgets=[["11", "width"]]), sizes=inside)
    assert graph == {"5:11": {"width": 512, "height": 256, "count": 1}, "5:12": {"source": 512}}


def test_the_old_list_makes_inputs_where_there_are_none_on_every_node_of_the_subgraph() -> None:
    made = Drawing().node(5, "sizes", [11, 22], proxyWidgets=[["11", "height"], ["11", "width"]])
    graph = sent(made.node(6, "sizes", [44]), sizes=sizing())
    assert (graph["5:11"]["width"], graph["5:11"]["height"]) == (22, 11)
    assert (graph["6:11"]["width"], graph["6:11"]["height"]) == (44, 256)


def test_a_primitive_inside_that_the_old_list_names_becomes_an_input() -> None:
    inside = Drawing(outputs=[slot("LATENT", "LATENT")])
    inside.nodes += canvas().nodes
    inside.node(2, "PrimitiveNode", [64, "fixed"], gives=("INT",)).link(2, 0, 1, "width").link(2, 0, 1, "height")
    plain = sent(Drawing().node(5, "sizes", []), sizes=inside)
    named = sent(Drawing().node(5, "sizes", [80], proxyWidgets=[["2", "value"]]), sizes=inside)
    assert (plain["5:1"]["width"], plain["5:1"]["height"]) == (64, 64)
    assert (named["5:1"]["width"], named["5:1"]["height"]) == (80, 80)


def test_a_primitive_linked_to_a_subgraph_leaves_the_widget_inside_its_value() -> None:
    made = Drawing().node(5, "sizes", [99], takes={"w": "INT"}, widgets=("w",))
    made.node(6, "PrimitiveNode", [33, "fixed"], gives=("INT",)).link(6, 0, 5, "w")
    assert sent(made, sizes=sizing())["5:11"]["width"] == 512


def test_an_input_that_grew_takes_the_value_of_the_subgraph() -> None:
    inside = Drawing(inputs=[slot("n", "INT")])
    inside.nodes += canvas().nodes
    inside.node(2, "Sum", ["a + b"], takes={"values.a": "FLOAT,INT", "values.b": "FLOAT,INT"}, widgets=("values.b",))
    inside.link(-10, 0, 1, "width").link(-10, 0, 2, "values.b")
    assert sent(Drawing().node(5, "sums", [81]), sums=inside)["5:2"] == {"expression": "a + b", "values.b": 81}


def test_a_muted_subgraph_inside_another_still_runs_its_nodes() -> None:
    """Off, a node of a subgraph takes its nodes with it in the root graph alone; links through it are gone."""
    outer = Drawing(outputs=[slot("LATENT", "LATENT")]).node(31, "sizes", [48], gives=("LATENT",), mode=2)
    made = Drawing().node(5, "outer", [], gives=("LATENT",)).node(6, "sizes", [48], mode=2)
    made.node(7, "Show", [], takes={"source": "*"}).link(5, 0, 7, "source")
    graph = sent(made, outer=outer.link(31, 0, -20, 0), sizes=sizing())
    assert graph == {"5:31:11": {"width": 48, "height": 256, "count": 1}, "7": {}}


def test_nodes_of_two_definitions_with_one_number_get_new_numbers() -> None:
    """They stand in the prompt, and in the names of outputs: those that the interface gives them."""
    made = Drawing().node(1, "one", []).node(2, "two", [])
    graph = sent(made, one=sizing(), two=sizing())
    assert sorted(graph) == ["1:11", "2:12"]


def test_a_link_to_a_widget_that_the_class_has_no_more_is_dropped() -> None:
    made = Drawing().node(1, "Canvas", [64, 64, 1], takes={"old": "INT"}, widgets=("old",))
    made.node(2, "Show", [], takes={"source": "*"}, gives=("STRING",)).link(2, 0, 1, "old")
    assert "old" not in sent(made)["1"]
