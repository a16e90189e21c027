"""One picture: its size, and a small copy of it. Runs in the looking process only; Pillow is an extra."""

from io import BytesIO
from typing import Any

# Loaded now: once the process has given up its rights it can open no file, not even of its own code.
from PIL import (  # noqa: F401
    GifImagePlugin,
    Image,
    ImageOps,
    JpegImagePlugin,
    MpoImagePlugin,
    PngImagePlugin,
    TiffImagePlugin,
    WebPImagePlugin,
)

from comfyfleet.media.model import SIDE_MAX, Family, Looked, MediaRules, Unfit

FORMATS: dict[Family, list[str]] = {"png": ["PNG"], "jpeg": ["JPEG", "MPO"], "webp": ["WEBP"], "gif": ["GIF"]}
POSTER_QUALITY = 80

Image.preinit()


def keep_own_limit() -> None:
    """For the looking process: our own limit comes first; Pillow's would warn below it and be silent above."""
    Image.MAX_IMAGE_PIXELS = None


def look_at_picture(file: Any, family: Family, rules: MediaRules) -> Looked:
    """The first picture of several counts. All of it is decoded: one that was cut off must not pass."""
    with Image.open(file, formats=FORMATS[family]) as picture:
        require_pixels(picture.width, picture.height, rules)
        turned = picture.getexif().get(0x0112, 1) in (5, 6, 7, 8)
        width, height = (picture.height, picture.width) if turned else picture.size
        picture.thumbnail((rules.poster_side, rules.poster_side))
        return Looked(width, height, None, write_poster(ImageOps.exif_transpose(picture)))


def require_pixels(width: int, height: int, rules: MediaRules) -> None:
    if width < 1 or height < 1 or max(width, height) > SIDE_MAX or width * height > rules.pixels_max:
        raise Unfit(f"is {width} × {height}, and {rules.pixels_max} pixels are the most")


def write_poster(picture: Image.Image) -> bytes:
    clear = picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info
    to = BytesIO()
    picture.convert("RGBA" if clear else "RGB").save(to, "WEBP", quality=POSTER_QUALITY)
    return to.getvalue()
