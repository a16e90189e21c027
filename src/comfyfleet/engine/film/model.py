"""What travels between nodes as VIDEO and AUDIO."""

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TypeAlias

from comfyfleet.engine.pixels.convert import Floats


@dataclass(frozen=True, slots=True, eq=False)
class Sound:
    """AUDIO: [batch, channels, samples], from -1 to 1."""

    waveform: Floats
    sample_rate_hz: int


@dataclass(frozen=True, slots=True)
class FilmFile:
    """VIDEO that still lies in its file: saved again it is copied, not encoded anew."""

    path: Path


@dataclass(frozen=True, slots=True, eq=False)
class FilmFrames:
    """VIDEO made of pictures [frames, height, width, channels]."""

    images: Floats
    fps: Fraction
    sound: Sound | None = None
    bit_depth: int = 8


Film: TypeAlias = FilmFile | FilmFrames


class UnreadableFilm(ValueError):
    """A file that is no film, or a broken one."""

    def __init__(self, path: Path, problem: str) -> None:
        self.path = path
        super().__init__(f"{path.name} cannot be read as a video or sound: {problem}")
