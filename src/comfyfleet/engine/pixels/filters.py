"""Blur, sharpen, quantize."""

import numpy as np
import numpy.typing as npt
from PIL import Image

from comfyfleet.engine.pixels.convert import Floats, to_bytes, to_floats

DITHERS = ("none", "floyd-steinberg", "bayer-2", "bayer-4", "bayer-8", "bayer-16")


def blur_frame(frame: Floats, radius_px: int, sigma: float) -> Floats:
    """A Gaussian whose sigma counts in radii, with mirrored borders. Two passes give what one square kernel would."""
    if radius_px == 0:
        return frame
    height, width = frame.shape[:2]
    if radius_px >= min(height, width):
        raise RuntimeError(
            f"Padding size should be less than the corresponding input dimension, but got: "
            f"a radius of {radius_px} for a picture of {width}×{height} pixels"
        )
    place = np.linspace(-1, 1, radius_px * 2 + 1)
    weights = np.exp(-(place**2) / (2 * sigma * sigma))
    weights = (weights / weights.sum()).astype(np.float32)
    margin = radius_px
    padded = np.pad(frame, ((margin, margin), (margin, margin), (0, 0)), mode="reflect")
    rows = np.zeros((height, *padded.shape[1:]), dtype=np.float32)
    blurred = np.zeros_like(frame)
    for shift, weight in enumerate(weights):
        rows += weight * padded[shift : shift + height]
    for shift, weight in enumerate(weights):
        blurred += weight * rows[:, shift : shift + width]
    return blurred


def sharpen_frame(frame: Floats, radius_px: int, sigma: float, alpha: float) -> Floats:
    """Ten alphas of what a blur takes away are put back."""
    strength = np.float32(alpha * 10)
    sharper: Floats = np.clip(frame + strength * (frame - blur_frame(frame, radius_px, sigma)), 0, 1)
    return sharper


def quantize_frame(frame: Floats, colors: int, dither: str) -> Floats:
    """At most `colors` colours, alpha untouched."""
    picture = Image.fromarray(to_bytes(frame[..., :3]))
    palette = picture.quantize(colors=colors)
    if dither.startswith("bayer-"):
        picture = _with_bayer(picture, palette, int(dither.removeprefix("bayer-")))
    way = Image.Dither.FLOYDSTEINBERG if dither == "floyd-steinberg" else Image.Dither.NONE
    reduced = to_floats(np.asarray(picture.quantize(palette=palette, dither=way).convert("RGB")))
    return np.concatenate([reduced, frame[..., 3:]], axis=-1)


def bayer_matrix(order: int) -> Floats:
    """Thresholds around zero for ordered dithering; the side is a power of two."""
    matrix: npt.NDArray[np.float64] = np.zeros((1, 1))
    weight = 1.0
    while matrix.shape[0] < order:
        weight *= 4
        grown = weight * matrix
        matrix = np.block([[grown - 1.5, grown + 0.5], [grown + 1.5, grown - 0.5]]) / weight
    return matrix.astype(np.float32)


def _with_bayer(picture: Image.Image, palette: Image.Image, order: int) -> Image.Image:
    pixels = np.asarray(picture).astype(np.float32)
    spread = 2 * 256 / (len(palette.getpalette() or [0] * 3) // 3)
    matrix = spread * bayer_matrix(order) + 0.5
    height, width = pixels.shape[:2]
    tiles = np.tile(matrix, (-(-height // order), -(-width // order)))[:height, :width, None]
    return Image.fromarray(np.clip(pixels + tiles, 0, 255).astype(np.uint8))
