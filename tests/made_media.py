"""Pictures and films, made on the spot: whole, cut off, swollen and disguised."""

import struct
import tempfile
import zlib
from fractions import Fraction
from functools import cache
from io import BytesIO
from pathlib import Path

import av
from PIL import Image

FORMATS = {"image/png": "PNG", "image/jpeg": "JPEG", "image/webp": "WEBP", "image/gif": "GIF"}
CONTAINERS = {"video/mp4": "mp4", "video/quicktime": "mov", "video/webm": "webm", "video/x-matroska": "matroska"}


@cache
def a_picture(media_type: str = "image/png", *, width: int = 120, height: int = 80, orientation: int = 1) -> bytes:
    """Of noise, so that it cannot be cut without losing something."""
    picture = Image.effect_noise((width, height), 90).convert("RGB")
    exif = Image.Exif()
    exif[0x0112] = orientation
    to = BytesIO()
    picture.save(to, FORMATS[media_type], **({"exif": exif} if orientation != 1 else {}))
    return to.getvalue()


@cache
def a_film(
    media_type: str = "video/mp4",
    *,
    width: int = 64,
    height: int = 48,
    seconds: float = 1.0,
    codec: str | None = None,
    options: tuple[tuple[str, str], ...] = (),
) -> bytes:
    codec = codec or ("libvpx" if media_type == "video/webm" else "libx264")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "film"
        with av.open(str(path), "w", format=CONTAINERS[media_type], options=dict(options)) as container:
            stream = container.add_stream(codec, rate=10)
            stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
            for number in range(round(seconds * 10)):
                picture = Image.new("RGB", (width, height), (number * 20 % 255, 90, 200))
                container.mux(stream.encode(av.VideoFrame.from_image(picture)))
            container.mux(stream.encode())
        return path.read_bytes()


@cache
def a_phone_clip(*, pictures: bool = True) -> bytes:
    """With sound, and held upright: the left half of what is stored is red, and shown it is the upper one."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "film"
        with av.open(str(path), "w", format="mp4") as container:
            if pictures:
                stream = container.add_stream("libx264", rate=10)
                stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
            sound = container.add_stream("aac", rate=48_000)
            if pictures:
                picture = Image.new("RGB", (64, 48), "blue")
                picture.paste("red", (0, 0, 32, 48))
                for _ in range(10):
                    container.mux(stream.encode(av.VideoFrame.from_image(picture)))
                container.mux(stream.encode())
            for number in range(40):
                silence = av.AudioFrame(format="fltp", layout="stereo", samples=1024)
                for plane in silence.planes:
                    plane.update(bytes(plane.buffer_size))
                silence.rate, silence.pts, silence.time_base = 48_000, number * 1024, Fraction(1, 48_000)
                container.mux(sound.encode(silence))
            container.mux(sound.encode())
        film = path.read_bytes()
    if not pictures:
        return film
    matrix = film.index(b"tkhd") + 44
    return film[:matrix] + struct.pack(">9i", 0, 1 << 16, 0, -(1 << 16), 0, 0, 0, 0, 1 << 30) + film[matrix + 36 :]


def a_live_recording() -> bytes:
    """As a browser makes it: neither a length nor an index."""
    return a_film("video/webm", options=(("live", "1"),))


@cache
def a_pixel_bomb(side: int = 20_000) -> bytes:
    """A few kilobytes that unfold to 400 million pixels."""
    squeeze = zlib.compressobj(9)
    row = bytes(1 + side // 8)
    rows = b"".join(squeeze.compress(row * 100) for _ in range(side // 100)) + squeeze.flush()
    header = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", rows) + _chunk(b"IEND", b"")


@cache
def a_text_bomb() -> bytes:
    """A small picture with a comment of 64 megabytes."""
    squeeze = zlib.compressobj(9)
    text = b"".join(squeeze.compress(bytes(1024**2)) for _ in range(64)) + squeeze.flush()
    whole = a_picture("image/png")
    return whole[:33] + _chunk(b"zTXt", b"Comment\x00\x00" + text) + whole[33:]


def _chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
