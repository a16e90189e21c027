"""Pictures from files."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from comfyfleet.engine.folders import Folders, OutsideFolder
from comfyfleet.engine.node import Context, Inputs, Made, Node, Output, Spec
from comfyfleet.engine.pixels.read import read_channel, read_pictures

PICTURE_SUFFIXES = (
    *(".png", ".apng", ".jpg", ".jpeg", ".jfif", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".avif", ".ico"),
    *(".ppm", ".pgm", ".pbm", ".tga"),
)


def uploaded(folders: Folders, name: object) -> Path | None:
    """The file a name means, if it is there and inside its folder."""
    try:
        path = folders.find_upload(str(name))
    except (OutsideFolder, ValueError):
        return None
    return path if path.is_file() else None


def uploaded_or_raise(folders: Folders, name: str) -> Path:
    path = uploaded(folders, name)
    if path is None:
        raise FileNotFoundError(f"[Errno 2] No such file or directory: {name!r}")
    return path


def digest(path: Path | None) -> str | None:
    if path is None:
        return None
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class FileNode(Node):
    """A node whose result follows the bytes of one uploaded file, not its name."""

    file_input = "image"
    kind_of_file = "image"

    def problem(self, inputs: Inputs, folders: Folders) -> str | None:
        name = inputs.get(self.file_input)
        if not isinstance(name, str) or uploaded(folders, name) is not None:
            return None
        return f"Invalid {self.kind_of_file} file: {name}"

    def fingerprint(self, inputs: Inputs, folders: Folders) -> object:
        return digest(uploaded(folders, inputs.get(self.file_input)))


def choices(suffixes: tuple[str, ...], **more: object) -> Callable[[Folders], Spec]:
    return lambda folders: (folders.upload_names(suffixes), {**more})


class LoadImage(FileNode):
    display_name = "Load Image"
    category = "image"
    search_aliases: ClassVar[tuple[str, ...]] = (
        *("load image", "open image", "import image", "image input", "upload image", "read image", "image loader"),
    )
    extra_facts = {"essentials_category": "Basics"}
    required = {"image": choices(PICTURE_SUFFIXES, image_upload=True)}
    outputs = (Output("IMAGE"), Output("MASK"))
    judged = ("image",)

    def run(self, inputs: Inputs, context: Context) -> Made:
        path = uploaded_or_raise(context.folders, inputs["image"])
        return Made(*read_pictures(path, context.check))


class LoadImageMask(FileNode):
    display_name = "Load Image (as Mask)"
    category = "image"
    search_aliases = ("import mask", "alpha mask", "channel mask")
    extra_facts = {"essentials_category": "Image Tools"}
    required = {
        "image": choices(PICTURE_SUFFIXES, image_upload=True),
        "channel": (["alpha", "red", "green", "blue"],),
    }
    outputs = (Output("MASK"),)
    judged = ("image",)

    def run(self, inputs: Inputs, context: Context) -> Made:
        path = uploaded_or_raise(context.folders, inputs["image"])
        return Made(read_channel(path, inputs["channel"], context.check))


class LoadImageOutput(LoadImage):
    """Names come as `cat_00001_.png [output]`, from the list that the web interface fetches itself."""

    display_name = "Load Image (from Outputs)"
    description = (
        "Load an image from the output folder. When the refresh button is clicked, the node will update the image "
        "list and automatically select the first image, allowing for easy iteration."
    )
    search_aliases = ("output image", "previous generation")
    extra_facts = {"experimental": True, "essentials_category": "Basics"}
    required = {
        "image": (
            "COMBO",
            {
                "image_upload": True,
                "image_folder": "output",
                "remote": {
                    "route": "/internal/files/output",
                    "refresh_button": True,
                    "control_after_refresh": "first",
                },
            },
        )
    }
