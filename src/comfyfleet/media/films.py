"""One film: its size, how long it is, and a frame of it. Runs in the looking process only; PyAV is an extra."""

from fractions import Fraction
from typing import Any

import av
import av.logging

# Loaded now, as the pictures' readers are: PyAV would do it when it meets the first film with subtitles, or any film.
import av.subtitles.codeccontext
import av.subtitles.stream
from av.container import InputContainer
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from comfyfleet.media.model import Family, Looked, MediaRules, Unfit
from comfyfleet.media.pictures import require_pixels, write_poster
from comfyfleet.media.whole import iso_is_whole, matroska_is_whole

FORMATS: dict[Family, str] = {"iso": "mov", "matroska": "matroska"}
WHOLE = {"iso": iso_is_whole, "matroska": matroska_is_whole}
# Fewer readers of strangers' bytes, fewer faults in them. Sound is only described, never decoded.
CODECS = ("h264", "hevc", "vp8", "vp9", "libvpx", "libvpx-vp9", "libdav1d", "av1", "mpeg4", "prores", "mjpeg")
FRAME_RATE_MAX = 240
POSTER_AT_S_MAX = 3.0
PACKETS_MAX = 2_000_000
FRAMES_TRIED = 200

av.logging.set_level(av.logging.PANIC)


def look_at_film(file: Any, family: Family, rules: MediaRules) -> Looked:
    if not WHOLE[family](file):
        raise Unfit("is cut off: it ends before it says it does")
    file.seek(0)
    options = {"codec_whitelist": ",".join(CODECS), "protocol_whitelist": "none"}
    with av.open(file, format=FORMATS[family], options=options) as container:
        assert isinstance(container, InputContainer)  # noqa: S101 it was opened for reading
        stream = _film_in(container)
        require_pixels(stream.codec_context.width, stream.codec_context.height, rules)
        duration_s = _duration_s(container, stream)
        _require_length(stream, duration_s, rules)
        frame = _frame_of(container, stream, at_s=min(duration_s / 10, POSTER_AT_S_MAX))
        require_pixels(frame.width, frame.height, rules)
        turned = frame.rotation % 180 != 0
        width, height = (frame.height, frame.width) if turned else (frame.width, frame.height)
        return Looked(width, height, duration_s, _poster(frame, side=rules.poster_side))


def _film_in(container: InputContainer) -> VideoStream:
    stream = container.streams.best("video")
    if not isinstance(stream, VideoStream):
        raise Unfit("has no picture in it")
    if stream.codec_context.codec.name not in CODECS:
        raise Unfit(f"is coded as {stream.codec_context.codec.name}, which is not taken")
    stream.thread_type = "NONE"
    stream.codec_context.thread_count = 1
    return stream


def _duration_s(container: InputContainer, stream: VideoStream) -> float:
    """What the header says; a live recording's does not, and then the film is counted through."""
    said = [float(container.duration / av.time_base)] if container.duration else []
    if stream.duration and stream.time_base:
        said.append(float(stream.duration * stream.time_base))
    return max(said) if said else _counted_s(container, stream)


def _counted_s(container: InputContainer, stream: VideoStream) -> float:
    base, last = stream.time_base or Fraction(0), 0
    for number, packet in enumerate(container.demux(stream)):
        if number > PACKETS_MAX:
            raise Unfit("does not say how long it is")
        last = max(last, (packet.pts or 0) + (packet.duration or 0))
    container.seek(0)
    return float(last * base)


def _require_length(stream: VideoStream, duration_s: float, rules: MediaRules) -> None:
    if duration_s <= 0:
        raise Unfit("does not say how long it is")
    if duration_s > rules.duration_s_max:
        raise Unfit(f"lasts {duration_s:.1f} s, and {rules.duration_s_max:g} s are the most")
    if stream.frames > duration_s * FRAME_RATE_MAX + 1:
        raise Unfit(f"has {stream.frames} frames in {duration_s:.3f} s, and {FRAME_RATE_MAX} a second are the most")


def _frame_of(container: InputContainer, stream: VideoStream, *, at_s: float) -> VideoFrame:
    """The key frame before that instant: the first one of a film is often black. The first, if there is no other."""
    for instant_s in (at_s, 0.0):
        container.seek(int(instant_s * av.time_base))
        for number, frame in enumerate(container.decode(stream)):
            if frame.width and frame.height:
                return frame
            if number > FRAMES_TRIED:
                break
    raise Unfit("has no frame that can be decoded")


def _poster(frame: VideoFrame, *, side: int) -> bytes:
    scale = min(1.0, side / max(frame.width, frame.height))
    width, height = max(1, round(frame.width * scale)), max(1, round(frame.height * scale))
    small: Any = frame.reformat(width=width, height=height, format="rgb24", threads=1)
    return write_poster(small.to_image().rotate(frame.rotation, expand=True))
