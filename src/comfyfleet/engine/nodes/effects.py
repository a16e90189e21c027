"""Our own generators, for a machine without a GPU: a painter, and one who paints over."""

import io

import numpy as np

from comfyfleet.engine.node import Context, Inputs, Made, Node, Output, Preview
from comfyfleet.engine.nodes.specs import SEED_MAX, integer, real, text
from comfyfleet.engine.paint.noise import Canvas
from comfyfleet.engine.paint.painter import chance_of, compose, make_over, paint
from comfyfleet.engine.pixels.convert import Floats, to_pillow

PREVIEW_SIDE_PX = 512
SIDE_MAX_PX = 2048
STEPS_MAX = 100
LARGEST_VARIED_PX = 8 * 1024 * 1024

SEED = integer(0, 0, SEED_MAX, control_after_generate=True, tooltip="Another seed, another picture of the same words.")
STEPS = integer(20, 1, STEPS_MAX, tooltip="Passes of the brush, from broad to fine.")


def preview_of(frame: Floats, context: Context) -> Preview | None:
    if context.preview_method == "none":
        return None
    picture = to_pillow(frame[..., :3])
    picture.thumbnail((PREVIEW_SIDE_PX, PREVIEW_SIDE_PX))
    written = io.BytesIO()
    picture.save(written, "JPEG", quality=85)
    return Preview(written.getvalue())


class FleetPaint(Node):
    display_name = "Paint (comfyfleet)"
    category = "comfyfleet"
    description = (
        "Paints a picture from words and a seed on the CPU, without a model: the words choose the scene and its "
        "colours (mountains, lake, sea, dunes, forest, city, aurora, nebula; dawn, night, autumn, neon …)."
    )
    python_module = "comfyfleet.engine"
    search_aliases = ("generate image", "procedural", "text to image")
    required = {
        "prompt": text("a calm lake at sunset", multiline=True, dynamicPrompts=True),
        "seed": SEED,
        "width": integer(768, 64, SIDE_MAX_PX, 8),
        "height": integer(512, 64, SIDE_MAX_PX, 8),
        "steps": STEPS,
    }
    outputs = (Output("IMAGE"),)

    def run(self, inputs: Inputs, context: Context) -> Made:
        prompt, seed, steps = inputs["prompt"], inputs["seed"], inputs["steps"]
        context.check()
        target = compose(prompt, seed, Canvas(inputs["height"], inputs["width"]))
        painting = target
        for step, painting in enumerate(paint(target, chance_of(prompt, seed, "brush"), steps), start=1):
            context.step(step, steps, preview_of(painting, context))
        return Made(painting[None])


class FleetVary(Node):
    display_name = "Vary (comfyfleet)"
    category = "comfyfleet"
    description = (
        "Paints a picture over, on the CPU: bent and recoloured towards the words' mood, the more the stronger. "
        "Strength 0 leaves it as it is."
    )
    python_module = "comfyfleet.engine"
    search_aliases = ("image to image", "variation", "restyle")
    required = {
        "image": ("IMAGE",),
        "prompt": text("", multiline=True, dynamicPrompts=True),
        "seed": SEED,
        "strength": real(0.5, 0.0, 1.0, 0.01),
        "steps": STEPS,
    }
    outputs = (Output("IMAGE"),)

    def run(self, inputs: Inputs, context: Context) -> Made:
        images, strength = inputs["image"], inputs["strength"]
        if strength <= 0:
            return Made(images)
        height, width = images.shape[1:3]
        if height * width > LARGEST_VARIED_PX:
            raise ValueError(f"{width}×{height} pixels are too many to paint over: scale them to 8 megapixels first.")
        varied = np.empty((*images.shape[:3], 3), dtype=np.float32)
        for number, frame in enumerate(images):
            varied[number] = self._repaint(frame[..., :3], number, inputs, context, len(images))
        return Made(varied)

    def _repaint(self, frame: Floats, number: int, inputs: Inputs, context: Context, frames: int) -> Floats:
        """All frames of a batch get one seed: a film stays one film."""
        prompt, seed, strength, steps = inputs["prompt"], inputs["seed"], inputs["strength"], inputs["steps"]
        context.check()
        target = make_over(frame, prompt, seed, strength)
        painting = target
        for step, painting in enumerate(paint(target, chance_of(prompt, seed, "brush"), steps, start=frame), start=1):
            context.step(number * steps + step, frames * steps, preview_of(painting, context))
        share = np.float32(min(1.0, strength * 2))
        return frame * (1 - share) + painting * share
