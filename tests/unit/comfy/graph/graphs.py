"""Graphs that the tests of this folder share."""

import json
from functools import cache
from typing import Any

from tests.recordings import FOLDER


@cache
def object_info() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / "object_info_core_nodes.json").read_bytes())
    return found


def text_to_image() -> dict[str, Any]:
    return {
        "1": node("CheckpointLoaderSimple", ckpt_name="sd15.safetensors"),
        "2": node("CLIPTextEncode", text="a lighthouse", clip=["1", 1]),
        "3": node("CLIPTextEncode", text="blurry", clip=["1", 1]),
        "4": node("EmptyLatentImage", width=512, height=768, batch_size=1),
        "5": node(
            "KSampler",
            seed=7,
            steps=20,
            cfg=7.5,
            sampler_name="euler",
            scheduler="normal",
            denoise=1.0,
            model=["1", 0],
            positive=["2", 0],
            negative=["3", 0],
            latent_image=["4", 0],
        ),
        "6": node("VAEDecode", samples=["5", 0], vae=["1", 2]),
        "7": node("SaveImage", images=["6", 0], filename_prefix="ComfyUI"),
    }


def node(class_type: str, title: str | None = None, **inputs: Any) -> dict[str, Any]:
    return {"class_type": class_type, "inputs": inputs, "_meta": {"title": title or class_type}}
