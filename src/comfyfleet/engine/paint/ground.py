"""What stands in front of a sky."""

import numpy as np

from comfyfleet.engine.paint.noise import Canvas, cloudy, look_up, skyline, smooth_step
from comfyfleet.engine.paint.palette import Mood, mix
from comfyfleet.engine.paint.sky import Light
from comfyfleet.engine.pixels.convert import Floats

EDGE = 0.0022  # how soft an outline is, in heights


def _below(line: Floats, canvas: Canvas) -> Floats:
    return smooth_step(-EDGE, EDGE, canvas.y - line)


def peaks(
    picture: Floats,
    chance: np.random.Generator,
    canvas: Canvas,
    mood: Mood,
    light: Light,
    layers: int = 6,
    foot: float = 1.0,
) -> Floats:
    """Ridges behind ridges, paler with distance, rocky where the light falls, in mist where they end."""
    top = light.horizon - 0.16
    for layer in range(layers):
        depth = layer / max(1, layers - 1)
        base = top + (foot - top) * (depth**1.25) * 0.86
        rough = skyline(chance, canvas, 1.5 + 1.2 * depth, octaves=8, gain=0.5)
        sharp = 1 - 2 * np.abs(np.tanh(skyline(chance, canvas, 1.3 + depth, octaves=6, gain=0.48)))
        line = base - (0.17 - 0.07 * depth) * (0.55 * rough + 0.35 * sharp)
        line = np.minimum(line, np.float32(foot - 0.008))
        relief = cloudy(chance, canvas, 5 + 4 * depth, octaves=5, stretch=0.85, gain=0.6)
        shift = max(1, canvas.height_px // 90)
        slope = np.pad(relief, ((0, 0), (shift, 0)), mode="edge")[:, :-shift] - relief
        side = np.sign(np.float32(light.x) - canvas.x * 0.6 - 0.2 * canvas.ratio)
        lit = np.clip(0.5 + 0.85 * slope * side, 0, 1) * (1 - 0.55 * depth)
        rock = mix(mood.far, mood.near, depth**0.8)
        rock = mix(rock * 0.86, mix(rock, mood.sun, 0.42), lit * 0.75)
        mist = smooth_step(0.0, 0.34 - 0.1 * depth, canvas.y - line) * (0.72 - 0.62 * depth)
        rock = mix(rock, mix(mood.horizon, mood.far, 0.25 + 0.35 * depth), mist)
        picture = mix(picture, rock, _below(line, canvas))
    return picture


def forest(picture: Floats, chance: np.random.Generator, canvas: Canvas, mood: Mood, light: Light) -> Floats:
    """Rows of conifers stepping out of the mist."""
    layers = 6
    for layer in range(layers):
        depth = layer / (layers - 1)
        base = 0.5 + 0.47 * depth**1.1 + (0.07 - 0.03 * depth) * skyline(chance, canvas, 1.2, octaves=4)
        line = base - _trees(chance, canvas, tall=0.07 + 0.3 * depth**1.6)
        color = mix(mix(mood.far, mood.horizon, 0.35), mood.near, depth**0.75)
        leaves = cloudy(chance, canvas, 16 - 8 * depth, octaves=4, gain=0.6)
        color = mix(color, mix(color, mood.accent, 0.5), smooth_step(0.1, 0.9, leaves) * (0.15 + 0.35 * depth))
        glow = np.exp(-((light.distance(canvas) / 0.45) ** 2)) * (1 - depth) * 0.5
        color = mix(color, mood.sun, glow)
        mist = smooth_step(0.02, 0.26, canvas.y - line) * (0.8 - 0.75 * depth)
        color = mix(color, mix(mood.horizon, mood.sky, 0.3), mist)
        picture = mix(picture, color, _below(line, canvas))
    return picture


def _trees(chance: np.random.Generator, canvas: Canvas, tall: float) -> Floats:
    """How far the tops of a row of firs reach above their ground, along x."""
    reach = np.zeros_like(canvas.x)
    place = -0.1
    while place < canvas.ratio + 0.1:
        height = tall * float(chance.uniform(0.45, 1.15))
        wide = height * float(chance.uniform(0.17, 0.26))
        away = np.abs(canvas.x - np.float32(place)) / np.float32(wide)
        boughs = np.mod(away * float(chance.uniform(4, 7)), 1) * 0.16 * np.minimum(1, away * 4)
        reach = np.maximum(reach, np.float32(height) * np.clip(1 - away - boughs, 0, 1))
        place += wide * float(chance.uniform(0.6, 1.9))
    return reach


def dunes(picture: Floats, chance: np.random.Generator, canvas: Canvas, mood: Mood, light: Light) -> Floats:
    """Crests with a bright and a dark side, rippled by the wind."""
    layers = 6
    for layer in range(layers):
        depth = layer / (layers - 1)
        base = light.horizon - 0.02 + (0.98 - light.horizon) * depth**1.15
        bend = skyline(chance, canvas, 0.8 + 0.4 * (1 - depth), octaves=3, gain=0.34)
        line = base - (0.05 + 0.1 * depth) * bend
        fall = np.clip((canvas.y - line) / (0.16 + 0.3 * depth), 0, 1)
        warp = cloudy(chance, canvas, 1.4, octaves=3) * 0.25
        rise = np.gradient(line[0]).astype(np.float32)[None, :] * canvas.height_px
        side = 1 if light.x < canvas.ratio / 2 else -1
        along = (canvas.x + side * (0.42 * fall + 0.16 * warp)) * canvas.height_px
        crest = smooth_step(-0.07, 0.09, 0.015 - side * look_up(rise, np.zeros_like(along), along))
        ripple = 0.5 + 0.5 * np.sin(canvas.y * (150 - 70 * depth) + canvas.x * 26 + warp * 40)
        sand = mix(mood.far, mood.near, 0.18 + 0.5 * depth)
        bright, dark = mix(sand, mood.horizon, 0.62), mix(sand, mood.near, 0.62)
        color = mix(dark, bright, crest)
        color = mix(color, mood.sun, crest * (1 - fall) * 0.28 + ripple * 0.06 * (0.4 + depth) * crest)
        color = mix(color, mood.horizon, (1 - depth) ** 2 * 0.5)
        picture = mix(picture, color, _below(line, canvas))
    return picture


def sea(picture: Floats, chance: np.random.Generator, canvas: Canvas, mood: Mood, light: Light) -> Floats:
    """Water to the horizon, waves growing towards us, the sun's road on it."""
    rows, columns = np.mgrid[0 : canvas.height_px, 0 : canvas.width_px].astype(np.float32)
    depth = np.clip((canvas.y - light.horizon) / (1 - light.horizon), 0.002, 1)
    far = 1 / (depth + 0.05)
    swell = cloudy(chance, canvas, 13.0, octaves=5, stretch=3.2, gain=0.66)
    middle = canvas.width_px / 2
    waves = look_up(
        swell,
        far * np.float32(0.55 * canvas.height_px) + 0 * columns,
        middle + (columns - middle) * far * np.float32(0.16),
    )
    waves = 0.75 * waves + 0.45 * look_up(swell, rows * 2.1 + 0.35 * columns * depth, columns * 1.3)
    mirrored = look_up(picture, 2 * light.horizon * canvas.height_px - rows - waves * depth * 40, columns)
    water = mix(mix(mood.sky, mood.near, 0.35 + 0.5 * depth), mirrored, 0.55 - 0.3 * depth)
    water = mix(water, mood.near, smooth_step(0.0, 0.8, -waves) * 0.55)
    water = mix(water, mix(mood.horizon, mood.sun, 0.4), smooth_step(0.15, 0.9, waves) * (0.42 - 0.12 * depth))
    road = np.exp(-(((canvas.x - np.float32(light.x)) / (0.035 + 0.26 * depth)) ** 2))
    glitter = smooth_step(0.0, 0.55, waves) * road
    water = mix(water, mood.sun, np.clip(glitter * 0.95 + road * 0.22 * (1 - depth), 0, 1))
    return mix(picture, water, smooth_step(0, 0.003, canvas.y - light.horizon) + np.zeros_like(canvas.x))


def city(picture: Floats, chance: np.random.Generator, canvas: Canvas, mood: Mood, foot: float) -> Floats:
    """Towers in three rows, windows lit here and there."""
    for layer in range(3):
        depth = layer / 2
        wall = mix(mix(mood.far, mood.horizon, 0.3 - 0.3 * depth), mood.near, 0.25 + 0.7 * depth)
        place = -0.05
        while place < canvas.ratio:
            wide = float(chance.uniform(0.03, 0.085)) * (0.75 + 0.5 * depth)
            tall = float(chance.uniform(0.1, 0.5)) ** 1.15 * (1.0 - 0.45 * depth)
            _tower(picture, chance, canvas, mood, wall, place, wide, foot - tall, foot)
            place += wide * float(chance.uniform(0.75, 1.25))
    ground = smooth_step(foot - EDGE, foot + EDGE, canvas.y + np.zeros_like(canvas.x))
    return mix(picture, mood.near, ground)


def _tower(
    picture: Floats,
    chance: np.random.Generator,
    canvas: Canvas,
    mood: Mood,
    wall: Floats,
    left: float,
    wide: float,
    top: float,
    foot: float,
) -> None:
    size = canvas.height_px
    x0, x1 = max(0, round(left * size)), min(canvas.width_px, round((left + wide) * size))
    y0, y1 = max(0, round(top * size)), round(foot * size)
    if x1 - x0 < 2 or y1 <= y0:
        chance.random(4)
        return
    shade = np.linspace(1.12, 0.86, x1 - x0, dtype=np.float32)[None, :, None]
    haze = np.linspace(0, 0.28, y1 - y0, dtype=np.float32)[:, None, None]
    picture[y0:y1, x0:x1] = (wall * shade) * (1 - haze) + mood.horizon * haze
    windows = chance.random((48, 8)) < float(chance.uniform(0.1, 0.5))
    cell = 0.0125
    rows = ((np.arange(y0, y1) / size - top) / cell)[:, None]
    columns = ((np.arange(x0, x1) / size - left) / (wide / max(2, round(wide / 0.011))))[None, :]
    inside = ((rows % 1) > 0.35) & ((columns % 1) > 0.35) & ((columns % 1) < 0.95)
    lit = windows[rows.astype(int) % 48, columns.astype(int) % 8] & inside & (rows > 0.8)
    glow = mix(mood.accent, mood.sun, float(chance.uniform(0.2, 0.9)))
    picture[y0:y1, x0:x1][lit] = glow


def mirror(picture: Floats, chance: np.random.Generator, canvas: Canvas, mood: Mood, shore: float) -> Floats:
    """Still water from the shore down: the picture upside down, drawn out and trembling more towards us."""
    rows, columns = np.mgrid[0 : canvas.height_px, 0 : canvas.width_px].astype(np.float32)
    depth = np.clip((canvas.y - np.float32(shore)) / (1 - shore), 0, 1)
    ripples = cloudy(chance, canvas, 26.0, octaves=4, stretch=5.0, gain=0.6)
    swing = ripples * depth * np.float32(0.03 * canvas.height_px)
    fold = np.float32(shore * canvas.height_px)
    water = look_up(picture, fold - (rows - fold) * 1.25 - np.abs(swing) * 0.8, columns + swing * 0.6)
    water = mix(water * 0.9, mix(mood.zenith, mood.near, 0.5), 0.12 + 0.3 * depth + np.zeros_like(columns))
    shine = smooth_step(0.45, 1.1, ripples) * (1 - depth) * 0.35
    water = mix(water, mood.horizon, shine)
    bank = np.exp(-(((canvas.y - np.float32(shore)) / 0.006) ** 2)) + np.zeros_like(columns)
    below = smooth_step(shore - EDGE, shore + EDGE, canvas.y + np.zeros_like(canvas.x))
    return mix(mix(picture, water, below), mood.near, bank * 0.45)
