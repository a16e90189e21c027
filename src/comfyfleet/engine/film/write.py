"""Films and sounds into files."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from comfyfleet.engine.film.model import FilmFile, Sound
from comfyfleet.engine.film.read import opened
from comfyfleet.engine.pixels.convert import Bytes

if TYPE_CHECKING:  # loaded with the first film, as in read.py
    from av.audio.stream import AudioStream
    from av.container import OutputContainer
    from av.video.stream import VideoStream

ENCODERS = {"h264": "libx264", "vp9": "libvpx-vp9", "av1": "libsvtav1"}
CONTAINERS = {"mp4": "mp4", "mkv": "matroska", "webm": "webm"}
LAYOUTS = {1: "mono", 2: "stereo"}
OPUS_RATES_HZ = (8000, 12000, 16000, 24000, 48000)


@dataclass(frozen=True, slots=True)
class Encoding:
    container: str
    codec: str
    fps: Fraction
    crf: float | None = None
    bit_depth: int = 8
    with_alpha: bool = False

    @property
    def pixel_format(self) -> str:
        if self.with_alpha:
            return "yuva420p"
        return "yuv420p10le" if self.bit_depth > 8 or self.codec == "av1" else "yuv420p"

    @property
    def options(self) -> dict[str, object]:
        options: dict[str, object] = {} if self.crf is None else {"crf": str(self.crf)}
        if self.codec == "av1":
            options["preset"] = "6"
        if self.codec == "vp9":
            options |= {"deadline": "good", "cpu-used": "4", "row-mt": "1"}
        return options


def write_film(
    path: Path,
    frames: Iterable[Bytes],
    encoding: Encoding,
    *,
    sound: Sound | None = None,
    metadata: Mapping[str, str],
) -> None:
    """Encode pictures (and the sound, as long as they last) into a new file."""
    import av

    frames = iter(frames)
    first = next(frames)
    with _created(path, encoding.container, metadata) as container:
        stream = cast("VideoStream", container.add_stream(ENCODERS[encoding.codec], rate=encoding.fps))
        first = _evened(first)
        stream.height, stream.width = first.shape[:2]
        stream.pix_fmt = encoding.pixel_format
        stream.options = encoding.options
        heard = _add_sound(container, encoding.container, sound)
        shown = 0
        for shown, pixels in enumerate(_with(first, frames), start=1):
            frame = av.VideoFrame.from_ndarray(pixels, format="rgba" if encoding.with_alpha else "rgb24")
            frame.pts, frame.time_base = shown - 1, 1 / encoding.fps
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
        if heard is not None and sound is not None:
            _encode_sound(container, heard, sound, seconds=shown / encoding.fps)


def copy_film(film: FilmFile, path: Path, container_name: str, metadata: Mapping[str, str]) -> None:
    """The streams of a film in a new file, not encoded anew."""
    with opened(film.path) as source, _created(path, container_name, metadata) as container:
        wanted = [*source.streams.video[:1], *source.streams.audio[:1]]
        copies = {stream.index: container.add_stream_from_template(stream) for stream in wanted}
        for packet in source.demux(wanted):
            if packet.dts is None:
                continue
            packet.stream = copies[packet.stream.index]
            container.mux(packet)


def write_sound(path: Path, sound: Sound, codec: str, *, quality: str, metadata: Mapping[str, str]) -> None:
    """One sound [1, channels, samples] as flac, mp3 or opus."""
    encoder = {"flac": "flac", "mp3": "libmp3lame", "opus": "libopus"}[codec]
    rate = sound.sample_rate_hz
    if codec == "opus":
        rate = next((possible for possible in OPUS_RATES_HZ if possible >= rate), OPUS_RATES_HZ[-1])
    with _created(path, "ogg" if codec == "opus" else codec, metadata) as container:
        stream = cast("AudioStream", container.add_stream(encoder, rate=rate, layout=LAYOUTS[_channels(sound)]))
        if quality == "V0":
            stream.options = {"q": "0"}
        elif quality:
            stream.bit_rate = int(quality.removesuffix("k")) * 1000
        _encode_sound(container, stream, sound)


@contextmanager
def _created(path: Path, container_name: str, metadata: Mapping[str, str]) -> "Iterator[OutputContainer]":
    """A container to write to. What was begun and failed is taken away: a half film is worse than none."""
    import av

    options = {"movflags": "use_metadata_tags+faststart"} if container_name == "mp4" else {}
    try:
        with av.open(
            str(path), mode="w", format=CONTAINERS.get(container_name, container_name), container_options=options
        ) as container:
            container.metadata.update(metadata)
            yield container
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _with(first: Bytes, others: Iterator[Bytes]) -> Iterator[Bytes]:
    yield first
    for pixels in others:
        yield _evened(pixels)


def _evened(pixels: Bytes) -> Bytes:
    """The codecs halve the colour's resolution: an odd side gets its last line twice."""
    height, width = pixels.shape[:2]
    if height % 2 or width % 2:
        pixels = np.pad(pixels, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")
    return np.ascontiguousarray(pixels)


def _channels(sound: Sound) -> int:
    return min(2, int(sound.waveform.shape[1]))


def _add_sound(container: "OutputContainer", container_name: str, sound: Sound | None) -> "AudioStream | None":
    if sound is None or sound.waveform.shape[-1] == 0:
        return None
    encoder, rate = ("libopus", 48000) if container_name == "webm" else ("aac", sound.sample_rate_hz)
    return cast("AudioStream", container.add_stream(encoder, rate=rate, layout=LAYOUTS[_channels(sound)]))


def _encode_sound(
    container: "OutputContainer", stream: "AudioStream", sound: Sound, *, seconds: Fraction | None = None
) -> None:
    import av

    channels = _channels(sound)
    last = None if seconds is None else int(seconds * sound.sample_rate_hz)
    waveform = np.ascontiguousarray(np.clip(sound.waveform[0, :channels, :last], -1, 1))
    frame = av.AudioFrame.from_ndarray(waveform, format="fltp", layout=LAYOUTS[channels])
    frame.sample_rate, frame.pts = sound.sample_rate_hz, 0
    container.mux(stream.encode(frame))
    container.mux(stream.encode(None))
