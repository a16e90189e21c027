"""What a file is, by its first bytes. Only what is known to be taken passes; the rest is named, to say what came."""

import puremagic

from comfyfleet.kernel.errors import MediaRefused
from comfyfleet.media.model import FAMILIES, Family

HEAD_BYTES = 4096
EBML = b"\x1a\x45\xdf\xa3"
# Brands of the same box format that are pictures, not films.
STILL_BRANDS = {b"avif", b"avis", b"heic", b"heix", b"hevc", b"hevx", b"heim", b"heis", b"mif1", b"msf1", b"jp2 "}
FILM_BRANDS = {b"qt  ", b"isom", b"mp41", b"mp42", b"avc1", b"dash", b"M4V ", b"M4VH", b"M4VP", b"MSNV", b"f4v "}
NUMBERED_BRANDS = {b"iso" + str(number).encode() for number in range(2, 10)}
MARKUP = {
    b"<!doctype html": "HTML",
    b"<html": "HTML",
    b"<head": "HTML",
    b"<body": "HTML",
    b"<script": "HTML",
    b"<svg": "SVG",
    b"<?xml": "XML",
    b"<!--": "HTML",
}


def require_type(head: bytes, media_type: str, *, field: str) -> None:
    """Raises `MediaRefused` unless the bytes begin as the announced type does."""
    found = sniff_family(head)
    if found != FAMILIES.get(media_type):
        holds = describe(head)
        raise MediaRefused(field, f"was announced as {media_type}, but holds {holds}", holds=holds)


def sniff_family(head: bytes) -> Family | None:
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "png"
    if head.startswith(b"\xff\xd8\xff"):
        return "jpeg"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "gif"
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "webp"
    if head.startswith(EBML) and (b"webm" in head[:64] or b"matroska" in head[:64]):
        return "matroska"
    return "iso" if _is_film(head) else None


def name_type(head: bytes) -> str | None:
    """For one who does not say what it sends, as curl does of films."""
    family = sniff_family(head)
    if family == "matroska":
        return "video/webm" if b"webm" in head[:64] else "video/x-matroska"
    if family == "iso":
        return "video/quicktime" if head[8:12] == b"qt  " or head[4:8] != b"ftyp" else "video/mp4"
    return f"image/{family}" if family else None


def describe(head: bytes) -> str:
    """For people: what came instead."""
    if not head:
        return "nothing"
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    for mark, name in MARKUP.items():
        if start.startswith(mark):
            return "SVG" if b"<svg" in start else name
    return sniff_family(head) or _guess(head)


def _is_film(head: bytes) -> bool:
    if head[4:8] != b"ftyp":
        # Older QuickTime has no such box and starts with what there is.
        return head[4:8] in (b"moov", b"mdat", b"wide")
    length = int.from_bytes(head[:4], "big")
    brands = [head[place : place + 4] for place in (8, *range(16, min(length, 256, len(head) - 3), 4))]
    return brands[0] not in STILL_BRANDS and any(each in FILM_BRANDS | NUMBERED_BRANDS for each in brands)


def _guess(head: bytes) -> str:
    try:
        matches = puremagic.magic_string(head)
    except (puremagic.PureError, ValueError):
        return "something unknown"
    return matches[0].mime_type or matches[0].name or "something unknown"
