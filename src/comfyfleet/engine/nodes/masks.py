"""Masks: from pictures, to pictures, grown, faded, combined."""

import numpy as np

from comfyfleet.engine.node import Context, Inputs, Made, Node, Output
from comfyfleet.engine.nodes.frames import watched
from comfyfleet.engine.nodes.specs import IMAGE, MASK, SIDE_MAX_PX, choice, integer, real, side, toggle
from comfyfleet.engine.pixels.arrange import fit_batch
from comfyfleet.engine.pixels.blend import paste_frame
from comfyfleet.engine.pixels.bounds import refuse_absurd
from comfyfleet.engine.pixels.convert import Floats, fit_channels
from comfyfleet.engine.pixels.masks import combine_masks, feather_masks, grow_once
from comfyfleet.engine.pixels.scale import scale_frame

EXTRAS_MASK = "comfy_extras.nodes_mask"
CHANNELS = ("red", "green", "blue", "alpha")


class MaskNode(Node):
    """What all of ComfyUI's mask nodes say of themselves."""

    category = "image/mask"
    python_module = EXTRAS_MASK
    newer_schema = True
    outputs = (Output("MASK"),)


class SolidMask(MaskNode):
    display_name = "Create Solid Mask"
    required = {"value": real(1.0, 0.0, 1.0, 0.01), "width": side(), "height": side()}

    def run(self, inputs: Inputs, context: Context) -> Made:
        refuse_absurd(1, inputs["height"], inputs["width"], 1)
        return Made(np.full((1, inputs["height"], inputs["width"]), inputs["value"], dtype=np.float32))


class InvertMask(MaskNode):
    display_name = "Invert Mask"
    search_aliases = ("reverse mask", "flip mask")
    required = {"mask": MASK}

    def run(self, inputs: Inputs, context: Context) -> Made:
        return Made(np.float32(1.0) - inputs["mask"])


class MaskToImage(MaskNode):
    display_name = "Convert Mask to Image"
    search_aliases = ("convert mask",)
    required = {"mask": MASK}
    outputs = (Output("IMAGE"),)

    def run(self, inputs: Inputs, context: Context) -> Made:
        mask = inputs["mask"]
        refuse_absurd(*mask.shape)
        return Made(np.repeat(mask[..., None], 3, axis=-1))


class ImageToMask(MaskNode):
    display_name = "Convert Image to Mask"
    search_aliases = ("extract channel", "channel to mask")
    required = {"image": IMAGE, "channel": choice(*CHANNELS)}

    def run(self, inputs: Inputs, context: Context) -> Made:
        images, channel = inputs["image"], CHANNELS.index(inputs["channel"])
        if channel >= images.shape[-1]:
            raise IndexError(f"The picture has no {inputs['channel']} channel: it has {images.shape[-1]} channels.")
        return Made(np.ascontiguousarray(images[..., channel]))


class ImageColorToMask(MaskNode):
    display_name = "Convert Image Color to Mask"
    search_aliases = ("color keying", "chroma key")
    required = {"image": IMAGE, "color": integer(0, 0, 0xFFFFFF, 1, display="number")}

    def run(self, inputs: Inputs, context: Context) -> Made:
        pixels = np.round(np.clip(inputs["image"], 0, 1) * 255).astype(np.int32)
        codes = (pixels[..., 0] << 16) + (pixels[..., 1] << 8) + pixels[..., 2]
        return Made((codes == inputs["color"]).astype(np.float32))


class CropMask(MaskNode):
    display_name = "Crop Mask"
    search_aliases = ("cut mask", "extract mask region", "mask slice")
    required = {"mask": MASK, "x": side(0, 0), "y": side(0, 0), "width": side(), "height": side()}

    def run(self, inputs: Inputs, context: Context) -> Made:
        x, y = inputs["x"], inputs["y"]
        cut = inputs["mask"][:, y : y + inputs["height"], x : x + inputs["width"]]
        if 0 in cut.shape:
            raise ValueError(f"The rectangle at ({x}, {y}) lies outside the mask.")
        return Made(cut)


