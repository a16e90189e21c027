"""What is uploaded: a file on disk or bytes in memory, its name and its type."""

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias
from uuid import UUID

from comfyfleet.kernel.errors import InvalidInput

Given: TypeAlias = str | Path | bytes
CHUNK_BYTES = 256 * 1024
HEAD_BYTES = 64

TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".mp4": "video/mp4",
    ".m4v": "video/mp4",
    ".mov": "video/quicktime",
    ".webm": "video/webm",
    ".mkv": "video/x-matroska",
}
ENDINGS = {media_type: ending for ending, media_type in reversed(TYPES.items())}


@dataclass(frozen=True, slots=True)
class Source:
    """`named`: what an error calls it."""

    name: str
    media_type: str
    size_bytes: int
    content: Path | bytes = field(repr=False)
    named: str = "input"


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a source, or all of it, read as it is sent. `on_sent` hears how many bytes of it have gone."""

    source: Source
    offset: int
    size_bytes: int
    on_sent: Callable[[int], None] = lambda _sent: None

    def chunks(self) -> Iterator[bytes]:
        content, end = self.source.content, self.offset + self.size_bytes
        with io.BytesIO(content) if isinstance(content, bytes) else content.open("rb") as file:
            file.seek(self.offset)
            for at in range(self.offset, end, CHUNK_BYTES):
                chunk = file.read(min(CHUNK_BYTES, end - at))
                if len(chunk) != min(CHUNK_BYTES, end - at):
                    raise InvalidInput(self.source.named, "became shorter while it was sent")
                yield chunk


def as_video_id(given: object) -> str | None:
    """A text that is a UUID is the id of something that was uploaded before; any other is a path."""
    if isinstance(given, UUID):
        return str(given)
    try:
        return str(UUID(given)) if isinstance(given, str) else None
    except ValueError:
        return None


def read_source(
    given: Given, *, name: str | None = None, media_type: str | None = None, named: str = "input"
) -> Source:
    """Looks at the disk. Raises InvalidInput."""
    if isinstance(given, bytes):
        kind = media_type or sniff(given[:HEAD_BYTES]) or _unknown(named)
        return _checked(Source(name or f"{named}{ENDINGS.get(kind, '')}", kind, len(given), given, named))
    path = Path(given).expanduser()
    if not path.is_file():
        raise InvalidInput(named, f"there is no file {str(given)!r}")
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError as problem:
        raise InvalidInput(named, f"{path} cannot be read: {problem.strerror}") from None
    kind = media_type or TYPES.get(path.suffix.lower()) or sniff(head) or _unknown(named)
    return _checked(Source(name or path.name, kind, path.stat().st_size, path, named))


def _checked(source: Source) -> Source:
    if source.size_bytes == 0:
        raise InvalidInput(source.named, "is empty")
    return source


def _unknown(named: str) -> str:
    raise InvalidInput(named, f"is of a type that is not known; {', '.join(sorted(set(TYPES.values())))} are taken")


def sniff(head: bytes) -> str | None:
    """By its first bytes. The server looks closer."""
    marks = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}
    for mark, media_type in marks.items():
        if head.startswith(mark):
            return media_type
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    if head[4:8] == b"ftyp":
        return "video/quicktime" if head[8:12] == b"qt  " else "video/mp4"
    if head.startswith(b"\x1a\x45\xdf\xa3"):
        return "video/webm" if b"webm" in head else "video/x-matroska"
    return None
