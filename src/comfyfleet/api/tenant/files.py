"""A user's files: announce, PUT the bytes to the signed URL, confirm, read back."""

from datetime import datetime
from functools import partial
from typing import Annotated, Any, Literal, Self

import anyio.to_thread
from fastapi import APIRouter, Depends, Response
from pydantic import Field

from comfyfleet import jobs, storage
from comfyfleet.api.bodies import Body, View, page_request
from comfyfleet.api.options import ApiOptions
from comfyfleet.api.policy import TenantCaller, TenantViewer, TheHouse, TheOptions, home_of
from comfyfleet.api.tenant.intake import Intake, take_in_file
from comfyfleet.kernel.ids import FileId
from comfyfleet.kernel.origin import absolute
from comfyfleet.kernel.page import PageRequest
from comfyfleet.media.model import POSTER_TYPE
from comfyfleet.storage import Announced, File, FileStatus, ObjectStore, SignedRequest, SingleUpload, UploadedPart
from comfyfleet.tenants import Caller, Scope

router = APIRouter(prefix="/files", tags=["files"])

Reader = Annotated[Caller, Depends(TenantCaller(Scope.READ))]
Viewer = Annotated[Caller, Depends(TenantViewer())]
Writer = Annotated[Caller, Depends(TenantCaller(Scope.WRITE))]

SIZE_MAX = 2**53 - 1
PARTS_MAX = 10_000
THUMB: dict[int | str, dict[str, Any]] = {
    200: {"description": "A WebP.", "content": {POSTER_TYPE: {"schema": {"type": "string", "format": "binary"}}}}
}
# It never changes: a page that shows a thousand of them asks once.
THUMB_HEADERS = {"Cache-Control": "private, max-age=86400, immutable", "X-Content-Type-Options": "nosniff"}


class NewFileBody(Body):
    name: Annotated[str, Field(min_length=1, max_length=255)]
    mime_type: Annotated[str, Field(min_length=3, max_length=127, examples=["image/png"])]
    size: Annotated[int, Field(ge=1, le=SIZE_MAX, description="Bytes.")]


class PartBody(Body):
    number: Annotated[int, Field(ge=1, le=PARTS_MAX)]
    etag: Annotated[str, Field(min_length=1, max_length=128)]


class ConfirmBody(Body):
    parts: list[PartBody] = Field([], max_length=PARTS_MAX)


class FileView(View):
    """`sha256`: of its bytes, where it is known. `metadata`: of one that a job made, which attempt and which node."""

    id: FileId
    name: str
    mime_type: str
    size: int
    sha256: str | None
    metadata: dict[str, Any]
    status: FileStatus
    created_at: datetime
    stored_at: datetime | None

    @classmethod
    def of(cls, file: File) -> Self:
        return cls(
            id=file.id,
            name=file.name,
            mime_type=file.media_type,
            size=file.size_bytes,
            sha256=file.sha256,
            metadata=file.metadata,
            status=file.status,
            created_at=file.created_at,
            stored_at=file.stored_at,
        )


class RequestView(View):
    """Send it as it stands: method, URL and every header are covered by the signature."""

    method: Literal["GET", "PUT"]
    url: str
    headers: dict[str, str]
    expires_in_s: int

    @classmethod
    def of(cls, request: SignedRequest) -> Self:
        return cls(
            method=request.method,
            url=request.url,
            headers=dict(request.headers),
            expires_in_s=request.expires_in_s,
        )


class UploadView(View):
    """One request, or for a large file one per part: `part_size` bytes each, the last one what is left."""

    requests: list[RequestView]
    part_size: int | None


class AnnouncedView(View):
    file: FileView
    upload: UploadView

    @classmethod
    def of(cls, announced: Announced) -> Self:
        upload = announced.upload
        if isinstance(upload, SingleUpload):
            view = UploadView(requests=[RequestView.of(upload.request)], part_size=None)
        else:
            requests = [RequestView.of(each) for each in upload.requests]
            view = UploadView(requests=requests, part_size=upload.part_size_bytes)
        return cls(file=FileView.of(announced.file), upload=view)


class StoredView(View):
    """`download` is there once the bytes are."""

    file: FileView
    download: RequestView | None


class FilePage(View):
    files: list[FileView]
    next_cursor: str | None


