"""The front door: a page to log in, and the page that one-time links lead to. Static, no inline script."""

from importlib.resources import files
from pathlib import Path
from typing import Literal

from fastapi import APIRouter, Depends
from fastapi.responses import FileResponse

from comfyfleet.api.policy import Public

PAGES = Path(str(files("comfyfleet.api.door") / "pages"))
HEADERS = {
    # `data:` for the empty icon, which spares browsers asking for one.
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; "
    "form-action 'self'",
    "Cache-Control": "no-cache",
}

router = APIRouter(include_in_schema=False, dependencies=[Depends(Public())])


@router.get("/")
async def index() -> FileResponse:
    return FileResponse(PAGES / "index.html", headers=HEADERS)


@router.get("/set-password")
async def set_password() -> FileResponse:
    return FileResponse(PAGES / "set-password.html", headers=HEADERS)


@router.get("/door/{name}")
async def asset(name: Literal["door.css", "index.js", "set-password.js"]) -> FileResponse:
    return FileResponse(PAGES / name, headers=HEADERS)
