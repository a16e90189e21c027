"""What a prompt has left, whatever key a node put it under. Nothing is dropped without a word.

Every object with a `filename` is a file. Words are entries too. The flags beside them (`animated`) are no outputs.
"""

import json
import mimetypes
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from comfyfleet.comfy.model import TEXT, FetchedFile, OutputFile
from comfyfleet.comfy.node_order import node_order

OCTETS = "application/octet-stream"
# Python's table does not know them, or knows them by another name on each machine.
MEDIA_TYPES = {
    ".avif": "image/avif",
    ".flac": "audio/flac",
    ".gif": "image/gif",
    ".glb": "model/gltf-binary",
    ".gltf": "model/gltf+json",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".json": "application/json",
    ".latent": OCTETS,
    ".m4a": "audio/mp4",
    ".mkv": "video/x-matroska",
    ".mov": "video/quicktime",
    ".mp3": "audio/mpeg",
    ".mp4": "video/mp4",
    ".obj": "model/obj",
    ".ogg": "audio/ogg",
    ".opus": "audio/ogg",
    ".ply": "model/ply",
    ".png": "image/png",
    ".safetensors": OCTETS,
    ".stl": "model/stl",
    ".txt": "text/plain",
    ".wav": "audio/wav",
    ".webm": "video/webm",
    ".webp": "image/webp",
}
RANKS = {"output": 0, "temp": 1, TEXT: 2}
FLAGS = frozenset({"animated"})
# Besides letters and digits. Anything else in a name of the server's has no business on our disk.
_UNSAFE = re.compile(r"[^\w.()\[\] +@=,-]+")
NAME_CHARACTERS_MAX = 200


def list_outputs(outputs: Mapping[str, Mapping[str, Any]], *, first: str | None = None) -> tuple[OutputFile, ...]:
    """The files of node `first`, then saved ones before temporary ones, then by node id.

    Never in the server's order: it follows which node ended first, and so the same graph would have another result.
    """
    found = [file for node, ui in outputs.items() for file in _of_node(node, ui)]
    return tuple(sorted(found, key=lambda file: (file.node != first, RANKS.get(file.type, 0), node_order(file.node))))


def _of_node(node: str, ui: Mapping[str, Any]) -> Iterator[OutputFile]:
    for key, value in ui.items():
        if key in FLAGS:
            continue
        for index, part in enumerate(value if isinstance(value, list) else [value]):
            if part is not None:
                yield _of_part(node, key, part, index)


def _of_part(node: str, key: str, part: Any, index: int) -> OutputFile:
    if isinstance(part, dict) and isinstance(part.get("filename"), str) and part["filename"]:
        return OutputFile(
            node=node,
            key=key,
            filename=part["filename"],
            subfolder=_text(part.get("subfolder"), ""),
            type=_text(part.get("type"), "output"),
            media_type=media_type_of(part["filename"], told=part.get("format")),
            index=index,
        )
    words = isinstance(part, str)
    return OutputFile(
        node=node,
        key=key,
        filename=f"{node}-{key}-{index}.{'txt' if words else 'json'}",
        type=TEXT,
        media_type="text/plain" if words else "application/json",
        text=part if words else json.dumps(part, ensure_ascii=False),
        index=index,
    )


def _text(value: Any, otherwise: str) -> str:
    return value if isinstance(value, str) else otherwise


def media_type_of(filename: str, *, told: Any = None) -> str:
    """By the extension; `told` is what custom nodes call the `format`, believed where the name says nothing."""
    extension = re.search(r"\.[^./\\]+$", filename)
    known = MEDIA_TYPES.get(extension[0].lower()) if extension else None
    guess = known or mimetypes.guess_type(filename)[0]
    if guess:
        return guess
    return told if isinstance(told, str) and re.fullmatch(r"[a-z]+/[\w.+-]+", told) else OCTETS


def local_name(output: OutputFile) -> str:
    """A name for our own disk: no folders, nothing hidden, nothing a shell or a browser would stumble over."""
    name = _UNSAFE.sub("_", output.filename).lstrip(". ") or "output"
    if len(name) > NAME_CHARACTERS_MAX:
        stem, dot, extension = name.rpartition(".")
        tail = dot + extension if stem and len(extension) < 16 else ""
        name = name[: NAME_CHARACTERS_MAX - len(tail)] + tail
    return name


def local_names(outputs: Iterable[OutputFile]) -> dict[OutputFile, str]:
    """One name each: two nodes may have saved `a.png` into two folders."""
    names: dict[OutputFile, str] = {}
    taken: set[str] = set()
    for output in outputs:
        name = local_name(output)
        stem, dot, extension = name.rpartition(".")
        count = 1
        while name.lower() in taken:
            count += 1
            name = f"{stem or extension}-{count}" + (dot + extension if stem else "")
        taken.add(name.lower())
        names[output] = name
    return names


def manifest(files: Iterable[FetchedFile]) -> list[dict[str, Any]]:
    return [
        {
            "node": file.output.node,
            "key": file.output.key,
            "filename": file.output.filename,
            "subfolder": file.output.subfolder,
            "type": file.output.type,
            "media_type": file.output.media_type,
            "path": file.path.name,
            "bytes": file.bytes,
            "sha256": file.sha256,
        }
        for file in files
    ]
