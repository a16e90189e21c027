"""The brush: from broad strokes to fine ones, each laid along the picture's own lines, only where it still helps."""

import math
from dataclasses import dataclass

import numpy as np

from comfyfleet.engine.paint.noise import Canvas, cloudy
from comfyfleet.engine.pixels.convert import Floats
from comfyfleet.engine.pixels.filters import blur_frame
from comfyfleet.engine.pixels.scale import scale_frame

ANGLES = 24
BRISTLES = 3
BROADEST, FINEST = 0.09, 0.008  # a brush's width, in heights of the picture
LONGER = 4.2  # a stroke's length, in widths
FULL_COVER_STEPS = 20
STROKES_A_PASS = 30_000
BROADEST_PX = 96  # the prints of one brush are held at once


@dataclass(frozen=True, slots=True)
class Brush:
    """Prints of one width, by angle and by bristles: how much of the paint each pixel takes."""

    prints: tuple[tuple[Floats, ...], ...]
    width_px: float


def brush_width_px(canvas: Canvas, step: int, steps: int) -> float:
    share = step / max(1, steps - 1) if steps > 1 else 1.0
    return min(BROADEST_PX, max(1.6, canvas.height_px * BROADEST * math.pow(FINEST / BROADEST, share)))


def make_brush(chance: np.random.Generator, width_px: float) -> Brush:
    length = width_px * LONGER
    reach = math.ceil(length / 2 + width_px / 2) + 1
    rows, columns = np.mgrid[-reach : reach + 1, -reach : reach + 1].astype(np.float32)
    hairs = [chance.uniform(0.35, 1.0, 9).astype(np.float32) for _ in range(BRISTLES)]
    prints = []
    for turn in range(ANGLES):
        angle = math.pi * turn / ANGLES
        along = (columns * math.cos(angle) + rows * math.sin(angle)) / (length / 2)
        across = (rows * math.cos(angle) - columns * math.sin(angle)) / (width_px / 2)
        body = np.clip((1 - np.abs(along)) * 3, 0, 1) * np.clip((1 - np.abs(across)) * 2.2, 0, 1)
        lane = np.clip((across + 1) * 4, 0, 8)
        prints.append(tuple(_bristled(body, along, lane, hair) for hair in hairs))
    return Brush(tuple(prints), width_px)


def _bristled(body: Floats, along: Floats, lane: Floats, hair: Floats) -> Floats:
    first = np.minimum(lane.astype(np.intp), 7)
    strength = hair[first] * (1 - (lane - first)) + hair[first + 1] * (lane - first)
    drying = 1 - 0.35 * np.clip(along, 0, 1)
    takes: Floats = (body * strength * drying * 0.92).astype(np.float32)
    return takes


def stroke_angles(target: Floats, chance: np.random.Generator, canvas: Canvas) -> Floats:
    """Along edges where there are any, else along a gentle flow."""
    small = scale_frame(target, max(8, canvas.width_px // 4), max(8, canvas.height_px // 4), "area")
    grey = small.mean(axis=-1)
    down, across = np.gradient(grey)
    radius = max(1, min(small.shape[:2]) // 24)
    tensor = blur_frame(np.stack([across * across, down * down, across * down], axis=-1), radius, 0.6)
    twice = np.arctan2(2 * tensor[..., 2], tensor[..., 0] - tensor[..., 1])
    strength = np.hypot(tensor[..., 0] - tensor[..., 1], 2 * tensor[..., 2])
    trust = strength / (strength + np.float32(2e-5))
    flow = 0.7 * cloudy(chance, Canvas(*small.shape[:2]), 1.5, octaves=2)
    # Angles of lines are averaged as doubled angles: a line turned half round is the same line.
    east = trust * np.cos(twice + math.pi) + (1 - trust) * np.cos(2 * flow)
    north = trust * np.sin(twice + math.pi) + (1 - trust) * np.sin(2 * flow)
    field = scale_frame(np.stack([east, north], axis=-1), canvas.width_px, canvas.height_px, "bilinear")
    angles: Floats = (np.arctan2(field[..., 1], field[..., 0]) / 2).astype(np.float32)
    return angles


def paint_pass(
    painting: Floats, target: Floats, angles: Floats, chance: np.random.Generator, brush: Brush, cover: float
) -> None:
    """One pass of one brush over the painting, in place."""
    height, width = target.shape[:2]
    number = int(cover * 1.9 * height * width / (brush.width_px**2 * LONGER)) + 1
    number = min(number, STROKES_A_PASS)
    rows = (chance.random(number) * height).astype(np.intp)
    columns = (chance.random(number) * width).astype(np.intp)
    # A broad brush takes the colour of what it covers, not of one pixel in it.
    grain = max(1, int(brush.width_px / 2))
    seen = scale_frame(target, -(-width // grain), -(-height // grain), "area")[rows // grain, columns // grain]
    wrong = np.abs(painting[rows, columns] - seen).sum(axis=-1)
    helps = wrong > 0.05
    jitter = chance.normal(0, 0.02, (number, 3)).astype(np.float32) + chance.normal(0, 0.018, (number, 1))
    colors = np.clip(seen + jitter, 0, 1).astype(np.float32)
    turns = (np.rint((angles[rows, columns] + chance.normal(0, 0.16, number)) / math.pi * ANGLES)).astype(int) % ANGLES
    hairs = chance.integers(BRISTLES, size=number)
    for at in np.flatnonzero(helps):
        _lay(painting, brush.prints[turns[at]][hairs[at]], int(rows[at]), int(columns[at]), colors[at])


def _lay(painting: Floats, print_: Floats, row: int, column: int, color: Floats) -> None:
    reach = print_.shape[0] // 2
    top, left = row - reach, column - reach
    bottom, right = min(painting.shape[0], row + reach + 1), min(painting.shape[1], column + reach + 1)
    start_row, start_column = max(0, -top), max(0, -left)
    part = painting[max(0, top) : bottom, max(0, left) : right]
    share = print_[start_row : start_row + part.shape[0], start_column : start_column + part.shape[1], None]
    part += share * (color - part)
