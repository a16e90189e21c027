"""Smooth chance. Lattices count in cells a picture's height, so that a size changes the sharpness, not the scene."""

from dataclasses import dataclass

import numpy as np

from comfyfleet.engine.pixels.convert import Floats


@dataclass(frozen=True, slots=True)
class Canvas:
    """The size of a picture, and where each pixel lies: y from 0 at the top to 1, x likewise times the ratio."""

    height_px: int
    width_px: int

    @property
    def ratio(self) -> float:
        return self.width_px / self.height_px

    @property
    def y(self) -> Floats:
        """A column [height, 1]."""
        return _middles(self.height_px, self.height_px)[:, None]

    @property
    def x(self) -> Floats:
        """A row [1, width]."""
        return _middles(self.width_px, self.height_px)[None, :]


def _middles(pixels: int, height_px: int) -> Floats:
    middles: Floats = ((np.arange(pixels) + 0.5) / height_px).astype(np.float32)
    return middles


def noise(chance: np.random.Generator, canvas: Canvas, cells: float, stretch: float = 1.0) -> Floats:
    """One octave, about -1..1; a stretch above 1 draws it out sideways."""
    down = _spline(canvas.height_px, canvas.height_px / cells)
    across = _spline(canvas.width_px, canvas.height_px / cells * stretch)
    lattice = chance.standard_normal((down.shape[1], across.shape[1]), dtype=np.float32)
    smooth: Floats = (1.6 * (down @ lattice @ across.T)).astype(np.float32)
    return smooth


def cloudy(
    chance: np.random.Generator, canvas: Canvas, cells: float, octaves: int = 5, stretch: float = 1.0, gain: float = 0.5
) -> Floats:
    """Octaves of noise, each finer and weaker: about -1..1."""
    total = np.zeros((canvas.height_px, canvas.width_px), dtype=np.float32)
    weight = 1.0
    for octave in range(octaves):
        total += np.float32(weight) * noise(chance, canvas, cells * 2**octave, stretch)
        weight *= gain
    return total * np.float32(1 - gain) / np.float32(1 - gain**octaves) * np.float32(1.4)


def skyline(chance: np.random.Generator, canvas: Canvas, cells: float, octaves: int = 6, gain: float = 0.5) -> Floats:
    """Noise along x alone, [1, width]."""
    total = np.zeros((1, canvas.width_px), dtype=np.float32)
    weight = 1.0
    for octave in range(octaves):
        across = _spline(canvas.width_px, canvas.height_px / (cells * 2**octave))
        total += np.float32(weight) * (chance.standard_normal((1, across.shape[1]), dtype=np.float32) @ across.T)
        weight *= gain
    return total


def look_up(field: Floats, y_px: Floats, x_px: Floats) -> Floats:
    """A field at places between its pixels; beyond the border it is mirrored."""
    height, width = field.shape[:2]
    y_px, x_px = _folded(y_px, height), _folded(x_px, width)
    top, left = y_px.astype(np.intp), x_px.astype(np.intp)
    down, right = y_px - top, x_px - left
    if field.ndim == 3:
        down, right = down[..., None], right[..., None]
    bottom, beside = np.minimum(top + 1, height - 1), np.minimum(left + 1, width - 1)
    upper = field[top, left] * (1 - right) + field[top, beside] * right
    lower = field[bottom, left] * (1 - right) + field[bottom, beside] * right
    found: Floats = (upper * (1 - down) + lower * down).astype(np.float32)
    return found


def _folded(place: Floats, size_px: int) -> Floats:
    last = np.float32(max(size_px - 1.001, 0.5))
    return np.clip(last - np.abs(last - np.mod(np.abs(place), 2 * last)), 0, max(size_px - 1.001, 0))


def smooth_step(low: float, high: float, value: Floats) -> Floats:
    share: Floats = np.clip((value - np.float32(low)) / np.float32(high - low), 0, 1)
    return share * share * (3 - 2 * share)


def _spline(size_px: int, cell_px: float) -> Floats:
    """Weights [pixels, lattice points] of a cubic B-spline: no kinks, so no lattice to be seen."""
    place = (np.arange(size_px, dtype=np.float64) + 0.5) / max(cell_px, 1e-6)
    first = np.floor(place).astype(np.intp)
    t = place - first
    weights = np.zeros((size_px, int(first[-1]) + 4), dtype=np.float32)
    rows = np.arange(size_px)
    parts = ((1 - t) ** 3, 3 * t**3 - 6 * t**2 + 4, -3 * t**3 + 3 * t**2 + 3 * t + 1, t**3)
    for shift, part in enumerate(parts):
        weights[rows, first + shift] = part / 6
    return weights
