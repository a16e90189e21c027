"""Between Pillow's bytes and the engine's floats: pictures are float32 0..1, [batch, height, width, channels]."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from PIL import Image

Floats: TypeAlias = npt.NDArray[np.float32]
Bytes: TypeAlias = npt.NDArray[np.uint8]


def to_bytes(frame: Floats) -> Bytes:
    """Cut off, not rounded: 0.999 is 254, as in ComfyUI, so that equal graphs give equal files."""
    bytes_: Bytes = np.clip(frame * np.float32(255.0), 0, 255).astype(np.uint8)
    return bytes_


def to_picture(values: npt.NDArray[Any]) -> Floats:
    """Cut to 0..1, whatever the arithmetic made of it."""
    cut: Floats = np.clip(values, 0, 1).astype(np.float32)
    return cut


def to_floats(frame: npt.NDArray[Any]) -> Floats:
    floats: Floats = frame.astype(np.float32)
    floats /= 255  # in place: a long film is held twice in memory otherwise
    return floats


def to_pillow(frame: Floats) -> Image.Image:
    """One frame [height, width, channels] as a Pillow picture; one channel becomes grey."""
    pixels = to_bytes(frame)
    return Image.fromarray(pixels[..., 0] if pixels.shape[-1] == 1 else pixels)


def fit_channels(picture: Floats, channels: int) -> Floats:
    """A picture joining another takes its channels: alpha is dropped, or added as opaque."""
    have = picture.shape[-1]
    if have >= channels:
        return picture[..., :channels]
    opaque = np.ones((*picture.shape[:-1], channels - have), dtype=np.float32)
    return np.concatenate([picture, opaque], axis=-1)
