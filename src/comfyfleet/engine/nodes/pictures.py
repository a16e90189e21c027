"""Pictures from nothing, and pictures to files."""

import json
from typing import Any

import numpy as np
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from comfyfleet.engine.node import Context, Inputs, Made, Node, Output

SIDE_MAX = 16384


class EmptyImage(Node):
    display_name = "Empty Image"
    category = "image"
    required = {
        "width": ("INT", {"default": 512, "min": 1, "max": SIDE_MAX, "step": 1}),
        "height": ("INT", {"default": 512, "min": 1, "max": SIDE_MAX, "step": 1}),
        "batch_size": ("INT", {"default": 1, "min": 1, "max": 4096}),
        "color": ("INT", {"default": 0, "min": 0, "max": 0xFFFFFF, "step": 1, "display": "color"}),
    }
    outputs = (Output("IMAGE"),)

    def run(self, inputs: Inputs, context: Context) -> Made:
        color = inputs["color"]
        rgb = np.array([color >> 16 & 0xFF, color >> 8 & 0xFF, color & 0xFF], dtype=np.float32) / 255
        shape = (inputs["batch_size"], inputs["height"], inputs["width"], 3)
        return Made(np.broadcast_to(rgb, shape).copy())


class SaveImage(Node):
    display_name = "Save Image"
    category = "image"
    description = "Saves the input images to your ComfyUI output directory."
    search_aliases = ("save", "save image", "export image", "output image", "write image", "download")
    extra_facts = {"essentials_category": "Basics"}
    required = {
        "images": ("IMAGE", {"tooltip": "The images to save."}),
        "filename_prefix": (
            "STRING",
            {
                "default": "ComfyUI",
                "tooltip": "The prefix for the file to save. This may include formatting information such as "
                "%date:yyyy-MM-dd% or %Empty Latent Image.width% to include values from nodes.",
            },
        ),
    }
    hidden = {"prompt": "PROMPT", "extra_pnginfo": "EXTRA_PNGINFO"}
    outputs = (Output("IMAGE", "images"),)
    output_node = True

    def run(self, inputs: Inputs, context: Context) -> Made:
        images = inputs["images"]
        _, height, width, _ = images.shape
        place = context.folders.place_for(inputs["filename_prefix"], width=width, height=height)
        files = []
        for offset, pixels in enumerate(images):
            name = place.name("png", offset=offset)
            picture = Image.fromarray(np.clip(pixels * 255.0, 0, 255).astype(np.uint8))
            picture.save(place.folder / name, pnginfo=_written_in(context), compress_level=4)
            files.append({"filename": name, "subfolder": place.subfolder, "type": "output"})
        return Made(images, ui={"images": files})


def _written_in(context: Context) -> Any:
    texts = PngInfo()
    texts.add_text("prompt", json.dumps(context.graph))
    for key, value in (context.extra_pnginfo or {}).items():
        texts.add_text(key, json.dumps(value))
    return texts
