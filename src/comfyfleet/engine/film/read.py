"""Films and sounds out of files, bounded while they are decoded."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from comfyfleet.engine.film.model import Film, FilmFile, FilmFrames, Sound, UnreadableFilm
from comfyfleet.engine.pixels.bounds import FLOAT_BYTES, LARGEST_BATCH_BYTES, refuse_absurd
from comfyfleet.engine.pixels.convert import Bytes, to_floats

if TYPE_CHECKING:  # libav takes 30 MB: it is loaded with the first film
    from av.container import InputContainer

DEFAULT_FPS = Fraction(24)


@dataclass(frozen=True, slots=True)
class FilmFacts:
    width_px: int
    height_px: int
    fps: Fraction
    frames: int  # 0 where the container does not say
    codec: str  # empty where nothing is encoded yet, as is the container
    container: str
    bit_depth: int


@contextmanager
def opened(path: Path) -> "Iterator[InputContainer]":
    """A container to read from; what libav says of a broken one becomes our error."""
    import av

    try:
        with av.open(str(path), mode="r") as container:
            yield container
    except (av.FFmpegError, UnicodeDecodeError) as broken:
        raise UnreadableFilm(path, getattr(broken, "strerror", None) or str(broken)) from broken


def film_facts(film: Film) -> FilmFacts:
    if isinstance(film, FilmFrames):
        count, height, width = film.images.shape[:3]
        return FilmFacts(width, height, film.fps, count, "", "", film.bit_depth)
    with opened(film.path) as container:
        if not container.streams.video:
            raise UnreadableFilm(film.path, "it has no pictures")
        stream = container.streams.video[0]
        context = stream.codec_context
        refuse_absurd(1, context.height, context.width)
        depth = context.format.components[0].bits if context.format else 8
        fps = stream.average_rate or stream.guessed_rate or DEFAULT_FPS
        return FilmFacts(
            context.width,
            context.height,
            fps,
            stream.frames,
            context.codec.canonical_name,
            container.format.name,
            depth,
        )


def film_frames(film: FilmFile) -> Iterator[Bytes]:
    """The pictures of a film, one at a time, upright."""
    with opened(film.path) as container:
        if not container.streams.video:
            raise UnreadableFilm(film.path, "it has no pictures")
        stream = container.streams.video[0]
        stream.thread_type = "AUTO"
        for frame in container.decode(stream):
            refuse_absurd(1, frame.height, frame.width)
            pixels: Bytes = frame.to_ndarray(format="rgb24").astype(np.uint8, copy=False)
            yield np.rot90(pixels, k=frame.rotation // 90) if frame.rotation else pixels


def film_sound(film: FilmFile) -> Sound | None:
    """The first sound track, or None."""
    with opened(film.path) as container:
        if not container.streams.audio:
            return None
        import av

        stream = container.streams.audio[0]
        resampler = av.AudioResampler(format="fltp")
        parts, samples_left = [], LARGEST_BATCH_BYTES // FLOAT_BYTES
        for frame in container.decode(stream):
            for piece in resampler.resample(frame):
                part = piece.to_ndarray().astype(np.float32)
                samples_left -= part.size
                if samples_left < 0:
                    raise UnreadableFilm(film.path, "its sound is too long")
                parts.append(part)
        if not parts:
            return None
        return Sound(np.concatenate(parts, axis=1)[None], stream.rate)


def read_film(film: FilmFile, watch: Callable[[int, int], None]) -> FilmFrames:
    """Everything in a film; `watch(done, total)` is called for each picture, with 0 for an unknown total."""
    facts = film_facts(film)
    kept: list[Bytes] = []
    for pixels in film_frames(film):
        refuse_absurd(len(kept) + 1, *pixels.shape)
        kept.append(pixels)
        watch(len(kept), facts.frames)
    if not kept:
        raise UnreadableFilm(film.path, "it has no pictures")
    images = np.empty((len(kept), *kept[0].shape), dtype=np.float32)
    for number, pixels in enumerate(kept):
        images[number] = to_floats(pixels)
    return FilmFrames(images, facts.fps, film_sound(film), facts.bit_depth)
