"""Pictures in, pictures out: sizes, shapes, turns."""

import math

import numpy as np

from comfyfleet.engine.node import Context, Inputs, Made, Node, Output
from comfyfleet.engine.nodes.frames import change_each
from comfyfleet.engine.nodes.specs import BATCH_MAX, IMAGE, SIDE_MAX_PX, choice, integer, real, side
from comfyfleet.engine.pixels.arrange import Margins, crop_batch, pad_for_outpaint, rotate_batch
from comfyfleet.engine.pixels.bounds import refuse_absurd
from comfyfleet.engine.pixels.convert import Floats
from comfyfleet.engine.pixels.scale import CROPS, METHODS, keep_ratio, scale_frame

EXTRAS_IMAGES = "comfy_extras.nodes_images"
EXTRAS_POST = "comfy_extras.nodes_post_processing"


def scale_images(images: Floats, context: Context, size_px: tuple[int, int], method: str, crop: str) -> Floats:
    width, height = size_px
    refuse_absurd(len(images), height, width, images.shape[-1])
    return change_each(images, context, lambda frame: scale_frame(frame, width, height, method, crop))


class EmptyImage(Node):
    display_name = "Empty Image"
    category = "image"
    required = {
        "width": side(),
        "height": side(),
        "batch_size": integer(1, 1, BATCH_MAX),
        "color": integer(0, 0, 0xFFFFFF, 1, display="color"),
    }
    outputs = (Output("IMAGE"),)

    def run(self, inputs: Inputs, context: Context) -> Made:
        shape = (inputs["batch_size"], inputs["height"], inputs["width"])
        refuse_absurd(*shape)
        color = inputs["color"]
        rgb = np.array([color >> 16 & 0xFF, color >> 8 & 0xFF, color & 0xFF], dtype=np.float32) / np.float32(255)
        return Made(np.broadcast_to(rgb, (*shape, 3)).copy())


class ImageScale(Node):
    display_name = "Upscale Image"
    category = "image/upscaling"
    search_aliases = ("resize", "resize image", "scale image", "image resize", "zoom", "zoom in", "change size")
    extra_facts = {"essentials_category": "Image Tools"}
    required = {
        "image": ("IMAGE",),
        "upscale_method": (list(METHODS),),
        "width": side(least=0),
        "height": side(least=0),
        "crop": (list(CROPS),),
    }
    outputs = (Output("IMAGE"),)

    def run(self, inputs: Inputs, context: Context) -> Made:
        images = inputs["image"]
        if inputs["width"] == 0 and inputs["height"] == 0:
            return Made(images)
        size = keep_ratio(images.shape[2], images.shape[1], inputs["width"], inputs["height"])
        return Made(scale_images(images, context, size, inputs["upscale_method"], inputs["crop"]))


class ImageScaleBy(Node):
    display_name = "Upscale Image By"
    category = "image/upscaling"
    required = {
        "image": ("IMAGE",),
        "upscale_method": (list(METHODS),),
        "scale_by": real(1.0, 0.01, 8.0, 0.01),
    }
    outputs = (Output("IMAGE"),)

    def run(self, inputs: Inputs, context: Context) -> Made:
        images, factor = inputs["image"], inputs["scale_by"]
        size = (max(1, round(images.shape[2] * factor)), max(1, round(images.shape[1] * factor)))
        return Made(scale_images(images, context, size, inputs["upscale_method"], "disabled"))


class ImageScaleToTotalPixels(Node):
    display_name = "Scale Image to Total Pixels"
    category = "image/upscaling"
    python_module = EXTRAS_POST
    newer_schema = True
    required = {
        "image": IMAGE,
        "upscale_method": choice(*METHODS),
        "megapixels": real(1.0, 0.01, 16.0, 0.01),
        "resolution_steps": integer(1, 1, 256, advanced=True),
    }
    outputs = (Output("IMAGE"),)

    def run(self, inputs: Inputs, context: Context) -> Made:
        images, steps = inputs["image"], inputs["resolution_steps"]
        factor = math.sqrt(inputs["megapixels"] * 1024 * 1024 / (images.shape[2] * images.shape[1]))
        width, height = (max(1, round(images.shape[axis] * factor / steps)) * steps for axis in (2, 1))
        return Made(scale_images(images, context, (width, height), inputs["upscale_method"], "disabled"))