@router.post("", status_code=201)
async def announce_file(body: NewFileBody, caller: Writer, house: TheHouse, options: TheOptions) -> AnnouncedView:
    """Say what will come; the answer is the signed request, or requests, that carry the bytes."""
    home = home_of(caller)
    upload = await storage.prepare_upload(
        house.store,
        home.tenant_id,
        name=body.name,
        media_type=body.mime_type,
        size_bytes=body.size,
        size_bytes_max=options.upload_bytes_max,
    )
    async with house.tenant_tx(home) as tx:
        quota = house.quota_of(home)
        file = await storage.announce_upload(tx, upload, user_id=caller.user_id, quota_bytes=quota)
    return AnnouncedView.of(await sign_upload(house.store, file, options))


@router.get("")
async def get_files(caller: Reader, house: TheHouse, page: Annotated[PageRequest, Depends(page_request)]) -> FilePage:
    """Newest first."""
    async with house.tenant_tx(home_of(caller), read_only=True) as tx:
        found = await storage.list_files(tx, caller.user_id, page)
    return FilePage(files=[FileView.of(file) for file in found.rows], next_cursor=found.next_cursor)


@router.get("/{file_id}")
async def get_file(file_id: FileId, caller: Reader, house: TheHouse, options: TheOptions) -> StoredView:
    """One file, with a signed download once its bytes are there."""
    async with house.tenant_tx(home_of(caller), read_only=True) as tx:
        file = await storage.read_file(tx, file_id, caller.user_id)
    if file.status is not FileStatus.STORED:
        return StoredView(file=FileView.of(file), download=None)
    download = storage.sign_download(house.store, file, expires_s=options.url_ttl_s)
    return StoredView(file=FileView.of(file), download=RequestView.of(download))


@router.get("/{file_id}/thumb", response_class=Response, responses=THUMB)
async def get_thumb(file_id: FileId, caller: Viewer, house: TheHouse) -> Response:
    """A small copy of a picture, or of a frame of a film: 256 pixels on its longer side."""
    async with house.tenant_tx(home_of(caller), read_only=True) as tx:
        file = await storage.read_file(tx, file_id, caller.user_id)
    thumb = await storage.read_thumb(house.store, house.prober, file)
    return Response(thumb, media_type=POSTER_TYPE, headers=THUMB_HEADERS)


@router.post("/{file_id}/upload")
async def renew_upload(file_id: FileId, caller: Writer, house: TheHouse, options: TheOptions) -> AnnouncedView:
    """Fresh URLs for an upload that is not finished, when the first ones have expired."""
    async with house.tenant_tx(home_of(caller), read_only=True) as tx:
        file = await storage.read_unfinished(tx, file_id, caller.user_id)
    return AnnouncedView.of(await sign_upload(house.store, file, options))


@router.post("/{file_id}/confirm")
async def confirm_file(file_id: FileId, body: ConfirmBody, caller: Writer, house: TheHouse) -> FileView:
    """All bytes are there. For an upload in parts, name each part with the ETag its PUT was answered with.

    A picture or a film is looked at, as for a video."""
    parts = [UploadedPart(part.number, part.etag) for part in body.parts]
    return FileView.of(
        await take_in_file(house, Intake(home_of(caller), caller.user_id, file_id, parts, field="file_id"))
    )


@router.delete("/{file_id}", status_code=204, response_class=Response)
async def delete_file(file_id: FileId, caller: Writer, house: TheHouse) -> None:
    """Delete a file and its bytes. Deleting twice is fine. One that a job under way works on is kept."""
    async with house.tenant_tx(home_of(caller)) as tx:
        await jobs.require_unused(tx, [file_id], caller.user_id)
        file = await storage.delete_file(tx, file_id, caller.user_id)
    await storage.erase_object(house.store, file)


def thumb_url(file: File | None) -> str | None:
    """Always the same for the same file, so that browsers keep what they fetched."""
    is_there = file is not None and file.status is FileStatus.STORED and storage.may_have_thumb(file)
    return absolute(f"/api/files/{file.id}/thumb") if file is not None and is_there else None


async def sign_upload(store: ObjectStore, file: File, options: ApiOptions) -> Announced:
    """In a thread, with no transaction open: hundreds of parts take a second, and S3 may renew its credentials."""
    return await anyio.to_thread.run_sync(partial(storage.sign_upload, store, file, expires_s=options.url_ttl_s))
