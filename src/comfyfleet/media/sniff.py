"""What a file is, by its first bytes. Only what is known to be taken passes; the rest is named, to say what came."""

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
# What else people send, by its first bytes: a refusal names it.
NAMES: tuple[tuple[bytes, str], ...] = (
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"PK\x05\x06", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"Rar!\x1a\x07", "application/vnd.rar"),
    (b"MZ", "a Windows program"),
    (b"\x7fELF", "a Linux program"),
    (b"#!", "a script"),
    (b"#EXTM3U", "a playlist"),
    (b"BM", "image/bmp"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
    (b"8BPS", "a Photoshop file"),
    (b"\x00\x00\x01\x00", "an icon"),
    (b"ID3", "audio/mpeg"),
    (b"\xff\xfb", "audio/mpeg"),
    (b"OggS", "an Ogg file"),
    (b"fLaC", "audio/flac"),
    (b"\x1a\x45\xdf\xa3", "an EBML file that is no film"),
    (b"FLV", "video/x-flv"),
    (b"\x30\x26\xb2\x75\x8e\x66\xcf\x11", "video/x-ms-asf"),
    (b"{", "JSON or other text"),
)
RIFF_NAMES = {b"WAVE": "audio/wav", b"AVI ": "video/x-msvideo"}
BRAND_NAMES = {b"avif": "image/avif", b"avis": "image/avif", b"jp2 ": "image/jp2", b"M4A ": "audio/mp4"}


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
    if head[:4] == b"RIFF":
        return RIFF_NAMES.get(head[8:12], "something unknown")
    if head[4:8] == b"ftyp":
        brand = head[8:12]
        return BRAND_NAMES.get(brand, "image/heic" if brand in STILL_BRANDS else "something unknown")
    return next((name for start, name in NAMES if head.startswith(start)), "something unknown")
