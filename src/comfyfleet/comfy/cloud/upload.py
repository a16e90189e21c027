"""A file to Comfy Cloud, streamed from disk. It is stored by content: the name that comes back is a hash."""

import mimetypes
from io import BytesIO
from pathlib import Path

import msgspec

from comfyfleet.comfy import answers
from comfyfleet.comfy.cloud.client import CloudClient
from comfyfleet.comfy.errors import UploadRefused
from comfyfleet.comfy.exchange import Answer
from comfyfleet.comfy.model import UploadedFile

OCTETS = "application/octet-stream"
REFUSALS = (400, 413)


async def upload_file(
    client: CloudClient, source: Path | bytes, *, name: str, original: UploadedFile | None = None
) -> UploadedFile:
    """With `original` it is a mask, laid over that file."""
    route, fields = "/api/upload/image", {"type": "input"}
    if original is not None:
        reference = {"filename": original.name, "subfolder": original.subfolder, "type": original.type}
        route, fields = "/api/upload/mask", {**fields, "original_ref": msgspec.json.encode(reference).decode()}
    media_type = mimetypes.guess_type(name)[0] or OCTETS
    with BytesIO(source) if isinstance(source, bytes) else source.open("rb") as stream:
        request = client.build("POST", route, data=fields, files={"image": (name, stream, media_type)})
        answer = await client.send(request, route, limit_s=client.limits.upload_s, accept=REFUSALS)
    if answer.status in REFUSALS:
        raise UploadRefused(client.server, name=name, status=answer.status, problem=_problem(answer))
    # Neither folder nor type: the bare name is what a workflow on the cloud refers to.
    return UploadedFile(answers.read_uploaded(answer).name)


def _problem(answer: Answer) -> str:
    if answer.status == 413:
        return "the file is larger than it takes"
    return " ".join(answer.body[:200].decode(errors="replace").split()) or "it does not say why"
