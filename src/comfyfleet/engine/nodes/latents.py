"""Latents without a model: empty ones, and their files."""

import json
import struct

import numpy as np

from comfyfleet.engine.node import Context, Inputs, Made, Node, Output
from comfyfleet.engine.nodes.saving import metadata, place_for, saved
from comfyfleet.engine.pixels.bounds import refuse_absurd

CHANNELS, PIXELS_A_CELL = 4, 8


class EmptyLatentImage(Node):
    display_name = "Empty Latent Image"
    category = "model/latent"
    description = "Create a new batch of empty latent images to be denoised via sampling."
    search_aliases = ("empty", "empty latent", "new latent", "create latent", "blank latent", "blank")
    required = {
        "width": (
            "INT",
            {
                "default": 512,
                "min": 16,
                "max": 16384,
                "step": 8,
                "tooltip": "The width of the latent images in pixels.",
            },
        ),
        "height": (
            "INT",
            {
                "default": 512,
                "min": 16,
                "max": 16384,
                "step": 8,
                "tooltip": "The height of the latent images in pixels.",
            },
        ),
        "batch_size": (
            "INT",
            {"default": 1, "min": 1, "max": 4096, "tooltip": "The number of latent images in the batch."},
        ),
    }
    outputs = (Output("LATENT", tooltip="The empty latent image batch."),)

    def run(self, inputs: Inputs, context: Context) -> Made:
        height, width = inputs["height"] // PIXELS_A_CELL, inputs["width"] // PIXELS_A_CELL
        refuse_absurd(inputs["batch_size"], height, width, CHANNELS)
        samples = np.zeros((inputs["batch_size"], CHANNELS, height, width), dtype=np.float32)
        return Made({"samples": samples, "downscale_ratio_spacial": PIXELS_A_CELL})


class SaveLatent(Node):
    """A safetensors file with one tensor, as ComfyUI's LoadLatent reads it."""

    display_name = "Save Latent"
    category = "experimental"
    search_aliases = ("export latent",)
    required = {"samples": ("LATENT",), "filename_prefix": ("STRING", {"default": "latents/ComfyUI"})}
    hidden = {"prompt": "PROMPT", "extra_pnginfo": "EXTRA_PNGINFO"}
    output_node = True

    def run(self, inputs: Inputs, context: Context) -> Made:
        samples = np.ascontiguousarray(inputs["samples"]["samples"], dtype="<f4")
        place = place_for(context, inputs["filename_prefix"])
        name = place.name("latent")
        header = {
            "__metadata__": metadata(context),
            "latent_format_version_0": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]},
            "latent_tensor": {"dtype": "F32", "shape": list(samples.shape), "data_offsets": [0, samples.nbytes]},
        }
        words = json.dumps(header).encode()
        (place.folder / name).write_bytes(struct.pack("<Q", len(words)) + words + samples.tobytes())
        return Made(ui={"latents": [saved(place, name)]})