class ImageScaleToMaxDimension(Node):
    display_name = "Scale Image to Max Dimension"
    category = "image/upscaling"
    python_module = EXTRAS_IMAGES
    newer_schema = True
    required = {
        "image": IMAGE,
        "upscale_method": choice("area", "lanczos", "bilinear", "nearest-exact", "bicubic"),
        "largest_size": integer(512, 0, SIDE_MAX_PX, 1),
    }
    outputs = (Output("IMAGE"),)

    def run(self, inputs: Inputs, context: Context) -> Made:
        images, longest = inputs["image"], inputs["largest_size"]
        wide = images.shape[2] >= images.shape[1]
        wanted = (longest, 0) if wide else (0, longest)
        size = keep_ratio(images.shape[2], images.shape[1], *wanted)
        return Made(scale_images(images, context, size, inputs["upscale_method"], "disabled"))


class ImageCrop(Node):
    display_name = "Crop Image (DEPRECATED)"
    category = "image/transform"
    python_module = EXTRAS_IMAGES
    search_aliases = ("trim",)
    newer_schema = True
    extra_facts = {"deprecated": True, "essentials_category": "Image Tools"}
    required = {"image": IMAGE, "width": side(), "height": side(), "x": side(0, 0), "y": side(0, 0)}
    outputs = (Output("IMAGE"),)

    def run(self, inputs: Inputs, context: Context) -> Made:
        return Made(crop_batch(inputs["image"], inputs["x"], inputs["y"], inputs["width"], inputs["height"]))


class ImagePadForOutpaint(Node):
    display_name = "Pad Image for Outpainting"
    category = "image/transform"
    search_aliases = ("extend canvas", "expand image")
    required = {
        "image": ("IMAGE",),
        "left": side(0, 0, 8),
        "top": side(0, 0, 8),
        "right": side(0, 0, 8),
        "bottom": side(0, 0, 8),
        "feathering": integer(40, 0, SIDE_MAX_PX, 1, advanced=True),
    }
    outputs = (Output("IMAGE"), Output("MASK"))

    def run(self, inputs: Inputs, context: Context) -> Made:
        margins = Margins(inputs["left"], inputs["top"], inputs["right"], inputs["bottom"])
        return Made(*pad_for_outpaint(inputs["image"], margins, inputs["feathering"]))


class ImageFlip(Node):
    display_name = "Flip Image"
    category = "image/transform"
    python_module = EXTRAS_IMAGES
    search_aliases = ("mirror", "reflect")
    newer_schema = True
    required = {"image": IMAGE, "flip_method": choice("x-axis: vertically", "y-axis: horizontally")}
    outputs = (Output("IMAGE"),)

    def run(self, inputs: Inputs, context: Context) -> Made:
        axis = 1 if inputs["flip_method"].startswith("x") else 2
        return Made(np.ascontiguousarray(np.flip(inputs["image"], axis=axis)))


class ImageRotate(Node):
    display_name = "Rotate Image"
    category = "image/transform"
    python_module = EXTRAS_IMAGES
    search_aliases = ("turn", "flip orientation")
    newer_schema = True
    extra_facts = {"essentials_category": "Image Tools"}
    required = {"image": IMAGE, "rotation": choice("none", "90 degrees", "180 degrees", "270 degrees")}
    outputs = (Output("IMAGE"),)

    def run(self, inputs: Inputs, context: Context) -> Made:
        quarters = {"none": 0, "90 degrees": 1, "180 degrees": 2, "270 degrees": 3}[inputs["rotation"]]
        return Made(rotate_batch(inputs["image"], quarters))


class GetImageSize(Node):
    display_name = "Get Image Size"
    category = "image"
    description = "Returns the width, height, and batch size of the image."
    python_module = EXTRAS_IMAGES
    search_aliases = ("dimensions", "resolution", "image info")
    newer_schema = True
    required = {"image": IMAGE}
    hidden = {"unique_id": ("UNIQUE_ID",)}
    outputs = (Output("INT", "width"), Output("INT", "height"), Output("INT", "batch_size"))

    def run(self, inputs: Inputs, context: Context) -> Made:
        batch, height, width, _ = inputs["image"].shape
        context.say(f"width: {width}, height: {height}\n batch size: {batch}")
        return Made(width, height, batch)
