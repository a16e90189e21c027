"""A picture and a film with sound to try effects on, drawn by the engine's own painter. Needs the extra `engine`."""

import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np

from comfyfleet.engine.film.model import Sound
from comfyfleet.engine.film.write import Encoding, write_film
from comfyfleet.engine.paint.noise import Canvas
from comfyfleet.engine.paint.painter import compose
from comfyfleet.engine.pixels.convert import Bytes, to_bytes, to_pillow

PICTURE, CLIP = "picture.png", "clip.mp4"
PICTURE_SIZE_PX = (768, 512)
CLIP_SIZE_PX = (512, 288)
CLIP_FPS = 12
CLIP_FRAMES = 24
# How much wider the landscape is that the camera goes along.
PANORAMA = 1.5
SOUND_RATE_HZ = 48_000
CHORD_HZ = (220.0, 277.18, 329.63)


def draw_picture(path: Path, *, words: str = "mountains above a lake at sunset", seed: int = 11) -> Path:
    width, height = PICTURE_SIZE_PX
    to_pillow(compose(words, seed, Canvas(height, width))).save(path, "PNG")
    return path


def draw_clip(path: Path, *, words: str = "a city by the sea at dawn", seed: int = 5) -> Path:
    """The camera goes along a landscape, to a soft chord."""
    encoding = Encoding("mp4", "h264", Fraction(CLIP_FPS), crf=20)
    write_film(path, _pan(words, seed), encoding, sound=_chord(CLIP_FRAMES / CLIP_FPS), metadata={})
    return path


def _pan(words: str, seed: int) -> Iterator[Bytes]:
    width, height = CLIP_SIZE_PX
    wide = compose(words, seed, Canvas(height, round(width * PANORAMA)))
    way = wide.shape[1] - width
    for number in range(CLIP_FRAMES):
        left = round(way * number / (CLIP_FRAMES - 1))
        yield np.ascontiguousarray(to_bytes(wide[:, left : left + width]))


def _chord(seconds: float) -> Sound:
    at = np.arange(round(seconds * SOUND_RATE_HZ), dtype=np.float32) / SOUND_RATE_HZ
    swell = np.sin(np.pi * at / seconds) * 0.15
    wave = sum(np.sin(2 * np.pi * tone * at) for tone in CHORD_HZ) * swell
    return Sound(np.stack([wave, wave])[None].astype(np.float32), SOUND_RATE_HZ)


def main() -> None:
    """`python -m comfyfleet.demo.samples FOLDER`: for a process that should not load the libraries itself."""
    folder = Path(sys.argv[1])
    draw_picture(folder / PICTURE)
    draw_clip(folder / CLIP)


if __name__ == "__main__":
    main()
