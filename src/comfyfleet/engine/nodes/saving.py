"""Pictures to files, in the numbered way of ComfyUI: prefix_00001_.png, with the graph inside."""

import hashlib
import io
import json
import re
import secrets
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from PIL import Image
from PIL.PngImagePlugin import PngInfo

from comfyfleet.engine.folders import SavePlace
from comfyfleet.engine.node import Context, Inputs, Made, Node, Output, Preview
from comfyfleet.engine.nodes.frames import watched
from comfyfleet.engine.nodes.images import EXTRAS_IMAGES
from comfyfleet.engine.nodes.masks import EXTRAS_MASK
from comfyfleet.engine.nodes.specs import IMAGE, MASK, METADATA, choice, integer, real, text, toggle
from comfyfleet.engine.pixels.convert import Floats, to_pillow

PREFIX_HINT = (
    "The prefix for the file to save. This may include formatting information such as "
    "%date:yyyy-MM-dd% or %Empty Latent Image.width% to include values from nodes."
)
TEMP_LETTERS = "abcdefghijklmnopqrstuvwxyz"
PROCESS_SALT = secrets.token_bytes(16)
WEBP_EFFORT = {"default": 4, "fastest": 0, "slowest": 6}
# EXIF tags in which ComfyUI keeps the graph (Model) and then what else there is (Make and downwards).
EXIF_PROMPT, EXIF_FIRST_OTHER = 0x0110, 0x010F

_DATE = re.compile(r"%date:([^%]*)%")
_DATE_WORDS = re.compile(r"yyyy|yy|MM|dd|hh|mm|ss|M|d|h|m|s")


def fill_dates(prefix: str, now: datetime) -> str:
    """`%date:yyyy-MM-dd%` by the clock. ComfyUI's web interface does this before it submits; callers of the API
    have only us."""
    words = {"yyyy": f"{now.year:04}", "yy": f"{now.year % 100:02}"}
    parts = {"M": now.month, "d": now.day, "h": now.hour, "m": now.minute, "s": now.second}
    for letter, number in parts.items():
        words |= {letter * 2: f"{number:02}", letter: str(number)}
    return _DATE.sub(lambda found: _DATE_WORDS.sub(lambda word: words[word[0]], found[1]), prefix)


def place_for(
    context: Context, prefix: str, width_px: int = 0, height_px: int = 0, *, kind: str = "output"
) -> SavePlace:
    filled = fill_dates(prefix, datetime.now().astimezone())
    return context.folders.place_for(filled, kind=kind, width=width_px, height=height_px)


def place_for_pictures(context: Context, images: Floats, prefix: str, *, kind: str = "output") -> SavePlace:
    return place_for(context, prefix, images.shape[2], images.shape[1], kind=kind)


def temp_prefix(node_id: str = "") -> str:
    """A prefix of its own for each call, or for each node as long as the process lives: its files then count on, as
    they do where ComfyUI keeps the node."""
    drawn = hashlib.sha256(PROCESS_SALT + node_id.encode()).digest() if node_id else secrets.token_bytes(5)
    return "ComfyUI_temp_" + "".join(TEMP_LETTERS[number % 26] for number in drawn[:5])


def metadata(context: Context) -> dict[str, str]:
    """What is written into a file, so that a picture dropped on ComfyUI brings its graph back."""
    told = {"prompt": context.graph, **(context.extra_pnginfo or {})}
    return {key: json.dumps(value) for key, value in told.items()}


def saved(place: SavePlace, name: str, kind: str = "output") -> dict[str, str]:
    return {"filename": name, "subfolder": place.subfolder, "type": kind}


def save_pngs(images: Floats, context: Context, prefix: str, *, kind: str, compress_level: int) -> list[dict[str, str]]:
    place = place_for_pictures(context, images, prefix, kind=kind)
    texts = PngInfo()
    for key, value in metadata(context).items():
        texts.add_text(key, value)
    files = []
    offset = -1
    for number, frame in enumerate(watched(images, context)):
        name, offset = _free_name(place, number, offset + 1)
        to_pillow(frame).save(place.folder / name, pnginfo=texts, compress_level=compress_level)
        files.append(saved(place, name, kind))
    return files


def _free_name(place: SavePlace, number: int, offset: int) -> tuple[str, int]:
    """ComfyUI does not count on where the prefix holds %batch_num%, and writes over its own files; we pass them by."""
    while True:
        name = place.name("png", offset=offset).replace("%batch_num%", str(number))
        if not (place.folder / name).exists():
            return name, offset
        offset += 1


class SaveImage(Node):
    display_name = "Save Image"
    category = "image"
    description = "Saves the input images to your ComfyUI output directory."
    search_aliases = ("save", "save image", "export image", "output image", "write image", "download")
    extra_facts = {"essentials_category": "Basics"}
    required = {
        "images": ("IMAGE", {"tooltip": "The images to save."}),
        "filename_prefix": ("STRING", {"default": "ComfyUI", "tooltip": PREFIX_HINT}),
    }
    hidden = {"prompt": "PROMPT", "extra_pnginfo": "EXTRA_PNGINFO"}
    outputs = (Output("IMAGE", "images"),)
    output_node = True

    def run(self, inputs: Inputs, context: Context) -> Made:
        images = inputs["images"]
        files = save_pngs(images, context, inputs["filename_prefix"], kind="output", compress_level=4)
        return Made(images, ui={"images": files})


