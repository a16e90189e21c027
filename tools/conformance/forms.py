"""Uploads as the recordings note them, made again."""

import hashlib
import io
from typing import Any

from PIL import Image

KNOWN_CONTENT = {hashlib.sha256(content).hexdigest(): content for content in (b"", b"hello", b"\x00\x01")}


def as_sent(request: dict[str, Any], recorded: dict[str, Any]) -> dict[str, Any]:
    """One client encoded the name of its file; the recording has what it meant, the answer what it sent."""
    stored = recorded["json"].get("name", "") if isinstance(recorded.get("json"), dict) else ""
    if "multipart" not in request or "%20" not in stored:
        return request
    first, *others = request["multipart"]
    return {**request, "multipart": [{**first, "filename": stored}, *others]}


def build_form(parts: list[dict[str, Any]], bytes_of: dict[str, bytes]) -> tuple[bytes, str]:
    boundary = b"conformance"
    body = b""
    for part in parts:
        head = f'Content-Disposition: form-data; name="{part["name"]}"'
        if "filename" in part:
            head += f'; filename="{part["filename"]}"\r\nContent-Type: {part["content_type"]}'
            content = _content(part, bytes_of)
        else:
            content = part["value"].encode()
        body += b"--" + boundary + b"\r\n" + head.encode() + b"\r\n\r\n" + content + b"\r\n"
    return body + b"--" + boundary + b"--\r\n", "multipart/form-data; boundary=conformance"


def _content(part: dict[str, Any], bytes_of: dict[str, bytes]) -> bytes:
    """The recordings keep sizes and digests of uploads: equal digests get equal bytes, pictures are pictures."""
    if part["sha256"] in bytes_of:
        return bytes_of[part["sha256"]]
    seed = bytes.fromhex(part["sha256"])
    if part["filename"].endswith(".png") and "corrupt" not in part["filename"]:
        written = io.BytesIO()
        mode = "RGBA" if "mask" in part["filename"] else "RGB"
        Image.new(mode, (16, 16), tuple(seed[: len(mode)])).save(written, "PNG")
        return written.getvalue()
    size = int(part["bytes"])
    return (seed * (size // len(seed) + 1))[:size]
