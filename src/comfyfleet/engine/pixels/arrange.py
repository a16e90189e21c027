"""Cut, pad, turn, repeat, join: nothing here changes a colour."""

from dataclasses import dataclass

import numpy as np

from comfyfleet.engine.pixels.bounds import refuse_absurd
from comfyfleet.engine.pixels.convert import Floats


@dataclass(frozen=True, slots=True)
class Margins:
    left: int
    top: int
    right: int
    bottom: int


def crop_batch(images: Floats, x: int, y: int, width_px: int, height_px: int) -> Floats:
    """What lies inside both the picture and the rectangle; a corner outside is moved to the last pixel."""
    x, y = min(x, images.shape[2] - 1), min(y, images.shape[1] - 1)
    return images[:, y : y + height_px, x : x + width_px]


def pad_for_outpaint(images: Floats, margins: Margins, feathering_px: int) -> tuple[Floats, Floats]:
    """A grey border to paint into, and the mask that says where: 1 outside, fading quadratically into the picture."""
    batch, height, width, channels = images.shape
    tall, wide = height + margins.top + margins.bottom, width + margins.left + margins.right
    refuse_absurd(batch, tall, wide, channels)
    inside = (slice(margins.top, margins.top + height), slice(margins.left, margins.left + width))
    padded = np.full((batch, tall, wide, channels), 0.5, dtype=np.float32)
    padded[:, inside[0], inside[1]] = images
    mask = np.ones((1, tall, wide), dtype=np.float32)
    mask[0, inside[0], inside[1]] = _feather(height, width, margins, feathering_px)
    return padded, mask


def _feather(height: int, width: int, margins: Margins, feathering_px: int) -> Floats:
    if feathering_px <= 0 or feathering_px * 2 >= min(height, width):
        return np.zeros((height, width), dtype=np.float32)
    rows, columns = np.arange(height)[:, None], np.arange(width)[None, :]
    far = max(height, width)
    edges = [
        rows if margins.top else np.full_like(rows, far),
        height - rows if margins.bottom else np.full_like(rows, far),
        columns if margins.left else np.full_like(columns, far),
        width - columns if margins.right else np.full_like(columns, far),
    ]
    near = np.minimum(np.minimum(edges[0], edges[1]), np.minimum(edges[2], edges[3]))
    fade: Floats = np.clip((feathering_px - near) / feathering_px, 0, 1).astype(np.float32) ** 2
    return fade


def rotate_batch(images: Floats, quarters: int) -> Floats:
    """Clockwise quarter turns."""
    return np.ascontiguousarray(np.rot90(images, k=quarters, axes=(2, 1)))


def pick_frames(images: Floats, first: int, length: int) -> Floats:
    """`length` frames from `first` on, as many as there are; a negative index counts from the end."""
    count = images.shape[0]
    first = max(0, min(count - 1, first + count if first < 0 else first))
    return images[first : first + length].copy()


def repeat_batch(images: Floats, amount: int) -> Floats:
    refuse_absurd(images.shape[0] * amount, *images.shape[1:])
    return np.tile(images, (amount, 1, 1, 1))


def fit_batch(images: Floats, count: int) -> Floats:
    """As many frames as asked for: repeated in turn, or cut."""
    if images.shape[0] >= count:
        return images[:count]
    times = -(-count // images.shape[0])
    return np.concatenate([images] * times)[:count]
