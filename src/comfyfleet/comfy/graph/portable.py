"""What a server says of its node classes, in a form that two servers of one version share byte for byte.

Lists of files change with each upload and each new weight, and say nothing of what a class is: they are left out. Which
weights a worker has is told by its capabilities.
"""

import gzip
import hashlib
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from comfyfleet.comfy.graph.definitions import UPLOADS, ObjectInfo
from comfyfleet.comfy.graph.files import MODEL_INPUTS, has_model_suffix
from comfyfleet.comfy.graph.object_info import load_object_info
from comfyfleet.kernel.errors import InvalidInput

PLAIN_BYTES_MAX = 64 * 1024**2
PACKED_BYTES_MAX = 8 * 1024**2
CLASSES_MAX = 20_000
FILE_LISTS = (*UPLOADS, "file_upload", "remote")


@dataclass(frozen=True, slots=True)
class Definitions:
    """`packed`: gzip of JSON. `digest`: SHA-256 of that JSON."""

    digest: str
    packed: bytes


def pack_definitions(servers: Sequence[ObjectInfo]) -> Definitions | None:
    """Of the classes that all of them have, as the first one says. None: no server, or more than can be sent."""
    if not servers:
        return None
    common = sorted(set.intersection(*(set(each) for each in servers)))
    found = {name: _without_files(servers[0][name]) for name in common if isinstance(servers[0][name], Mapping)}
    plain = msgspec.json.encode(found)
    packed = gzip.compress(plain, compresslevel=6, mtime=0)
    if len(plain) > PLAIN_BYTES_MAX or len(packed) > PACKED_BYTES_MAX or len(found) > CLASSES_MAX:
        return None
    return Definitions(hashlib.sha256(plain).hexdigest(), packed)


def unpack_definitions(packed: bytes, *, digest: str) -> dict[str, Any]:
    """Raises InvalidInput unless it is what was named, within limits."""
    plain = _inflated(packed)
    if hashlib.sha256(plain).hexdigest() != digest:
        raise InvalidInput("gzip", "is not what the digest names")
    found = load_object_info(plain)
    if len(found) > CLASSES_MAX:
        raise InvalidInput("gzip", f"has {len(found)} node classes; {CLASSES_MAX} are the most")
    return found


def _inflated(packed: bytes) -> bytes:
    stream = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        plain = stream.decompress(packed, PLAIN_BYTES_MAX + 1)
    except zlib.error:
        raise InvalidInput("gzip", "is not gzip") from None
    if len(plain) > PLAIN_BYTES_MAX:
        raise InvalidInput("gzip", f"holds more than {PLAIN_BYTES_MAX} bytes")
    if not stream.eof:
        raise InvalidInput("gzip", "breaks off")
    return plain


def _without_files(definition: Mapping[str, Any]) -> dict[str, Any]:
    groups = definition.get("input")
    return {**definition, "input": _bare_groups(groups) if isinstance(groups, Mapping) else {}}


def _bare_groups(groups: Mapping[str, Any]) -> dict[str, Any]:
    return {
        group: {name: _bare(name, spec) for name, spec in inputs.items()} if isinstance(inputs, Mapping) else inputs
        for group, inputs in groups.items()
    }


def _bare(name: str, spec: Any) -> Any:
    if not isinstance(spec, list) or not spec:
        return spec
    options = spec[1] if len(spec) > 1 and isinstance(spec[1], Mapping) else {}
    listed = spec[0] if isinstance(spec[0], list) else options.get("options")
    if not isinstance(listed, list):
        return spec
    if all(isinstance(each, Mapping) for each in listed):  # the branches of a choice
        return [spec[0], {**options, "options": [_bare_branch(each) for each in listed]}, *spec[2:]]
    if not _lists_files(name, options, listed):
        return spec
    if isinstance(spec[0], list):
        return [[], *spec[1:]]
    return [spec[0], {**options, "options": []}, *spec[2:]]


def _bare_branch(branch: Mapping[str, Any]) -> dict[str, Any]:
    inputs = branch.get("inputs")
    return {**branch, "inputs": _bare_groups(inputs)} if isinstance(inputs, Mapping) else dict(branch)


def _lists_files(name: str, options: Mapping[str, Any], listed: Iterable[Any]) -> bool:
    if name in MODEL_INPUTS or any(options.get(each) for each in FILE_LISTS):
        return True
    return any(isinstance(each, str) and has_model_suffix(each) for each in listed)
