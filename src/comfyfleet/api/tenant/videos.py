"""A user's media: announce an upload, PUT it, make a video of it, watch what becomes of it."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Annotated, Literal, Self

import anyio.to_thread
from fastapi import APIRouter, Depends, Query, Response
from pydantic import Field

from comfyfleet import jobs, storage, videos
from comfyfleet.api.bodies import Body, View, page_request
from comfyfleet.api.policy import TenantCaller, TheHouse, TheOptions, home_of
from comfyfleet.api.tenant.files import PARTS_MAX, AnnouncedView, NewFileBody, PartBody, sign_upload, thumb_url
from comfyfleet.api.tenant.intake import Intake, take_in
from comfyfleet.house import House
from comfyfleet.kernel.ids import FileId, JobId, VideoId
from comfyfleet.kernel.page import PageRequest
from comfyfleet.storage import File, FileStatus, ObjectStore, UploadedPart
from comfyfleet.tenants import Caller, Scope
from comfyfleet.videos import TITLE_CHARS_MAX, Video, VideoStatus

router = APIRouter(prefix="/videos", tags=["videos"])

Reader = Annotated[Caller, Depends(TenantCaller(Scope.READ))]
Writer = Annotated[Caller, Depends(TenantCaller(Scope.WRITE))]


class NewVideoBody(Body):
    original_file_id: FileId
    title: Annotated[str | None, Field(max_length=TITLE_CHARS_MAX, description="Default: the file's name.")] = None
    parts: list[PartBody] = Field([], max_length=PARTS_MAX, description="Of an upload in parts: each with its ETag.")


class ProcessingDetails(View):
    """How a result was made: for how long a server worked on it, which worker had it, and how many files it left."""

    duration_seconds: float | None
    worker: str | None
    outputs: int | None


class VideoView(View):
    """URLs are signed for this answer and expire; one is there while its file is. `error` says why it failed,
    `processing_details` how a completed one was made.

    `thumb_url`: of the result, or of the upload while there is none; it does not expire.
    """

    id: VideoId
    title: str
    status: VideoStatus
    job_id: JobId | None
    mime_type: str | None
    width: int | None
    height: int | None
    duration_seconds: float | None
    original_file_id: FileId | None
    original_file_url: str | None
    processed_file_id: FileId | None
    processed_file_url: str | None
    poster_url: str | None
    thumb_url: str | None
    error: str | None
    processing_details: ProcessingDetails | None
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, video: Video, urls: Mapping[FileId, str], files: Mapping[FileId, File]) -> Self:
        def url(file_id: FileId | None) -> str | None:
            return urls.get(file_id) if file_id is not None else None

        shown = [each for each in (video.processed_file_id, video.original_file_id) if each is not None]
        return cls(
            id=video.id,
            title=video.title,
            status=video.status,
            job_id=video.job_id,
            mime_type=video.media_type,
            width=video.width,
            height=video.height,
            duration_seconds=video.duration_s,
            original_file_id=video.original_file_id,
            original_file_url=url(video.original_file_id),
            processed_file_id=video.processed_file_id,
            processed_file_url=url(video.processed_file_id),
            poster_url=url(video.poster_file_id),
            thumb_url=next((found for each in shown if (found := thumb_url(files.get(each)))), None),
            error=video.error,
            processing_details=_details(video),
            created_at=video.created_at,
            updated_at=video.updated_at,
        )


def _details(video: Video) -> ProcessingDetails | None:
    told = video.processing_details
    if video.status is not VideoStatus.COMPLETED or "outputs" not in told:
        return None
    return ProcessingDetails(
        duration_seconds=told.get("duration_seconds"), worker=told.get("worker"), outputs=told["outputs"]
    )


class VideoPage(View):
    videos: list[VideoView]
    next_cursor: str | None


@router.post("/uploads", status_code=201)
async def announce_video(body: NewFileBody, caller: Writer, house: TheHouse, options: TheOptions) -> AnnouncedView:
    """Say what will come; the answer is the signed request, or requests, that carry the bytes."""
    home, bytes_max = home_of(caller), options.upload_bytes_max
    videos.check_announced(body.mime_type, body.size, house.prober.rules, size_bytes_max=bytes_max)
    upload = await storage.prepare_upload(
        house.store,
        home.tenant_id,
        name=body.name,
        media_type=body.mime_type,
        size_bytes=body.size,
        size_bytes_max=bytes_max,
    )
    async with house.tenant_tx(home) as tx:
        quota = house.quota_of(home)
        file = await storage.announce_upload(tx, upload, user_id=caller.user_id, quota_bytes=quota)
    return AnnouncedView.of(await sign_upload(house.store, file, options))


@router.post("", status_code=201)
async def create_video(body: NewVideoBody, caller: Writer, house: TheHouse, options: TheOptions) -> VideoView:
    """The bytes are there: they are looked at, and become a video. The same upload again is the same video."""
    parts = [UploadedPart(part.number, part.etag) for part in body.parts]
    intake = Intake(home_of(caller), caller.user_id, body.original_file_id, parts, body.title)
    [view] = await view_videos(house, caller, [await take_in(house, intake)], expires_s=options.url_ttl_s)
    return view


@router.get("")
async def get_videos(
    caller: Reader,
    house: TheHouse,
    options: TheOptions,
    page: Annotated[PageRequest, Depends(page_request)],
    status: VideoStatus | None = None,
    kind: Annotated[Literal["image", "video"] | None, Query(description="Of the upload.")] = None,
) -> VideoPage:
    """Newest first."""
    async with house.tenant_tx(home_of(caller), read_only=True) as tx:
        found = await videos.list_videos(tx, caller.user_id, page, status=status, kind=kind)
    views = await view_videos(house, caller, found.rows, expires_s=options.url_ttl_s)
    return VideoPage(videos=views, next_cursor=found.next_cursor)


@router.get("/{video_id}")
async def get_video(video_id: VideoId, caller: Reader, house: TheHouse, options: TheOptions) -> VideoView:
    """One video. `completed`, `failed` and `expired` do not change by themselves any more: stop polling then."""
    async with house.tenant_tx(home_of(caller), read_only=True) as tx:
        found = await videos.read_video(tx, video_id, caller.user_id)
    [view] = await view_videos(house, caller, [found], expires_s=options.url_ttl_s)
    return view


@router.delete("/{video_id}", status_code=204, response_class=Response)
async def delete_video(video_id: VideoId, caller: Writer, house: TheHouse) -> None:
    """Delete a video, its files and their bytes. One that a job works on is kept: cancel the job first."""
    async with house.tenant_tx(home_of(caller)) as tx:
        found = await videos.read_video(tx, video_id, caller.user_id)
        await jobs.require_unused(tx, found.file_ids, caller.user_id)
        files = await videos.delete_video(tx, video_id, caller.user_id)
    for file in files:
        await storage.erase_object(house.store, file)


async def view_videos(house: House, caller: Caller, found: Sequence[Video], *, expires_s: int) -> list[VideoView]:
    file_ids = [file_id for video in found for file_id in video.file_ids]
    async with house.tenant_tx(home_of(caller), read_only=True) as tx:
        files = await storage.read_files(tx, file_ids, caller.user_id)
    # In a thread: hundreds of signatures take a while, and S3 may renew its credentials.
    urls = await anyio.to_thread.run_sync(partial(sign_files, house.store, list(files.values()), expires_s=expires_s))
    return [VideoView.of(video, urls, files) for video in found]


def sign_files(store: ObjectStore, files: Sequence[File], *, expires_s: int) -> dict[FileId, str]:
    """A file on a store that is not in use has no URL: the rest of the answer is still true."""
    return {
        file.id: storage.sign_download(store, file, expires_s=expires_s).url
        for file in files
        if file.status is FileStatus.STORED and file.disk == store.disk
    }
