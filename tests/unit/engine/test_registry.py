"""What the nodes say of themselves."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from comfyfleet.engine.folders import Folders
from comfyfleet.engine.nodes import NODES
from comfyfleet.engine.registry import Registry, describe

RECORDED: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "recordings/v0.33.0/object_info_core_nodes.json").read_text()
)
UPLOADED = [*RECORDED["LoadImage"]["input"]["required"]["image"][0], *("h1_clip.mp4", "k1_in.mp4")]
OURS = {node.name for node in NODES}


@pytest.fixture
def as_recorded(folders: Folders) -> Iterator[Folders]:
    for name in UPLOADED:
        (folders.input / name).write_bytes(b"x")
    return folders


@pytest.mark.parametrize("name", sorted(OURS & set(RECORDED)))
def test_a_recorded_node_is_described_as_comfyui_does(name: str, registry: Registry, as_recorded: Folders) -> None:
    assert json.loads(json.dumps(describe(registry[name], as_recorded))) == RECORDED[name]


def test_of_the_recorded_nodes_only_those_that_need_weights_are_missing() -> None:
    needs_weights = {
        *(
            "KSampler",
            "KSamplerAdvanced",
            "SamplerCustomAdvanced",
            "CheckpointLoaderSimple",
            "UNETLoader",
            "CLIPLoader",
        ),
        *("DualCLIPLoader", "VAELoader", "LoraLoader", "LoraLoaderModelOnly", "ControlNetLoader", "VAEDecode"),
        *("ControlNetApplyAdvanced", "CLIPTextEncode", "EmptySD3LatentImage", "VAEEncode", "ImageUpscaleWithModel"),
        "UpscaleModelLoader",
    }
    assert set(RECORDED) - OURS == needs_weights


def test_no_name_is_given_twice() -> None:
    assert len(OURS) == len(NODES)


@pytest.mark.parametrize("node", NODES, ids=lambda node: node.name)
def test_defaults_lie_within_their_bounds(node: Any, folders: Folders) -> None:
    for specs in node.input_specs(folders).values():
        for spec in specs.values():
            options = spec[1] if not isinstance(spec, str) and len(spec) > 1 else {}
            if "default" in options and "min" in options:
                assert options["min"] <= options["default"] <= options["max"]
