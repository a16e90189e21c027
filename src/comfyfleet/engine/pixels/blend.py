"""Two pictures in one: blend modes, and pasting through a mask."""

from collections.abc import Callable, Mapping

import numpy as np

from comfyfleet.engine.pixels.convert import Floats


def _normal(below: Floats, above: Floats) -> Floats:
    return above


def _multiply(below: Floats, above: Floats) -> Floats:
    return below * above


def _screen(below: Floats, above: Floats) -> Floats:
    return 1 - (1 - below) * (1 - above)


def _overlay(below: Floats, above: Floats) -> Floats:
    return np.where(below <= 0.5, 2 * below * above, 1 - 2 * (1 - below) * (1 - above))


def _soft_light(below: Floats, above: Floats) -> Floats:
    lifted = np.where(below <= 0.25, ((16 * below - 12) * below + 4) * below, np.sqrt(np.maximum(below, 0)))
    darker = below - (1 - 2 * above) * below * (1 - below)
    return np.where(above <= 0.5, darker, below + (2 * above - 1) * (lifted - below))


def _difference(below: Floats, above: Floats) -> Floats:
    return below - above


BLEND_MODES: Mapping[str, Callable[[Floats, Floats], Floats]] = {
    "normal": _normal,
    "multiply": _multiply,
    "screen": _screen,
    "overlay": _overlay,
    "soft_light": _soft_light,
    "difference": _difference,
}


def blend_frames(below: Floats, above: Floats, factor: float, mode: str) -> Floats:
    """`factor` of the blend, the rest of the lower frame; both have one shape, and the lower one's alpha stays."""
    share = np.float32(factor)
    mixed: Floats = np.clip(below * (1 - share) + BLEND_MODES[mode](below, above) * share, 0, 1).astype(np.float32)
    if below.shape[-1] == 4:
        mixed[..., 3] = below[..., 3]
    return mixed


def paste_frame(onto: Floats, frame: Floats, x: int, y: int, mask: Floats | None = None) -> Floats:
    """A frame laid over another with its corner at (x, y), as far as it shows, through a mask of its own size."""
    pasted = onto.copy()
    height, width = onto.shape[:2]
    top, left = max(0, y), max(0, x)
    bottom, right = min(height, y + frame.shape[0]), min(width, x + frame.shape[1])
    if bottom <= top or right <= left:
        return pasted
    inside = (slice(top - y, bottom - y), slice(left - x, right - x))
    share = 1.0 if mask is None else mask[inside][..., None]
    pasted[top:bottom, left:right] = share * frame[inside] + (1 - share) * pasted[top:bottom, left:right]
    return pasted
