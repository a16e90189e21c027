"""Which media are taken, how much of them, and what is known of one that was looked at."""

from dataclasses import dataclass
from typing import Literal

MIB = 1024**2

Kind = Literal["image", "video"]
# One family, one reader: what a phone calls video/quicktime may well say that it is an mp4, and is the same thing.
Family = Literal["png", "jpeg", "webp", "gif", "iso", "matroska"]

FAMILIES: dict[str, Family] = {
    "image/png": "png",
    "image/jpeg": "jpeg",
    "image/webp": "webp",
    "image/gif": "gif",
    "video/mp4": "iso",
    "video/quicktime": "iso",
    "video/webm": "matroska",
    "video/x-matroska": "matroska",
}
MEDIA_TYPES = tuple(FAMILIES)
SIDE_MAX = 65_535
POSTER_TYPE = "image/webp"


class Unfit(Exception):
    """What is wrong with a file, in words for its owner. Raised in the looking process only."""


def kind_of(media_type: str) -> Kind:
    return "video" if media_type.startswith("video/") else "image"


@dataclass(frozen=True, slots=True)
class MediaRules:
    """`pixels_max` is per picture or frame. Time and memory are those of the process that looks.

    `poster_side`: the longer one of the small copy that it makes. `requires_sandbox`: without a seccomp filter
    nothing is looked at.
    """

    pixels_max: int = 64_000_000
    duration_s_max: float = 600.0
    image_bytes_max: int = 64 * MIB
    probe_s: float = 20.0
    probe_memory_bytes: int = 1024 * MIB
    probes_max: int = 2
    poster_side: int = 640
    requires_sandbox: bool = False


@dataclass(frozen=True, slots=True)
class Looked:
    """Width and height as shown: a turned phone's film is upright. A picture has no duration."""

    width: int
    height: int
    duration_s: float | None
    poster: bytes


@dataclass(frozen=True, slots=True)
class Scored:
    """`hash_high`, `hash_low`: 64 bits, of which pictures that look alike share nearly all."""

    sharpness: float
    exposure: float
    hash_high: int
    hash_low: int
