"""Small pictures and files for the engine's tests."""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from PIL import Image

from comfyfleet.engine.pixels.convert import Floats


def a_picture(height: int = 6, width: int = 8, channels: int = 3, batch: int = 1, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).random((batch, height, width, channels), dtype=np.float32)


def save_png(path: Path, pixels: np.ndarray, **options: object) -> Path:
    Image.fromarray(pixels.astype(np.uint8)).save(path, **options)
    return path


def save_film(path: Path, colors: Sequence[tuple[int, int, int]], *, fps: int = 8, with_sound: bool = False) -> Path:
    """One flat frame of 64×48 for each colour, and a tone as long as the film."""
    with av.open(str(path), "w") as container:
        video = container.add_stream("libx264", rate=fps)
        video.width, video.height, video.pix_fmt = 64, 48, "yuv420p"
        audio = container.add_stream("aac", rate=44100, layout="stereo") if with_sound else None
        for number, color in enumerate(colors):
            frame = av.VideoFrame.from_ndarray(np.full((48, 64, 3), color, dtype=np.uint8), format="rgb24")
            frame.pts, frame.time_base = number, Fraction(1, fps)
            container.mux(video.encode(frame))
        container.mux(video.encode(None))
        if audio is not None:
            time = np.arange(44100 * len(colors) // fps) / 44100
            tone = np.tile(0.5 * np.sin(2 * np.pi * 440 * time), (2, 1)).astype(np.float32)
            sound = av.AudioFrame.from_ndarray(tone, format="fltp", layout="stereo")
            sound.sample_rate, sound.pts = 44100, 0
            container.mux(audio.encode(sound))
            container.mux(audio.encode(None))
    return path
