"""POST /upload/image and /upload/mask."""

import asyncio
import json

from starlette.requests import Request
from starlette.responses import Response

from comfyfleet.engine.folders import OutsideFolder
from comfyfleet.engine.multipart import Part, read_form
from comfyfleet.engine.routes.answers import empty, engine_of, json_answer
from comfyfleet.engine.uploads import mask_saver, store


async def post_image(request: Request) -> Response:
    return await _upload(request, masked=False)


async def post_mask(request: Request) -> Response:
    return await _upload(request, masked=True)


async def _upload(request: Request, *, masked: bool) -> Response:
    form = await read_form(request.headers.get("content-type", ""), request.stream())
    try:
        return await asyncio.to_thread(_store, request, form, masked)
    finally:
        for part in form.values():
            part.close()


def _store(request: Request, form: dict[str, Part], masked: bool) -> Response:
    image = form.get("image")
    if image is None:
        return empty(400)
    if image.filename is None:
        raise ValueError("the image has no file name")
    words = {name: form[name].text() for name in ("subfolder", "type", "overwrite") if name in form}
    folders = engine_of(request).folders
    try:
        stored = store(
            folders,
            image.content,
            filename=image.filename,
            subfolder=words.get("subfolder", ""),
            kind=words.get("type", "input"),
            overwrite=words.get("overwrite") in ("true", "1"),
            save=mask_saver(folders, json.loads(form["original_ref"].text())) if masked else None,
        )
    except OutsideFolder:
        return empty(400)
    return json_answer({"name": stored.name, "subfolder": stored.subfolder, "type": stored.type})
