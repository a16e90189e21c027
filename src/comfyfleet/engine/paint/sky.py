"""Skies: with a sun, with an aurora, with nothing below them."""

from dataclasses import dataclass

import numpy as np

from comfyfleet.engine.paint.noise import Canvas, cloudy, look_up, skyline, smooth_step
from comfyfleet.engine.paint.palette import Mood, mix
from comfyfleet.engine.pixels.convert import Floats, to_picture


@dataclass(frozen=True, slots=True)
class Light:
    """Where the sun (or the moon) stands, in the canvas's measure, and the line that the sky ends at."""

    x: float
    y: float
    horizon: float
    strength: float = 1.0

    @classmethod
    def of(
        cls,
        chance: np.random.Generator,
        canvas: Canvas,
        *,
        horizon: float,
        low: bool = False,
        strength: float = 1.0,
    ) -> "Light":
        thirds = (1 / 3, 2 / 3) if chance.random() < 0.75 else (0.5, 0.5)
        x = canvas.ratio * (thirds[int(chance.integers(2))] + chance.uniform(-0.06, 0.06))
        y = horizon - (chance.uniform(0.04, 0.12) if low else chance.uniform(0.14, 0.3))
        return cls(float(x), float(y), horizon, strength)

    def distance(self, canvas: Canvas) -> Floats:
        away: Floats = np.hypot(canvas.x - np.float32(self.x), canvas.y - np.float32(self.y))
        return away


def open_sky(chance: np.random.Generator, canvas: Canvas, mood: Mood, light: Light) -> Floats:
    """A gradient, stars where it is dark, a sun with its glow, clouds lit from the sun's side."""
    height = np.clip(canvas.y / np.float32(light.horizon), 0, 1) + np.zeros_like(canvas.x)
    sky = mix(mood.zenith, mood.sky, smooth_step(0.0, 0.68, height))
    sky = mix(sky, mood.horizon, smooth_step(0.42, 1.0, height))
    darkness = float(1 - mood.zenith.mean() * 4)
    if darkness > 0.2:
        sky = sky + stars(chance, canvas, amount=0.9)[..., None] * (1 - height[..., None]) * darkness
    away = light.distance(canvas)
    glow = np.exp(-((away / 0.34) ** 2)) * 0.55 + np.exp(-away / 0.09) * 0.55
    sky = mix(sky, mood.sun, np.clip(glow * light.strength, 0, 0.92))
    sky = _clouds(sky, chance, canvas, mood, light)
    radius = float(chance.uniform(0.028, 0.06))
    disc = smooth_step(radius + 0.004, radius - 0.002, away) if radius else away
    return to_picture(mix(sky, np.clip(mood.sun * 1.06, 0, 1), disc * light.strength))


def _clouds(sky: Floats, chance: np.random.Generator, canvas: Canvas, mood: Mood, light: Light) -> Floats:
    field = cloudy(chance, canvas, 2.6, octaves=6, stretch=2.8)
    cover = float(chance.uniform(-0.15, 0.25))
    density = smooth_step(cover, cover + 0.75, field) * smooth_step(1.0, 0.55, canvas.y / np.float32(light.horizon))
    toward = np.float32(0.03 * canvas.height_px)
    rows, columns = np.mgrid[0 : canvas.height_px, 0 : canvas.width_px].astype(np.float32)
    away = np.maximum(light.distance(canvas), 0.02)
    shifted = look_up(
        field,
        rows + toward * (np.float32(light.y) - canvas.y) / away,
        columns + toward * (np.float32(light.x) - canvas.x) / away,
    )
    lit = np.clip(0.5 + (field - shifted) * 1.5, 0, 1)
    cloud = mix(mix(mood.sky, mood.far, 0.45), mix(mood.horizon, mood.sun, 0.5), lit)
    return mix(sky, cloud, density * 0.82)


def stars(chance: np.random.Generator, canvas: Canvas, amount: float) -> Floats:
    """Points of light of unequal brightness, a few of them large; counted by area, so that sizes agree."""
    field = np.zeros((canvas.height_px, canvas.width_px), dtype=np.float32)
    number = int(620 * amount * canvas.ratio)
    places = chance.random((number, 2))
    brightness = chance.random(number) ** 9
    size = canvas.height_px / 512
    for (y, x), bright in zip(places, brightness, strict=True):
        radius = (0.42 + 1.1 * bright) * size
        _dot(field, y * canvas.height_px, x * canvas.width_px, radius, 0.35 + 0.75 * bright)
    return np.minimum(field, 1.2)


