"""A file to the server's input folder, streamed from disk."""

import io
import mimetypes
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

import msgspec

from comfyfleet.comfy.answers import read_uploaded
from comfyfleet.comfy.errors import UploadRefused
from comfyfleet.comfy.exchange import Answer, Exchange
from comfyfleet.comfy.limits import Limits
from comfyfleet.comfy.model import UploadedFile

OCTETS = "application/octet-stream"


async def send_file(
    exchange: Exchange,
    limits: Limits,
    source: Path | bytes,
    *,
    route: str,
    name: str,
    fields: Mapping[str, str],
    original: UploadedFile | None = None,
) -> UploadedFile:
    """With `original` it is a mask, laid over that file."""
    given = dict(fields)
    if original is not None:
        reference = {"filename": original.name, "subfolder": original.subfolder, "type": original.type}
        given["original_ref"] = msgspec.json.encode(reference).decode()
    media_type = mimetypes.guess_type(name)[0] or OCTETS
    with _opened(source) as stream:
        request = exchange.build("POST", route, data=given, files={"image": (name, stream, media_type)})
        answer = await exchange.read(
            request, route=route, limit_s=limits.upload_s, idle_s=limits.idle_s, limit_bytes=limits.words_bytes
        )
    uploaded = _stored(answer, name)
    if original is not None and not await _is_there(exchange, limits, uploaded):
        # A mask for a file that is not there is answered with 200, and thrown away.
        raise UploadRefused(exchange.address.name, name=name, status=200, problem=f"there is no {original.name!r}")
    return uploaded


def _opened(source: Path | bytes) -> BinaryIO:
    return io.BytesIO(source) if isinstance(source, bytes) else source.open("rb")


def _stored(answer: Answer, name: str) -> UploadedFile:
    match answer.status:
        case 200:
            return read_uploaded(answer)
        case 400:
            problem = answer.body[:200].decode(errors="replace") or "the name or the folder is not allowed"
            raise UploadRefused(answer.server, name=name, status=400, problem=problem)
        case 413:
            raise UploadRefused(answer.server, name=name, status=413, problem="the file is larger than it takes")
        case _:
            raise answer.unexpected()


async def _is_there(exchange: Exchange, limits: Limits, uploaded: UploadedFile) -> bool:
    params = {"filename": uploaded.name, "subfolder": uploaded.subfolder, "type": uploaded.type}
    request = exchange.build("HEAD", "/view", params=params)
    async with exchange.stream(request, route="/view", limit_s=limits.look_s) as response:
        return response.status_code == 200
