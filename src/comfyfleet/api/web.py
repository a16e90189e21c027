"""The web app, as `tools/web-build` left it: one page for every address of the app, and its assets."""

import re
from importlib.resources import files
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import APIRouter, Depends, Header, Request
from fastapi.responses import FileResponse, HTMLResponse, Response

from comfyfleet.api.policy import Public
from comfyfleet.kernel.errors import NotFound
from comfyfleet.storage import ObjectKey, ObjectStore

BUILT = Path(str(files("comfyfleet"))) / "_web"
# The first words of the app's addresses.
PAGES = ("set-password", "enter")
AREAS = ("effects", "jobs", "history", "wallet", "keys", "webhooks", "team", "runs", "pipelines", "console")
# Their names hold a hash of what is in them.
FOREVER = {"Cache-Control": "public, max-age=31536000, immutable"}
FRESH = {"Cache-Control": "no-cache"}
MEDIA_TYPES = {
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
    ".png": "image/png",
    ".webp": "image/webp",
    ".json": "application/json",
}
# One word of one folder: a name from outside never becomes a path to anywhere else.
NAME = re.compile(r"\w[\w.-]*", re.ASCII)
ENCODINGS = (("br", ".br"), ("gzip", ".gz"))
NOT_BUILT = """<!doctype html><html lang="en"><meta charset="utf-8"><title>comfyfleet</title>
<h1>The web app is not built</h1>
<p>The API works. In a checkout, <code>make web</code> builds the app; an installed package carries it.</p>
<p><a href="/openapi.json">The API's schema</a></p></html>"""

router = APIRouter(include_in_schema=False, dependencies=[Depends(Public())])


async def page(request: Request) -> Response:
    return _page(request, 200)


def page_of_nothing(request: Request) -> Response | None:
    """For somebody who mistyped an address: the app says so, with a way home. None: a program asked, or at an address
    of the server's own, and is answered as the API answers."""
    if request.method not in ("GET", "HEAD") or "text/html" not in request.headers.get("accept", ""):
        return None
    taken = {_first_word(pattern) for pattern in request.app.state.patterns.values()} - {*PAGES, *AREAS}
    if _first_word(request.url.path) in taken or not (BUILT / "index.html").is_file():
        return None
    return _page(request, 404)


def _first_word(path: str) -> str:
    return path.removeprefix("/").partition("/")[0]


def _page(request: Request, status: int) -> Response:
    rules: str = request.app.state.page_rules
    headers = {**FRESH, "Content-Security-Policy": rules}
    index = BUILT / "index.html"
    if not index.is_file():
        return HTMLResponse(NOT_BUILT, status_code=503, headers=headers)
    return FileResponse(index, status_code=status, headers=headers)


router.add_api_route("/", page)
for _name in (*PAGES, *AREAS):
    router.add_api_route(f"/{_name}", page)
for _name in AREAS:
    router.add_api_route(f"/{_name}/{{rest:path}}", page)


@router.get("/assets/{name}")
async def asset(name: str, accept_encoding: Annotated[str, Header()] = "") -> Response:
    path = BUILT / "assets" / name
    if not NAME.fullmatch(name) or not path.is_file():
        raise NotFound("asset", name)
    headers = {**FOREVER, "Vary": "Accept-Encoding"}
    for encoding, suffix in ENCODINGS:
        if encoding in accept_encoding and (packed := path.with_name(name + suffix)).is_file():
            return _sent(packed, name, {**headers, "Content-Encoding": encoding})
    return _sent(path, name, headers)


def built_asset(pattern: str) -> str | None:
    """The newest one's name, such as of `swagger-ui-*.css`; None where the app was not built."""
    found = sorted((BUILT / "assets").glob(pattern), key=lambda path: path.stat().st_mtime)
    return found[-1].name if found else None


def _sent(path: Path, name: str, headers: dict[str, str]) -> Response:
    media_type = MEDIA_TYPES.get(Path(name).suffix, "application/octet-stream")
    return FileResponse(path, media_type=media_type, headers=headers)


def page_rules(store: ObjectStore) -> str:
    """Scripts of our own only, and nothing from anywhere else but the objects that the store itself serves."""
    objects = _origin(store)
    sources = " ".join(["'self'", *([objects] if objects else [])])
    return "; ".join(
        [
            "default-src 'self'",
            "script-src 'self'",
            # The component library writes its variables and positions into style elements and attributes.
            "style-src 'self' 'unsafe-inline'",
            f"img-src {sources} data: blob:",
            f"media-src {sources} blob:",
            f"connect-src {sources}",
            "object-src 'none'",
            "frame-ancestors 'none'",
            "base-uri 'none'",
            "form-action 'self'",
        ]
    )


def _origin(store: ObjectStore) -> str | None:
    """None where objects come from this very server."""
    found = urlsplit(store.presign_get(ObjectKey("any"), media_type="image/png", expires_s=1).url)
    return f"{found.scheme}://{found.netloc}" if found.netloc else None
