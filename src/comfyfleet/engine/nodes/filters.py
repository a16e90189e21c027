"""Pictures in, pictures of the same size out."""

import numpy as np

from comfyfleet.engine.node import Context, Inputs, Made, Node, Output
from comfyfleet.engine.nodes.frames import change_each, watched
from comfyfleet.engine.nodes.images import EXTRAS_IMAGES, EXTRAS_POST
from comfyfleet.engine.nodes.specs import IMAGE, SEED_MAX, choice, integer, real
from comfyfleet.engine.pixels.arrange import fit_batch
from comfyfleet.engine.pixels.blend import BLEND_MODES, blend_frames
from comfyfleet.engine.pixels.convert import fit_channels
from comfyfleet.engine.pixels.filters import DITHERS, blur_frame, quantize_frame, sharpen_frame
from comfyfleet.engine.pixels.scale import scale_frame


class ImageInvert(Node):
    display_name = "Invert Image Colors"
    category = "image/color"
    search_aliases = ("reverse colors",)
    extra_facts = {"essentials_category": "Image Tools"}
    required = {"image": ("IMAGE",)}
    outputs = (Output("IMAGE"),)

    def run(self, inputs: Inputs, context: Context) -> Made:
        return Made(np.float32(1.0) - inputs["image"])


class ImageBlur(Node):
    display_name = "Blur Image"
    category = "image/filters"
    python_module = EXTRAS_POST
    newer_schema = True
    search_aliases = None
    required = {"image": IMAGE, "blur_radius": integer(1, 1, 31, 1), "sigma": real(1.0, 0.1, 10.0, 0.1)}
    outputs = (Output("IMAGE"),)

    def run(self, inputs: Inputs, context: Context) -> Made:
        radius, sigma = inputs["blur_radius"], inputs["sigma"]
        return Made(change_each(inputs["image"], context, lambda frame: blur_frame(frame, radius, sigma)))


class ImageSharpen(Node):
    display_name = "Sharpen Image"
    category = "image/filters"
    python_module = EXTRAS_POST
    newer_schema = True
    required = {
        "image": IMAGE,
        "sharpen_radius": integer(1, 1, 31, 1, advanced=True),
        "sigma": real(1.0, 0.1, 10.0, 0.01, advanced=True),
        "alpha": real(1.0, 0.0, 5.0, 0.01, advanced=True),
    }
    outputs = (Output("IMAGE"),)

    def run(self, inputs: Inputs, context: Context) -> Made:
        knobs = inputs["sharpen_radius"], inputs["sigma"], inputs["alpha"]
        return Made(change_each(inputs["image"], context, lambda frame: sharpen_frame(frame, *knobs)))


class ImageQuantize(Node):
    display_name = "Quantize Image"
    category = "image/filters"
    python_module = EXTRAS_POST
    newer_schema = True
    required = {"image": IMAGE, "colors": integer(256, 1, 256, 1), "dither": choice(*DITHERS)}
    outputs = (Output("IMAGE"),)

    def run(self, inputs: Inputs, context: Context) -> Made:
        colors, dither = inputs["colors"], inputs["dither"]
        return Made(change_each(inputs["image"], context, lambda frame: quantize_frame(frame, colors, dither)))


class ImageBlend(Node):
    display_name = "Blend Images"
    category = "image/filters"
    python_module = EXTRAS_POST
    search_aliases = ("mix images",)
    newer_schema = True
    extra_facts = {"essentials_category": "Image Tools"}
    required = {
        "image1": IMAGE,
        "image2": IMAGE,
        "blend_factor": real(0.5, 0.0, 1.0, 0.01),
        "blend_mode": choice(*BLEND_MODES),
    }
    outputs = (Output("IMAGE"),)

    def run(self, inputs: Inputs, context: Context) -> Made:
        count = max(len(inputs["image1"]), len(inputs["image2"]))
        below = fit_batch(inputs["image1"], count)
        above = fit_batch(fit_channels(inputs["image2"], below.shape[-1]), count)
        height, width = below.shape[1:3]
        fits = above.shape[1:3] == (height, width)
        blended = np.empty_like(below)
        for number, frame in enumerate(watched(below, context)):
            over = above[number] if fits else scale_frame(above[number], width, height, "bicubic", "center")
            blended[number] = blend_frames(frame, over, inputs["blend_factor"], inputs["blend_mode"])
        return Made(blended)


class ImageAddNoise(Node):
    display_name = "Add Noise to Image"
    category = "image/filters"
    python_module = EXTRAS_IMAGES
    search_aliases = ("film grain",)
    newer_schema = True
    required = {
        "image": IMAGE,
        "seed": integer(
            0, 0, SEED_MAX, control_after_generate=True, tooltip="The random seed used for creating the noise."
        ),
        "strength": real(0.5, 0.0, 1.0, 0.01),
    }
    outputs = (Output("IMAGE"),)

    def run(self, inputs: Inputs, context: Context) -> Made:
        chance = np.random.default_rng(inputs["seed"])
        strength = np.float32(inputs["strength"])
        return Made(
            change_each(
                inputs["image"],
                context,
                lambda frame: np.clip(frame + strength * chance.standard_normal(frame.shape, dtype=np.float32), 0, 1),
            )
        )
