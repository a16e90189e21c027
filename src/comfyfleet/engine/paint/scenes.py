"""What a picture shows before the brush comes: each scene is a sky, and something in front of it."""

from collections.abc import Callable, Mapping

import numpy as np

from comfyfleet.engine.paint.ground import city, dunes, forest, mirror, peaks, sea
from comfyfleet.engine.paint.noise import Canvas
from comfyfleet.engine.paint.palette import Mood, first_match, mood_asked_for, mood_by_name
from comfyfleet.engine.paint.sky import Light, aurora, nebula, open_sky
from comfyfleet.engine.pixels.convert import Floats

Scene = Callable[[np.random.Generator, Canvas, Mood], Floats]


def _mountains(chance: np.random.Generator, canvas: Canvas, mood: Mood) -> Floats:
    light = Light.of(chance, canvas, horizon=0.62)
    return peaks(open_sky(chance, canvas, mood, light), chance, canvas, mood, light)


def _lake(chance: np.random.Generator, canvas: Canvas, mood: Mood) -> Floats:
    light = Light.of(chance, canvas, horizon=0.66)
    land = peaks(open_sky(chance, canvas, mood, light), chance, canvas, mood, light, layers=4, foot=0.68)
    return mirror(land, chance, canvas, mood, shore=0.68)


def _sea(chance: np.random.Generator, canvas: Canvas, mood: Mood) -> Floats:
    light = Light.of(chance, canvas, horizon=0.56, low=True)
    return sea(open_sky(chance, canvas, mood, light), chance, canvas, mood, light)


def _dunes(chance: np.random.Generator, canvas: Canvas, mood: Mood) -> Floats:
    light = Light.of(chance, canvas, horizon=0.55)
    return dunes(open_sky(chance, canvas, mood, light), chance, canvas, mood, light)


def _forest(chance: np.random.Generator, canvas: Canvas, mood: Mood) -> Floats:
    light = Light.of(chance, canvas, horizon=0.6)
    return forest(open_sky(chance, canvas, mood, light), chance, canvas, mood, light)


def _city(chance: np.random.Generator, canvas: Canvas, mood: Mood) -> Floats:
    light = Light.of(chance, canvas, horizon=0.6, low=True)
    skyline = city(open_sky(chance, canvas, mood, light), chance, canvas, mood, foot=0.7)
    return mirror(skyline, chance, canvas, mood, shore=0.7)


def _aurora(chance: np.random.Generator, canvas: Canvas, mood: Mood) -> Floats:
    light = Light.of(chance, canvas, horizon=0.7, strength=0.0)
    land = peaks(aurora(chance, canvas, mood), chance, canvas, mood, light, layers=3, foot=0.74)
    return mirror(land, chance, canvas, mood, shore=0.74)


def _nebula(chance: np.random.Generator, canvas: Canvas, mood: Mood) -> Floats:
    return nebula(chance, canvas, mood)


SCENES: Mapping[str, Scene] = {
    "mountains": _mountains,
    "lake": _lake,
    "sea": _sea,
    "dunes": _dunes,
    "forest": _forest,
    "city": _city,
    "aurora": _aurora,
    "nebula": _nebula,
}

FITTING_MOODS: Mapping[str, tuple[str, ...]] = {
    "mountains": ("dawn", "dusk", "ice", "sunset", "blossom"),
    "lake": ("sunset", "dawn", "dusk", "ice", "autumn", "noon"),
    "sea": ("sunset", "dawn", "storm", "dusk", "noon", "night"),
    "dunes": ("desert", "sunset", "dusk"),
    "forest": ("forest", "autumn", "dawn", "blossom"),
    "city": ("dusk", "neon", "night", "sunset", "storm"),
    "aurora": ("night",),
    "nebula": ("neon", "sunset", "dusk", "night"),
}

SCENE_WORDS = {
    "mountains": "mountain mountains alps peak peaks hill hills valley volcano canyon rock cliff highland",
    "lake": "lake river reflection pond fjord water glacier calm",
    "sea": "sea ocean wave waves beach coast ship boat island harbour harbor sailing",
    "dunes": "desert dune dunes sand sahara mars camel",
    "forest": "forest woods tree trees jungle pine autumn deer fox path leaves garden flower blossom meadow cherry",
    "city": "city skyline street tokyo york london town building buildings skyscraper cyberpunk neon robot",
    "aurora": "aurora northern lights polar arctic norway iceland",
    "nebula": "galaxy nebula space cosmos universe planet stars star abstract dream astronaut",
}


def choose(prompt: str, chance: np.random.Generator) -> tuple[Scene, Mood]:
    """What the words ask for; what they leave open is drawn from what fits."""
    draw = int(chance.integers(1 << 30))
    scene, mood = first_match(prompt, SCENE_WORDS), mood_asked_for(prompt)
    if scene is None:
        fitting = [name for name, moods in FITTING_MOODS.items() if mood is None or mood in moods]
        scene = fitting[draw % len(fitting)]
    mood = mood or FITTING_MOODS[scene][draw // 16 % len(FITTING_MOODS[scene])]
    return SCENES[scene], mood_by_name(mood, chance)
