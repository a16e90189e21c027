"""A node that takes its time: for benches, for faults, and to see progress."""

import io
import time

import numpy as np
from PIL import Image

from comfyfleet.engine.node import Context, Inputs, Made, Node, Output, Preview

PREVIEW_SIDE = 64


class FleetSleep(Node):
    display_name = "Sleep"
    category = "comfyfleet"
    description = "Takes the given seconds in the given steps, with a preview at each if asked."
    python_module = "comfyfleet.engine"
    required = {
        "seconds": ("FLOAT", {"default": 1.0, "min": 0.0, "max": 86400.0, "step": 0.01}),
        "steps": ("INT", {"default": 1, "min": 1, "max": 100000}),
        "seed": ("INT", {"default": 0, "min": 0, "max": 2**64 - 1}),
        "previews": ("BOOLEAN", {"default": False}),
    }
    optional = {"image": ("IMAGE",)}
    outputs = (Output("IMAGE"),)

    def run(self, inputs: Inputs, context: Context) -> Made:
        steps = inputs["steps"]
        ends_at = time.monotonic() + inputs["seconds"]
        for step in range(1, steps + 1):
            time.sleep(max(0.0, ends_at - inputs["seconds"] * (steps - step) / steps - time.monotonic()))
            context.step(step, steps, _preview(step / steps) if inputs["previews"] else None)
        image = inputs.get("image")
        return Made(np.zeros((1, PREVIEW_SIDE, PREVIEW_SIDE, 3), dtype=np.float32) if image is None else image)


def _preview(fraction: float) -> Preview:
    written = io.BytesIO()
    Image.new("L", (PREVIEW_SIDE, PREVIEW_SIDE), round(255 * fraction)).save(written, "JPEG")
    return Preview(written.getvalue())
