"""Resampling as ComfyUI's `common_upscale` does it: half-pixel centres, no antialiasing except in lanczos and area."""

import numpy as np
import numpy.typing as npt
from PIL import Image

from comfyfleet.engine.pixels.bounds import refuse_absurd
from comfyfleet.engine.pixels.convert import Floats, to_bytes, to_floats

METHODS = ("nearest-exact", "bilinear", "area", "bicubic", "lanczos")
CROPS = ("disabled", "center")

CUBIC_A = -0.75  # torch's constant; Pillow's is -0.5


def scale_frame(frame: Floats, width_px: int, height_px: int, method: str, crop: str = "disabled") -> Floats:
    """One frame [height, width, channels] in a new size."""
    refuse_absurd(1, height_px, width_px, frame.shape[-1])
    if crop == "center":
        frame = cut_to_ratio(frame, width_px / height_px)
    if method == "lanczos":
        return _lanczos(frame, width_px, height_px)
    # The axis that shrinks goes first, so that the picture in between stays small.
    axes = [(0, height_px), (1, width_px)]
    axes.sort(key=lambda axis: axis[1] / frame.shape[axis[0]])
    for axis, size in axes:
        frame = _along(frame, axis, size, method)
    return np.ascontiguousarray(frame, dtype=np.float32)


def keep_ratio(width_px: int, height_px: int, wanted_width_px: int, wanted_height_px: int) -> tuple[int, int]:
    """The side given as 0 follows the other; both 0 keep the size."""
    if wanted_width_px == 0 and wanted_height_px == 0:
        return width_px, height_px
    if wanted_width_px == 0:
        return max(1, round(width_px * wanted_height_px / height_px)), wanted_height_px
    if wanted_height_px == 0:
        return wanted_width_px, max(1, round(height_px * wanted_width_px / width_px))
    return wanted_width_px, wanted_height_px


def cut_to_ratio(frame: Floats, ratio: float) -> Floats:
    """The middle of a frame with the given width : height, as large as it goes."""
    height, width = frame.shape[:2]
    left = top = 0
    if width / height > ratio:
        left = round((width - height * ratio) / 2)
    elif width / height < ratio:
        top = round((height - width / ratio) / 2)
    left, top = min(left, (width - 1) // 2), min(top, (height - 1) // 2)
    return frame[top : height - top, left : width - left]


def _along(frame: Floats, axis: int, size: int, method: str) -> Floats:
    have = frame.shape[axis]
    if have == size:
        return frame
    match method:
        case "nearest-exact":
            index = np.floor((np.arange(size) + 0.5) * (have / size)).astype(np.intp)
            picked: Floats = np.take(frame, np.minimum(index, have - 1), axis=axis)
            return picked
        case "bilinear":
            return _tapped(frame, axis, *_linear_taps(have, size))
        case "bicubic":
            return _tapped(frame, axis, *_cubic_taps(have, size))
        case "area":
            return _averaged(frame, axis, size)
    raise ValueError(f"Unknown way to scale: {method!r}; known are {', '.join(METHODS)}.")


def _linear_taps(have: int, size: int) -> tuple[npt.NDArray[np.intp], Floats]:
    place = np.maximum((np.arange(size) + 0.5) * (have / size) - 0.5, 0.0)
    first = np.minimum(np.floor(place).astype(np.intp), have - 1)
    share = (place - first).astype(np.float32)
    index = np.stack([first, np.minimum(first + 1, have - 1)])
    return index, np.stack([1 - share, share])


def _cubic_taps(have: int, size: int) -> tuple[npt.NDArray[np.intp], Floats]:
    place = (np.arange(size) + 0.5) * (have / size) - 0.5
    first = np.floor(place).astype(np.intp)
    share = place - first
    index = np.clip(np.stack([first - 1, first, first + 1, first + 2]), 0, have - 1)
    weights = [_cubic(share + 1), _cubic(share), _cubic(1 - share), _cubic(2 - share)]
    return index, np.stack(weights).astype(np.float32)


def _cubic(distance: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    d, a = np.abs(distance), CUBIC_A
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return np.where(d <= 1, near, far)


def _tapped(frame: Floats, axis: int, index: npt.NDArray[np.intp], weights: Floats) -> Floats:
    shape = [1, 1, 1]
    shape[axis] = -1
    total: Floats = np.take(frame, index[0], axis=axis) * weights[0].reshape(shape)
    for tap, weight in zip(index[1:], weights[1:], strict=True):
        total += np.take(frame, tap, axis=axis) * weight.reshape(shape)
    return total


def _averaged(frame: Floats, axis: int, size: int) -> Floats:
    have = frame.shape[axis]
    start = np.arange(size) * have // size
    end = -(-(np.arange(1, size + 1) * have) // size)
    count = (end - start)[:, None] if axis == 0 else (end - start)[None, :]
    channels = []
    for channel in range(frame.shape[-1]):  # one at a time: the sums take twice the room of what they add up
        sums = np.cumsum(frame[..., channel], axis=axis, dtype=np.float64)
        sums = np.concatenate([np.zeros_like(np.take(sums, [0], axis=axis)), sums], axis=axis)
        total = np.take(sums, end, axis=axis) - np.take(sums, start, axis=axis)
        channels.append((total / count).astype(np.float32))
    return np.stack(channels, axis=-1)


def _lanczos(frame: Floats, width_px: int, height_px: int) -> Floats:
    """By Pillow, a channel at a time: alpha is not multiplied in, as ComfyUI does not do it either."""
    pixels = to_bytes(frame)
    channels = [
        np.asarray(Image.fromarray(pixels[..., c]).resize((width_px, height_px), Image.Resampling.LANCZOS))
        for c in range(pixels.shape[-1])
    ]
    return to_floats(np.stack(channels, axis=-1))