def _dot(field: Floats, y_px: float, x_px: float, radius_px: float, bright: float) -> None:
    reach = int(radius_px * 3) + 1
    top, left = max(0, int(y_px) - reach), max(0, int(x_px) - reach)
    part = field[top : int(y_px) + reach + 1, left : int(x_px) + reach + 1]
    rows = np.arange(top, top + part.shape[0])[:, None] - y_px
    columns = np.arange(left, left + part.shape[1])[None, :] - x_px
    part += (bright * np.exp(-(rows**2 + columns**2) / (2 * radius_px**2))).astype(np.float32)


def aurora(chance: np.random.Generator, canvas: Canvas, mood: Mood) -> Floats:
    """Curtains of light: sharp below, fading upwards, folded sideways."""
    down = canvas.y + np.zeros_like(canvas.x)
    sky = mix(mood.zenith * 0.7, mood.sky, smooth_step(0.1, 0.85, down))
    sky = sky + stars(chance, canvas, amount=1.3)[..., None] * smooth_step(0.8, 0.2, down)[..., None] * 0.9
    low = np.array([0.30, 0.98, 0.62], dtype=np.float32)
    high = np.array([0.62, 0.36, 0.92], dtype=np.float32)
    for ribbon in range(3):
        edge = 0.52 - 0.1 * ribbon + 0.17 * skyline(chance, canvas, 1.1, octaves=4, gain=0.4)
        folds = 0.55 + 0.45 * np.tanh(skyline(chance, canvas, 9.0, octaves=4, gain=0.7))
        strength = np.clip(0.5 + 0.9 * skyline(chance, canvas, 1.2, octaves=2), 0.05, 1)
        reach = 0.2 + 0.14 * np.clip(skyline(chance, canvas, 3.0, octaves=3) + 0.5, 0, 1.5)
        above = edge - down
        veil = np.where(above > 0, np.exp(-above / reach), np.exp(above / 0.02)) * folds * strength
        tint = mix(low, high, smooth_step(0.02, 0.34, np.maximum(above, 0)))
        sky = sky + tint * (veil * (0.85 - 0.2 * ribbon))[..., None]
    return to_picture(1 - np.exp(-1.25 * sky))


def nebula(chance: np.random.Generator, canvas: Canvas, mood: Mood) -> Floats:
    """Gas: noise bent by noise, in the mood's colours, with stars before and behind."""
    rows, columns = np.mgrid[0 : canvas.height_px, 0 : canvas.width_px].astype(np.float32)
    reach = np.float32(0.22 * canvas.height_px)
    bend_y, bend_x = (cloudy(chance, canvas, 1.6, octaves=4) for _ in range(2))
    gas = cloudy(chance, canvas, 1.9, octaves=7, gain=0.55)
    gas = look_up(gas, rows + reach * bend_y, columns + reach * bend_x)
    dust = look_up(cloudy(chance, canvas, 2.4, octaves=7, gain=0.58), rows - reach * bend_x, columns + reach * bend_y)
    hues = look_up(cloudy(chance, canvas, 1.0, octaves=3), rows + reach * bend_x, columns)
    bright = smooth_step(-0.75, 0.85, gas)
    tint = mix(mood.sky, mood.accent, smooth_step(-0.4, 0.6, hues))
    tint = mix(tint, mood.horizon, smooth_step(0.45, 1.0, bright))
    space = mood.zenith * 0.22 + np.float32(0.008)
    sky = space + tint * (bright**2)[..., None] * 1.1
    sky = sky + mood.sun * (smooth_step(0.62, 1.25, gas) ** 2)[..., None] * 0.7
    sky = sky * (1 - 0.85 * smooth_step(0.15, 0.95, dust)[..., None] * (1 - 0.6 * bright[..., None]))
    sky = sky + stars(chance, canvas, amount=1.6)[..., None] * np.float32(0.95)
    return to_picture(1 - np.exp(-1.3 * sky))
