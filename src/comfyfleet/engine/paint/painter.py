"""A picture from words and a seed, step by step; and a picture made over."""

import hashlib
from collections.abc import Iterator

import numpy as np

from comfyfleet.engine.paint.noise import Canvas, cloudy, look_up, smooth_step
from comfyfleet.engine.paint.palette import mix
from comfyfleet.engine.paint.scenes import choose
from comfyfleet.engine.paint.strokes import (
    FULL_COVER_STEPS,
    brush_width_px,
    make_brush,
    paint_pass,
    stroke_angles,
)
from comfyfleet.engine.pixels.convert import Floats, to_picture
from comfyfleet.engine.pixels.filters import blur_frame

CRISPNESS = 0.22
LIGHTNESS = np.array([0.3, 0.59, 0.11], dtype=np.float32)


def chance_of(prompt: str, seed: int, purpose: str) -> np.random.Generator:
    """The same words and seed draw the same numbers everywhere; spaces and capitals do not count."""
    words = " ".join(prompt.lower().split())
    return np.random.default_rng(
        int.from_bytes(hashlib.sha256(f"{purpose}\n{seed}\n{words}".encode()).digest()[:16], "big")
    )


def compose(prompt: str, seed: int, canvas: Canvas) -> Floats:
    """What is to be painted."""
    chance = chance_of(prompt, seed, "scene")
    scene, mood = choose(prompt, chance)
    return to_picture(scene(chance, canvas, mood))


def paint(target: Floats, chance: np.random.Generator, steps: int, start: Floats | None = None) -> Iterator[Floats]:
    """The painting after each step: one buffer, copied by whoever keeps it. The last one is finished.

    Without a start the canvas is primed in the picture's mean colour.
    """
    canvas = Canvas(*target.shape[:2])
    ground = target.mean(axis=(0, 1)) * np.float32(0.9)
    painting = np.broadcast_to(ground, target.shape).astype(np.float32) if start is None else start.copy()
    angles = stroke_angles(target, chance, canvas)
    cover = min(1.0, FULL_COVER_STEPS / steps)
    for step in range(steps):
        brush = make_brush(chance, brush_width_px(canvas, step, steps))
        paint_pass(painting, target, angles, chance, brush, cover)
        yield painting if step < steps - 1 else finish(painting, target, chance, canvas)


def make_over(picture: Floats, prompt: str, seed: int, strength: float) -> Floats:
    """A related picture: bent a little, and drawn towards the colours that the words ask for, light for light."""
    canvas = Canvas(*picture.shape[:2])
    chance = chance_of(prompt, seed, "variation")
    _, mood = choose(prompt, chance)
    rows, columns = np.mgrid[0 : canvas.height_px, 0 : canvas.width_px].astype(np.float32)
    reach = np.float32(0.09 * strength * canvas.height_px)
    bend_y, bend_x = (cloudy(chance, canvas, 2.0, octaves=3) for _ in range(2))
    bent = look_up(picture, rows + reach * bend_y, columns + reach * bend_x)
    ladder = np.stack([mood.near * 0.6, mood.near, mood.far, mood.sky, mood.horizon, mood.sun])
    rungs = ladder @ LIGHTNESS
    order = np.argsort(rungs)
    light = np.clip(bent @ LIGHTNESS, 0, 1)
    dyed = np.stack([np.interp(light, rungs[order], ladder[order, c]) for c in range(3)], axis=-1).astype(np.float32)
    return to_picture(mix(bent, dyed, min(1.0, 0.75 * strength)))


def finish(painting: Floats, target: Floats, chance: np.random.Generator, canvas: Canvas) -> Floats:
    """Some of the drawing shows through the paint, the corners darken, the canvas has a grain."""
    radius = max(1, canvas.height_px // 100)
    fine = np.abs(target - blur_frame(target, min(radius, min(target.shape[:2]) - 1), 0.5)).max(axis=-1)
    shows = CRISPNESS + (0.9 - CRISPNESS) * smooth_step(0.06, 0.22, fine)
    picture = mix(painting, target, shows)
    away = np.hypot((canvas.x / canvas.ratio - 0.5) * 1.1, canvas.y - 0.5)
    picture = picture * (1 - 0.38 * np.clip(away - 0.32, 0, 1) ** 1.4)[..., None]
    grain = 0.008 * cloudy(chance, canvas, canvas.height_px / 3, octaves=1)
    return to_picture(picture + grain[..., None])
