from typing import Any

from comfyfleet.comfy.graph import (
    GraphInput,
    InputType,
    bind_values,
    list_classes,
    list_inputs,
    list_models,
    list_outputs,
    missing_classes,
    missing_models,
)
from tests.unit.comfy.graph.graphs import node, object_info, text_to_image


def by_name(graph: dict[str, Any], *, known: bool = True) -> dict[str, GraphInput]:
    found = list_inputs(graph, object_info() if known else None)
    assert len({each.name for each in found}) == len(found)
    return {each.name: each for each in found}


def test_prompts_are_named_after_the_side_they_lead_to() -> None:
    found = by_name(text_to_image())
    assert (found["prompt"].node, found["prompt"].default) == ("2", "a lighthouse")
    assert (found["negative_prompt"].node, found["negative_prompt"].default) == ("3", "blurry")
    assert found["prompt"].type is InputType.TEXT
    assert found["prompt"].multiline


def test_numbers_have_the_ranges_that_the_server_knows() -> None:
    found = by_name(text_to_image())
    assert found["seed"].type is InputType.SEED
    assert (found["seed"].minimum, found["seed"].maximum) == (0, 2**64 - 1)
    width = found["width"]
    assert (width.type, width.default, width.minimum, width.maximum, width.step) == ("integer", 512, 16, 16384, 8)
    cfg = found["cfg"]
    assert (cfg.type, cfg.default, cfg.minimum, cfg.maximum, cfg.step) == ("number", 7.5, 0.0, 100.0, 0.1)
    assert found["sampler_name"].type is InputType.CHOICE
    assert "dpmpp_2m" in (found["sampler_name"].choices or ())


def test_links_models_and_prefixes_are_nothing_for_users() -> None:
    found = {(each.node, each.input_name) for each in list_inputs(text_to_image(), object_info())}
    assert not found & {("1", "ckpt_name"), ("7", "filename_prefix"), ("5", "model"), ("6", "vae")}


def test_pictures_and_films_come_before_numbers() -> None:
    graph = {
        "1": node("EmptyImage", width=64, height=64, batch_size=1, color=0),
        "2": node("LoadImage", image="cat.png"),
        "3": node("LoadVideo", file="cat.mp4"),
        "4": node(
            "SaveAnimatedWEBP", images=["2", 0], filename_prefix="x", fps=6.0, lossless=True, quality=80, method="x"
        ),
    }
    for known in (True, False):
        found = list(by_name(graph, known=known).values())
        assert [each.type for each in found[:2]] == [InputType.IMAGE, InputType.VIDEO]
        assert {each.name for each in found if each.type is InputType.BOOLEAN} == {"lossless"}


def test_without_a_server_names_and_values_tell() -> None:
    found = by_name(text_to_image(), known=False)
    assert found["seed"].type is InputType.SEED
    assert found["steps"].type is InputType.INTEGER
    assert found["cfg"].type is InputType.NUMBER
    assert found["prompt"].type is InputType.TEXT
    assert "sampler_name" not in found, "a text that may be one of a few is no free text"


def test_titles_that_people_gave_become_labels() -> None:
    graph = text_to_image()
    graph["2"]["_meta"]["title"] = "What to paint"
    graph["4"]["_meta"]["title"] = "Canvas"
    found = by_name(graph)
    assert found["prompt"].label == "What to paint"
    assert found["width"].label == "Canvas: width"
    assert found["seed"].label == "KSampler: seed"


def test_the_same_name_twice_is_counted() -> None:
    graph = text_to_image() | {"8": node("KSampler", **{**text_to_image()["5"]["inputs"], "seed": 9})}
    found = by_name(graph)
    assert (found["seed"].node, found["seed_2"].node) == ("5", "8")


def test_placeholders_are_inputs_by_their_own_name_once() -> None:
    graph = text_to_image()
    graph["2"]["inputs"]["text"] = "a {{style}} lighthouse"
    graph["3"]["inputs"]["text"] = "{{style}}"
    graph["5"]["inputs"]["steps"] = "{{steps}}"
    found = by_name(graph)
    assert found["style"].placeholder == "style"
    assert (found["steps"].type, found["steps"].default, found["steps"].maximum) == (InputType.INTEGER, None, 10000)
    assert bind_values(graph, {"style": "bleak", "steps": 8})["5"]["inputs"]["steps"] == 8


def test_every_input_listed_can_be_bound() -> None:
    graph = text_to_image()
    listed = list_inputs(graph, object_info())
    same = bind_values(graph, inputs={(each.node, each.input_name): each.default for each in listed})
    assert same == graph


def test_models_with_their_folders() -> None:
    graph = text_to_image() | {
        "8": node("LoraLoader", lora_name="sub/x.safetensors", model=["1", 0], clip=["1", 1]),
        "9": node("LoraLoader", lora_name="sub/x.safetensors", model=["8", 0], clip=["8", 1]),
        "10": node("UpscaleModelLoader", model_name="4x.pth"),
        "11": node("VAELoader", vae_name="pixel_space"),
        "12": node("Power Lora Loader", lora_1={"on": True, "lora": "y.safetensors"}),
        "13": node("KlingNode", model_name="kling-v2"),
    }
    assert [(each.folder, each.name, each.node) for each in list_models(graph)] == [
        ("checkpoints", "sd15.safetensors", "1"),
        ("loras", "sub/x.safetensors", "8"),
        ("upscale_models", "4x.pth", "10"),
        (None, "y.safetensors", "12"),
    ]
    assert {each.name for each in missing_models(graph, object_info())} == {
        "sd15.safetensors",
        "sub/x.safetensors",
        "4x.pth",
    }
    assert missing_classes(graph, object_info()) == ("KlingNode", "Power Lora Loader")
    assert list_classes(text_to_image())["CLIPTextEncode"] == 2


def test_outputs_with_and_without_a_server() -> None:
    graph = text_to_image() | {"0": node("PreviewImage", images=["6", 0]), "8": node("ImageInvert", image=["6", 0])}
    assert [each.node for each in list_outputs(graph, object_info())] == ["7", "0"]
    assert [each.node for each in list_outputs(graph)] == ["7", "8", "0"]
    assert [each.is_preview for each in list_outputs(graph)] == [False, False, True]
