"""How good a picture is, as far as arithmetic can say, and what it resembles. Runs in the looking process only.

All is measured on a copy of one size: a large picture is not sharper than the same one small.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageOps

from comfyfleet.media.model import Family, MediaRules, Scored
from comfyfleet.media.pictures import FORMATS, require_pixels

SIDE = 512
HASH_SIDE = 32
HASH_LOW = 8
# As near as black or white gets before nothing can be seen in it.
DARK, BRIGHT = 0.02, 0.98

Grey = npt.NDArray[np.float64]


def score_picture(file: Any, family: Family, rules: MediaRules) -> Scored:
    with Image.open(file, formats=FORMATS[family]) as picture:
        require_pixels(picture.width, picture.height, rules)
        picture.thumbnail((2 * SIDE, 2 * SIDE))
        upright = ImageOps.exif_transpose(picture)
        # What is clear is seen on white, as everywhere.
        on_white = Image.alpha_composite(Image.new("RGBA", upright.size, "white"), upright.convert("RGBA"))
    grey = on_white.convert("L")
    small = ImageOps.contain(grey, (SIDE, SIDE), Image.Resampling.LANCZOS)
    high, low = perceptual_hash(grey)
    return Scored(sharpness(_values(small)), exposure(_values(small)), high, low)


def _values(grey: Image.Image) -> Grey:
    return np.asarray(grey, dtype=np.float64) / 255.0


def sharpness(grey: Grey) -> float:
    """From 0: the variance of the Laplacian, in the units of eight bits. Noise counts as detail."""
    if min(grey.shape) < 3:
        return 0.0
    around = grey[:-2, 1:-1] + grey[2:, 1:-1] + grey[1:-1, :-2] + grey[1:-1, 2:]
    return round(float((around - 4 * grey[1:-1, 1:-1]).var()) * 255.0**2, 2)


def exposure(grey: Grey) -> float:
    """From 0, all black or all white, to 1: light about the middle, and nothing lost at the ends."""
    middle = 1.0 - 2.0 * abs(float(grey.mean()) - 0.5)
    lost = float(((grey < DARK) | (grey > BRIGHT)).mean())
    return round(max(middle, 0.0) * (1.0 - lost), 4)


def perceptual_hash(grey: Image.Image) -> tuple[int, int]:
    """64 bits, of which near pictures share nearly all: is each of the lowest frequencies above their median?

    In two halves, which a JSON number of any reader can hold.
    """
    tiny = _values(grey.resize((HASH_SIDE, HASH_SIDE), Image.Resampling.LANCZOS))
    waves = _cosines(HASH_SIDE)
    low = (waves @ tiny @ waves.T)[:HASH_LOW, :HASH_LOW].ravel()
    # The first is the mean of all: how light it is says nothing of what it shows.
    # Sorted by hand: numpy's own median would load code, which this process cannot any more.
    bits = low > np.sort(low[1:])[len(low) // 2 - 1]
    number = int("".join("1" if bit else "0" for bit in bits), 2)
    return number >> 32, number & 0xFFFF_FFFF


def _cosines(side: int) -> Grey:
    places, waves = np.arange(side), np.arange(side)[:, None]
    return np.asarray(np.cos(np.pi * waves * (2 * places + 1) / (2 * side)), dtype=np.float64)
