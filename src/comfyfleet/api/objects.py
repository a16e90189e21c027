"""The local store's signed URLs. S3 serves its own; this makes a folder behave the same.

The signature is the permission: whoever holds the URL may do that one thing until it expires.
"""

from collections.abc import AsyncIterator
from typing import Any

import anyio
from fastapi import APIRouter, Request
from fastapi.routing import APIRoute
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.requests import ClientDisconnect
from starlette.responses import FileResponse, Response
from starlette.types import Receive, Scope, Send

from comfyfleet.api.errors import error_response
from comfyfleet.kernel.durations import seconds_text
from comfyfleet.kernel.errors import AlreadyExists, NotFound, SignatureRefused, UploadMismatch
from comfyfleet.storage.backends.grants import GetGrant, PartGrant, PutGrant
from comfyfleet.storage.backends.local import LocalStore
from comfyfleet.storage.model import content_disposition

CHUNK_WITHIN_S = 60
LENGTH_DIGITS_MAX = 18
OBJECT_BYTES_MAX = 5 * 1024**3  # as S3: more than this goes in parts

# What a user uploaded must not act as a page of ours, whatever its bytes say.
SAFE_HEADERS = {
    "Cache-Control": "private",
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class ObjectRoute(APIRoute):
    """The application's limit is for JSON; here the signature says how many bytes may come."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Inside another one, this replaces the outer limit.
        limited = RequestBodyLimitMiddleware(super().handle, max_body_size=OBJECT_BYTES_MAX)
        await limited(scope, receive, send)


def objects_router(store: LocalStore, policy: Any = None) -> APIRouter:
    guards = [policy] if policy is not None else []
    router = APIRouter(dependencies=guards, route_class=ObjectRoute, include_in_schema=False)

    @router.api_route("/objects/{token}", methods=["GET", "HEAD"])
    async def get_object(token: str) -> Response:
        grant = store.open_grant(token)
        if not isinstance(grant, GetGrant):
            raise SignatureRefused("This URL is signed for another method.")
        located = await store.locate(grant.key)
        if located is None:
            raise NotFound("object", grant.key)
        path, found = located
        headers = {
            **SAFE_HEADERS,
            "Content-Type": grant.media_type,
            "Content-Disposition": content_disposition(grant.download_name),
        }
        return FileResponse(path, stat_result=found, headers=headers)

    @router.put("/objects/{token}")
    async def put_object(token: str, request: Request) -> Response:
        grant = store.open_grant(token)
        if isinstance(grant, GetGrant):
            raise SignatureRefused("This URL is signed for another method.")
        refusal = _refuse_length(request, grant) or await _refuse_put(store, request, grant)
        return refusal or await _receive(store, request, grant)

    return router


def _refuse_length(request: Request, grant: PutGrant | PartGrant) -> Response | None:
    declared = request.headers.get("content-length", "")
    if not declared.isascii() or not declared.isdecimal() or len(declared) > LENGTH_DIGITS_MAX:
        return error_response(411, "length_required", "Send the Content-Length that this URL was signed with.")
    if grant.size_bytes is not None and int(declared) != grant.size_bytes:
        return _wrong_length(UploadMismatch(expected_bytes=grant.size_bytes, found_bytes=int(declared)))
    return None


async def _refuse_put(store: LocalStore, request: Request, grant: PutGrant | PartGrant) -> Response | None:
    if isinstance(grant, PartGrant):
        return None
    if request.headers.get("if-none-match") != "*":
        raise SignatureRefused("Send the header If-None-Match: * that this URL was signed with.")
    if request.headers.get("content-type") != grant.media_type:
        raise SignatureRefused("Send the Content-Type that this URL was signed with.")
    # Placing decides in the end; this spares everybody the transfer.
    return _already_there(AlreadyExists("object", grant.key)) if await store.head(grant.key) else None


async def _receive(store: LocalStore, request: Request, grant: PutGrant | PartGrant) -> Response:
    try:
        etag = await store.receive(grant, _steady(request.stream()))
    except AlreadyExists as error:
        return _already_there(error)
    except UploadMismatch as error:
        return _wrong_length(error)
    except TimeoutError:
        return error_response(408, "upload_stalled", f"No byte came for {seconds_text(CHUNK_WITHIN_S)}. Send it again.")
    except ClientDisconnect:
        return Response(status_code=400)  # nobody is left to read it
    return Response(status_code=200, headers={"ETag": f'"{etag}"'})


async def _steady(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """A sender that goes silent must not keep a file and a connection open for ever."""
    while True:
        try:
            with anyio.fail_after(CHUNK_WITHIN_S):
                chunk = await anext(chunks)
        except StopAsyncIteration:
            return
        yield chunk


def _already_there(error: AlreadyExists) -> Response:
    return error_response(412, error.code, error.message)


def _wrong_length(error: UploadMismatch) -> Response:
    return error_response(403, "length_mismatch", error.message, error.facts)
