"""Words into colours."""

import colorsys
import re
from dataclasses import dataclass, fields

import numpy as np

from comfyfleet.engine.pixels.convert import Floats


@dataclass(frozen=True, slots=True)
class Mood:
    """The colours of a picture, as 0..1 RGB."""

    zenith: Floats
    sky: Floats
    horizon: Floats
    sun: Floats
    far: Floats
    near: Floats
    accent: Floats


def _mood(zenith: str, sky: str, horizon: str, sun: str, far: str, near: str, accent: str) -> Mood:
    return Mood(*(_rgb(code) for code in (zenith, sky, horizon, sun, far, near, accent)))


def _rgb(code: str) -> Floats:
    return np.array([int(code[at : at + 2], 16) / 255 for at in (0, 2, 4)], dtype=np.float32)


MOODS = {
    "dawn": _mood("3c4a78", "b287a3", "ffd9b0", "fff1d0", "a58aa6", "2c2a4a", "f2a48b"),
    "sunset": _mood("2b2d63", "c9527a", "ffb35c", "ffe3a3", "9a4f7c", "22143a", "ff7a4d"),
    "noon": _mood("2f74c0", "7db7e8", "e6f1f5", "fffbe8", "8fb0cf", "24503f", "f4d35e"),
    "dusk": _mood("141b41", "4a4e8f", "d98fb0", "ffd9c2", "5c5a96", "12122b", "ff9f80"),
    "night": _mood("050a1f", "0f2148", "2f5478", "e8efff", "27466b", "040812", "ffcf7a"),
    "ice": _mood("4f86b8", "a9cfe3", "f2f8fa", "ffffff", "a8c4d9", "2f5573", "7fd4e0"),
    "forest": _mood("5d8a8c", "a8c3a4", "f0ecc4", "fff6d0", "8aa98f", "14301f", "d9b44a"),
    "autumn": _mood("5d7391", "c7b59b", "f8dfa8", "fff0c4", "c08a5a", "3d1a14", "e0672f"),
    "desert": _mood("4d8fb3", "a9c8c4", "fbe3b5", "fff3d1", "d79b6a", "6b2e22", "f08a4b"),
    "neon": _mood("12052e", "4a1173", "ff4fa3", "ffe0f4", "7a2c9e", "0b0420", "2fe6de"),
    "blossom": _mood("8fb4d9", "d9c8de", "fde9e4", "fffaf0", "c7a8c0", "4a3152", "f59bb0"),
    "storm": _mood("1f2a36", "4b5d6b", "aebcc0", "eef2e6", "5f727d", "141c22", "d9c27a"),
}

MOOD_WORDS = {
    "dawn": "dawn sunrise morning misty mist fog foggy early soft peach",
    "sunset": "sunset evening orange fire lava volcano burning golden gold",
    "noon": "noon day sunny summer bright blue clear meadow",
    "dusk": "dusk twilight purple violet lavender dream dreamy",
    "night": "night midnight starry moon moonlit dark black navy",
    "ice": "ice snow snowy winter frozen glacier arctic polar white cold",
    "forest": "forest woods tree trees green jungle pine moss spring",
    "autumn": "autumn fall leaves october red amber rust harvest",
    "desert": "desert dune dunes sand sahara canyon mars dry",
    "neon": "neon cyberpunk synthwave retro vaporwave pink teal futuristic electric",
    "blossom": "blossom cherry sakura flower flowers garden rose pastel",
    "storm": "storm stormy rain thunder grey gray clouds wind moody",
}


# The hour and the weather say more of colours than the place does: dunes at night are not yellow.
TELLING_MOODS = ("dawn", "sunset", "dusk", "night", "neon", "storm")


def words_of(prompt: str) -> list[str]:
    return re.findall(r"\w+", prompt.lower())


def first_match(prompt: str, groups: dict[str, str]) -> str | None:
    """The group of the first word that belongs to one; a plural counts as its singular."""
    belongs = {word: name for name, words in groups.items() for word in words.split()}
    for word in words_of(prompt):
        found = belongs.get(word) or belongs.get(word.removesuffix("s"))
        if found:
            return found
    return None


def mood_asked_for(prompt: str) -> str | None:
    telling = {name: MOOD_WORDS[name] for name in TELLING_MOODS}
    return first_match(prompt, telling) or first_match(prompt, MOOD_WORDS)


def mood_by_name(name: str, chance: np.random.Generator) -> Mood:
    """A mood, a little turned round the colour wheel one way or the other."""
    mood = MOODS[name]
    turn = float(chance.uniform(-0.025, 0.025))
    return Mood(*(_turned(getattr(mood, field.name), turn) for field in fields(Mood)))


def _turned(color: Floats, turn: float) -> Floats:
    hue, light, saturation = colorsys.rgb_to_hls(*(float(part) for part in color))
    return np.array(colorsys.hls_to_rgb((hue + turn) % 1.0, light, saturation), dtype=np.float32)


def mix(one: Floats, other: Floats, share: Floats | float) -> Floats:
    """Between two colours or pictures; the share is a number or a field [height, width]."""
    weight = np.asarray(share, dtype=np.float32)
    if weight.ndim == 2:
        weight = weight[..., None]
    mixed: Floats = one * (1 - weight) + other * weight
    return mixed
