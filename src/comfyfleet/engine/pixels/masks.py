"""Masks: float32 [batch, height, width]."""

import numpy as np

from comfyfleet.engine.pixels.convert import Floats


def grow_once(mask: Floats, *, shrink: bool, tapered_corners: bool) -> Floats:
    """One pixel of dilation (or erosion) over a frame [height, width]: a cross if corners taper, else a square."""
    reach = np.minimum if shrink else np.maximum
    padded = np.pad(mask, 1, mode="edge")
    if tapered_corners:
        across = reach(padded[1:-1, :-2], padded[1:-1, 2:])
        along = reach(padded[:-2, 1:-1], padded[2:, 1:-1])
        grown: Floats = reach(mask, reach(across, along))
        return grown
    rows = reach(reach(padded[:-2], padded[1:-1]), padded[2:])
    square: Floats = reach(reach(rows[:, :-2], rows[:, 1:-1]), rows[:, 2:])
    return square


def feather_masks(masks: Floats, left: int, top: int, right: int, bottom: int) -> Floats:
    """Each side fades in linearly over so many pixels; where two sides meet, both count."""
    height, width = masks.shape[-2:]
    columns = _ramp(width, left) * _ramp(width, right)[::-1]
    rows = _ramp(height, top) * _ramp(height, bottom)[::-1]
    faded: Floats = masks * rows[:, None] * columns[None, :]
    return faded


def _ramp(size: int, reach: int) -> Floats:
    ramp = np.ones(size, dtype=np.float32)
    reach = min(reach, size)
    ramp[:reach] = np.arange(1, reach + 1, dtype=np.float32) / np.float32(max(reach, 1))
    return ramp


def combine_masks(below: Floats, above: Floats, operation: str) -> Floats:
    """Two masks of one shape under an operation's name."""
    match operation:
        case "multiply":
            return below * above
        case "add":
            return below + above
        case "subtract":
            return below - above
    ones, others = np.round(below).astype(bool), np.round(above).astype(bool)
    result: Floats = {"and": ones & others, "or": ones | others, "xor": ones ^ others}[operation].astype(np.float32)
    return result
