"""GET /view: a file of one of the folders, whole, in part, smaller, or one of its channels."""

import asyncio
import io
import mimetypes
import os
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import FileResponse, Response

from comfyfleet.engine.folders import OutsideFolder, split_annotation
from comfyfleet.engine.routes.answers import empty, engine_of

QUALITY = 90
# A browser would run these in the engine's origin.
_NEVER_SHOWN = {"text/html", "text/html-sandboxed", "application/xhtml+xml", "text/javascript", "text/css"}


async def get_view(request: Request) -> Response:
    query = request.query_params
    if "filename" not in query:
        return empty(404)
    name, kind = split_annotation(query["filename"])
    if not name or name.startswith("/") or ".." in name:
        return empty(400)
    kind = kind or query.get("type", "output")
    folders = engine_of(request).folders
    if folders.named(kind) is None:
        return empty(400)
    try:
        path = folders.within(kind, query.get("subfolder", ""), os.path.basename(name))
    except OutsideFolder:
        return empty(403)
    if not path.is_file():
        return empty(404)
    return await _answer(path, query.get("preview"), query.get("channel", "rgba"))


async def _answer(path: Path, preview: str | None, channel: str) -> Response:
    disposition = {"content-disposition": f'filename="{path.name}"'.encode().decode("latin-1", "replace")}
    if preview is not None:
        image_format, content = await asyncio.to_thread(_preview, path, preview, channel)
    elif channel in ("rgb", "a"):
        image_format, content = "png", await asyncio.to_thread(_channel, path, channel)
    else:
        media_type = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        media_type = "application/octet-stream" if media_type in _NEVER_SHOWN else media_type
        return FileResponse(path, headers={**disposition, "content-type": media_type})
    return Response(content, headers={**disposition, "content-type": f"image/{image_format}"})


def _preview(path: Path, wanted: str, channel: str) -> tuple[str, bytes]:
    from PIL import Image

    image_format, _, quality = wanted.partition(";")
    if image_format not in ("webp", "jpeg") or "a" in channel.replace("rgba", ""):
        image_format = "webp"
    with Image.open(path) as opened:
        image: Any = opened.convert("RGB") if image_format == "jpeg" or channel == "rgb" else opened
        written = io.BytesIO()
        image.save(written, image_format, quality=int(quality) if quality.isdigit() else QUALITY)
    return image_format, written.getvalue()


def _channel(path: Path, channel: str) -> bytes:
    from PIL import Image

    with Image.open(path) as opened:
        if channel == "rgb":
            image = opened.convert("RGB")
        else:
            image = Image.new("RGBA", opened.size)
            image.putalpha(opened.getchannel("A") if opened.mode == "RGBA" else Image.new("L", opened.size, 255))
    written = io.BytesIO()
    image.save(written, "PNG")
    return written.getvalue()
