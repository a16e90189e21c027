"""What the looking process may say, checked by its parent: it may have been taken over by the file it looks at."""

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from comfyfleet.kernel.durations import seconds_text
from comfyfleet.media.channel import BLOCK_BYTES, POSTER_BYTES_MAX, TEXT_CHARS_MAX
from comfyfleet.media.model import SIDE_MAX, Looked, MediaRules, Scored
from comfyfleet.media.sniff import sniff_family

MIB = 1024**2
# Of a film its index and a few frames are read; of a recording without an index, all of it up to here.
READ_BYTES_MAX = 512 * MIB
READS_MAX = 4096
SHARPNESS_MAX = 1e9

Text = Annotated[str, Meta(min_length=1, max_length=TEXT_CHARS_MAX)]
Side = Annotated[int, Meta(ge=1, le=SIDE_MAX)]
Half = Annotated[int, Meta(ge=0, le=2**32 - 1)]


class Misbehaved(Exception):
    """It said what it must not say."""


class Ready(Struct, tag_field="says", tag="ready", forbid_unknown_fields=True):
    """Loaded and confined. `unconfined`: why there is no seccomp filter."""

    unconfined: Text | None


class ReadBlock(Struct, tag_field="says", tag="read", forbid_unknown_fields=True):
    offset: Annotated[int, Meta(ge=0, le=2**62)]
    count: Annotated[int, Meta(ge=1, le=BLOCK_BYTES)]


class Refusal(Struct, tag_field="says", tag="refused", forbid_unknown_fields=True):
    """For the file's owner."""

    text: Text


class Trouble(Struct, tag_field="says", tag="trouble", forbid_unknown_fields=True):
    """Ours, not the file's."""

    text: Text


class LookedAt(Struct, tag_field="says", tag="looked", forbid_unknown_fields=True):
    """Its poster follows as the next frame."""

    width: Side
    height: Side
    duration_s: Annotated[float, Meta(gt=0, le=1e9)] | None


class ScoredAs(Struct, tag_field="says", tag="scored", forbid_unknown_fields=True):
    sharpness: Annotated[float, Meta(ge=0, le=SHARPNESS_MAX)]
    exposure: Annotated[float, Meta(ge=0, le=1)]
    hash_high: Half
    hash_low: Half


Answer = Ready | ReadBlock | Refusal | Trouble | LookedAt | ScoredAs
_DECODER: msgspec.json.Decoder[Answer] = msgspec.json.Decoder(Answer)


def parse_answer(body: bytes) -> Answer:
    try:
        return _DECODER.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as problem:
        raise Misbehaved(f"message: {problem}") from None


def printable(text: str) -> str:
    """The process's words are shown to people."""
    return "".join(each if each.isprintable() else " " for each in text)


class Reads:
    """Counts what was read for one file. Raises `Misbehaved`."""

    def __init__(self, size_bytes: int) -> None:
        self._size_bytes = size_bytes
        self._count = self._bytes = 0

    def count(self, block: ReadBlock) -> None:
        if block.offset + block.count > self._size_bytes:
            raise Misbehaved(f"read: {block.count} bytes at {block.offset} of a file of {self._size_bytes}")
        self._count += 1
        self._bytes += block.count

    def are_too_many(self) -> bool:
        return self._count > READS_MAX or self._bytes > READ_BYTES_MAX


def check_looked(said: LookedAt, poster: bytes, rules: MediaRules, *, is_film: bool) -> Looked:
    """Facts that break the rules would have been a refusal. Raises `Misbehaved`."""
    if said.width * said.height > rules.pixels_max:
        raise Misbehaved(f"looked: {said.width} × {said.height} is more than {rules.pixels_max} pixels")
    if is_film != (said.duration_s is not None):
        raise Misbehaved(f"looked: a duration of {said.duration_s} for a {'film' if is_film else 'picture'}")
    if said.duration_s is not None and said.duration_s > rules.duration_s_max:
        raise Misbehaved(f"looked: {seconds_text(said.duration_s)} is longer than allowed")
    if len(poster) > POSTER_BYTES_MAX or sniff_family(poster) != "webp":
        raise Misbehaved("looked: the poster is no WebP")
    return Looked(said.width, said.height, said.duration_s, poster)


def check_scored(said: ScoredAs) -> Scored:
    return Scored(said.sharpness, said.exposure, said.hash_high, said.hash_low)