class MaskComposite(MaskNode):
    display_name = "Combine Masks"
    search_aliases = ("combine masks", "blend masks", "layer masks", "masks composition")
    required = {
        "destination": MASK,
        "source": MASK,
        "x": side(0, 0),
        "y": side(0, 0),
        "operation": choice("multiply", "add", "subtract", "and", "or", "xor"),
    }

    def run(self, inputs: Inputs, context: Context) -> Made:
        combined: Floats = inputs["destination"].copy()
        source, x, y = inputs["source"], inputs["x"], inputs["y"]
        part = combined[:, y : y + source.shape[1], x : x + source.shape[2]]
        source = fit_batch(source, len(part))[:, : part.shape[1], : part.shape[2]]
        part[...] = combine_masks(part, source, inputs["operation"])
        return Made(np.clip(combined, 0, 1))


class FeatherMask(MaskNode):
    display_name = "Feather Mask"
    search_aliases = ("soft edge mask", "blur mask edges", "gradient mask edge")
    required = {"mask": MASK, "left": side(0, 0), "top": side(0, 0), "right": side(0, 0), "bottom": side(0, 0)}

    def run(self, inputs: Inputs, context: Context) -> Made:
        sides = inputs["left"], inputs["top"], inputs["right"], inputs["bottom"]
        return Made(feather_masks(inputs["mask"], *sides))


class GrowMask(MaskNode):
    display_name = "Grow Mask"
    search_aliases = ("expand mask", "shrink mask")
    required = {
        "mask": MASK,
        "expand": integer(0, -SIDE_MAX_PX, SIDE_MAX_PX, 1),
        "tapered_corners": toggle(True, advanced=True),
    }

    def run(self, inputs: Inputs, context: Context) -> Made:
        expand, tapered = inputs["expand"], inputs["tapered_corners"]
        masks = inputs["mask"].copy()
        # After so many steps every pixel has met every other one.
        steps = min(abs(expand), sum(masks.shape[-2:]))
        for number, frame in enumerate(watched(masks, context)):
            for _ in range(steps):
                context.check()
                frame = grow_once(frame, shrink=expand < 0, tapered_corners=tapered)
            masks[number] = frame
        return Made(masks)


class ThresholdMask(MaskNode):
    display_name = "Threshold Mask"
    search_aliases = ("binary mask",)
    required = {"mask": MASK, "value": real(0.5, 0.0, 1.0, 0.01)}

    def run(self, inputs: Inputs, context: Context) -> Made:
        return Made((inputs["mask"] > inputs["value"]).astype(np.float32))


class ImageCompositeMasked(MaskNode):
    display_name = "Image Composite Masked"
    category = "image/compositing"
    search_aliases = ("overlay", "layer", "paste image", "images composition")
    required = {
        "destination": IMAGE,
        "source": IMAGE,
        "x": side(0, 0),
        "y": side(0, 0),
        "resize_source": toggle(False),
    }
    optional = {"mask": MASK}
    outputs = (Output("IMAGE"),)

    def run(self, inputs: Inputs, context: Context) -> Made:
        onto = inputs["destination"]
        source = fit_batch(fit_channels(inputs["source"], onto.shape[-1]), len(onto))
        mask = inputs.get("mask")
        masks = None if mask is None else fit_batch(mask, len(onto))
        resize = inputs["resize_source"]
        pasted = np.empty_like(onto)
        for number, frame in enumerate(watched(onto, context)):
            over = _sized(source[number], frame.shape[:2]) if resize else source[number]
            through = None if masks is None else _sized(masks[number][..., None], over.shape[:2])[..., 0]
            pasted[number] = paste_frame(frame, over, inputs["x"], inputs["y"], through)
        return Made(pasted)


def _sized(frame: Floats, size: tuple[int, ...]) -> Floats:
    return scale_frame(frame, size[1], size[0], "bilinear")
