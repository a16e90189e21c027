"""Batches and lists of pictures: join, pick, repeat, split."""

import numpy as np

from comfyfleet.engine.node import Context, Inputs, Made, Node, Output
from comfyfleet.engine.nodes.images import EXTRAS_IMAGES, scale_images
from comfyfleet.engine.nodes.specs import BATCH_MAX, IMAGE, SIDE_MAX_PX, integer
from comfyfleet.engine.pixels.arrange import pick_frames, repeat_batch
from comfyfleet.engine.pixels.bounds import refuse_absurd
from comfyfleet.engine.pixels.convert import fit_channels


class ImageBatch(Node):
    display_name = "Batch Images (DEPRECATED)"
    category = "image/batch"
    search_aliases = ("combine images", "merge images", "stack images")
    extra_facts = {"deprecated": True}
    required = {"image1": ("IMAGE",), "image2": ("IMAGE",)}
    outputs = (Output("IMAGE"),)

    def run(self, inputs: Inputs, context: Context) -> Made:
        first, second = inputs["image1"], inputs["image2"]
        channels = max(first.shape[-1], second.shape[-1])
        first, second = fit_channels(first, channels), fit_channels(second, channels)
        refuse_absurd(len(first) + len(second), *first.shape[1:])
        if first.shape[1:3] != second.shape[1:3]:
            second = scale_images(second, context, (first.shape[2], first.shape[1]), "bilinear", "center")
        return Made(np.concatenate([first, second]))


class RepeatImageBatch(Node):
    display_name = "Repeat Image Batch"
    category = "image/batch"
    python_module = EXTRAS_IMAGES
    search_aliases = ("duplicate image", "clone image")
    newer_schema = True
    required = {"image": IMAGE, "amount": integer(1, 1, BATCH_MAX)}
    outputs = (Output("IMAGE"),)

    def run(self, inputs: Inputs, context: Context) -> Made:
        return Made(repeat_batch(inputs["image"], inputs["amount"]))


class ImageFromBatch(Node):
    display_name = "Get Image from Batch"
    category = "image/batch"
    python_module = EXTRAS_IMAGES
    search_aliases = ("select image", "pick from batch", "extract image")
    newer_schema = True
    required = {
        "image": IMAGE,
        "batch_index": integer(0, -SIDE_MAX_PX, SIDE_MAX_PX),
        "length": integer(1, 1, BATCH_MAX),
    }
    outputs = (Output("IMAGE"),)

    def run(self, inputs: Inputs, context: Context) -> Made:
        return Made(pick_frames(inputs["image"], inputs["batch_index"], inputs["length"]))


class RebatchImages(Node):
    """All batches that came as a list, cut anew into batches of the given size."""

    display_name = "Rebatch Images"
    category = "image/batch"
    python_module = "comfy_extras.nodes_rebatch"
    newer_schema = True
    is_input_list = True
    required = {"images": IMAGE, "batch_size": integer(1, 1, BATCH_MAX)}
    outputs = (Output("IMAGE", is_list=True),)

    def run(self, inputs: Inputs, context: Context) -> Made:
        size = inputs["batch_size"][0]
        frames = [frame[None] for images in inputs["images"] for frame in images]
        return Made([np.concatenate(frames[at : at + size]) for at in range(0, len(frames), size)])