class PreviewImage(Node):
    display_name = "Preview Image"
    category = "image"
    description = "Preview the images without saving them to the ComfyUI output directory."
    search_aliases = ("preview", "preview image", "show image", "view image", "display image", "image viewer")
    extra_facts = {"essentials_category": "Basics"}
    required = {"images": ("IMAGE",)}
    hidden = {"prompt": "PROMPT", "extra_pnginfo": "EXTRA_PNGINFO"}
    outputs = (Output("IMAGE", "images"),)
    output_node = True

    def run(self, inputs: Inputs, context: Context) -> Made:
        images = inputs["images"]
        files = save_pngs(images, context, temp_prefix(context.node_id), kind="temp", compress_level=1)
        return Made(images, ui={"images": files})


class MaskPreview(Node):
    display_name = "Preview Mask"
    category = "image/mask"
    description = "Saves the input images to your ComfyUI output directory."
    python_module = EXTRAS_MASK
    search_aliases = ("preview", "preview mask", "show mask", "view mask", "inspect mask", "debug mask")
    newer_schema = True
    required = {"mask": MASK}
    hidden = METADATA
    output_node = True

    def run(self, inputs: Inputs, context: Context) -> Made:
        files = save_pngs(inputs["mask"][..., None], context, temp_prefix(), kind="temp", compress_level=1)
        return Made(ui={"images": files, "animated": [False]})


class SaveImageWebsocket(Node):
    """The picture goes to the client as a preview in PNG, and nowhere else."""

    display_name = "Save Image (Websocket)"
    category = "image"
    python_module = "custom_nodes.websocket_image_save"
    required = {"images": ("IMAGE",)}
    output_node = True

    def run(self, inputs: Inputs, context: Context) -> Made:
        images = inputs["images"]
        for number, frame in enumerate(images):  # counted from 0, as ComfyUI does here
            written = io.BytesIO()
            to_pillow(frame).save(written, "PNG", compress_level=1)
            context.step(number, len(images), Preview(written.getvalue(), "PNG"))
        return Made()

    def fingerprint(self, inputs: Inputs, folders: Any) -> object:
        return float("nan")  # nothing is kept that a cached answer could name


class SaveAnimatedWEBP(Node):
    display_name = "Save Animated WEBP"
    category = "image"
    python_module = EXTRAS_IMAGES
    newer_schema = True
    required = {
        "images": IMAGE,
        "filename_prefix": text("ComfyUI"),
        "fps": real(6.0, 0.01, 1000.0, 0.01),
        "lossless": toggle(True),
        "quality": integer(80, 0, 100),
        "method": choice(*WEBP_EFFORT),
    }
    hidden = METADATA
    outputs = (Output("IMAGE", "images"),)
    output_node = True

    def run(self, inputs: Inputs, context: Context) -> Made:
        options = {
            "lossless": inputs["lossless"],
            "quality": inputs["quality"],
            "method": WEBP_EFFORT[inputs["method"]],
            "exif": _exif(context),
        }
        return _save_animation(inputs, context, "webp", options)


class SaveAnimatedPNG(Node):
    display_name = "Save Animated PNG"
    category = "image"
    python_module = EXTRAS_IMAGES
    newer_schema = True
    required = {
        "images": IMAGE,
        "filename_prefix": text("ComfyUI"),
        "fps": real(6.0, 0.01, 1000.0, 0.01),
        "compress_level": integer(4, 0, 9, advanced=True),
    }
    hidden = METADATA
    outputs = (Output("IMAGE", "images"),)
    output_node = True

    def run(self, inputs: Inputs, context: Context) -> Made:
        chunks = PngInfo()
        for key, value in metadata(context).items():
            chunks.add(b"comf", key.encode("latin-1", "replace") + b"\0" + value.encode(), after_idat=True)
        return _save_animation(inputs, context, "png", {"compress_level": inputs["compress_level"], "pnginfo": chunks})


def _exif(context: Context) -> Image.Exif:
    exif = Image.Exif()
    told = metadata(context)
    exif[EXIF_PROMPT] = f"prompt:{told.pop('prompt')}"
    for tag, (key, value) in zip(range(EXIF_FIRST_OTHER, 0, -1), told.items(), strict=False):
        exif[tag] = f"{key}:{value}"
    return exif


def _save_animation(inputs: Inputs, context: Context, extension: str, options: Mapping[str, Any]) -> Made:
    images = inputs["images"]
    place = place_for_pictures(context, images, inputs["filename_prefix"])
    name = place.name(extension)
    first, *others = [to_pillow(frame) for frame in watched(images, context)]
    first.save(
        place.folder / name,
        save_all=True,
        append_images=others,
        duration=int(1000.0 / inputs["fps"]),
        **options,
    )
    return Made(images, ui={"images": [saved(place, name)], "animated": [True]})
