"""An upload becomes a video: found, looked at, given a poster, written down. Or a file for another property: looked at,
and no more. The stories of `POST /api/videos` and `POST /api/files/{id}/confirm`."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from comfyfleet import storage, videos
from comfyfleet.house import House
from comfyfleet.kernel.errors import MediaRefused, UploadMismatch
from comfyfleet.kernel.ids import FileId, UserId
from comfyfleet.media.model import MEDIA_TYPES, POSTER_TYPE, Looked, kind_of
from comfyfleet.storage import File, FileStatus, UploadedPart
from comfyfleet.tenants import Home
from comfyfleet.videos import NewVideo, Video

POSTER_NAME_CHARS_MAX = 200


@dataclass(frozen=True, slots=True)
class Intake:
    """Whose upload, which, and the name of the field that says so: a refusal names it."""

    home: Home
    user_id: UserId
    file_id: FileId
    parts: Sequence[UploadedPart] = ()
    title: str | None = None
    field: str = "original_file_id"


async def take_in(house: House, intake: Intake) -> Video:
    """The same upload again is the same video. No transaction is open while the store or the prober works.

    What is refused for its bytes is deleted at once; what a crash leaves behind is pending, and upkeep collects it.
    """
    async with house.tenant_tx(intake.home, read_only=True) as tx:
        file = await storage.read_file(tx, intake.file_id, intake.user_id)
        known = await videos.find_video(tx, intake.file_id, intake.user_id)
    if known is not None:
        return known
    _require_taken(house, intake, file)
    looked = await _look(house, intake, file)
    poster = await _keep_poster(house, intake, file, looked.poster)
    new = NewVideo(
        user_id=intake.user_id,
        title=intake.title or file.name,
        original_file_id=file.id,
        poster_file_id=poster.id,
        media_type=file.media_type,
        width=looked.width,
        height=looked.height,
        duration_s=looked.duration_s,
    )
    async with house.tenant_tx(intake.home) as tx:
        return await videos.create_video(tx, new)


async def take_in_file(house: House, intake: Intake) -> File:
    """For any other use. A picture or a film is looked at here too: a job may be given it for one of its properties.

    The same upload again is the same file.
    """
    async with house.tenant_tx(intake.home, read_only=True) as tx:
        file = await storage.read_file(tx, intake.file_id, intake.user_id)
    if file.status is not FileStatus.STORED:
        if file.media_type in MEDIA_TYPES:
            _require_taken(house, intake, file)
            await _look(house, intake, file)
        else:
            await storage.assemble_upload(house.store, file, intake.parts)
    async with house.tenant_tx(intake.home) as tx:
        return await storage.confirm_upload(tx, intake.file_id, intake.user_id)


def _require_taken(house: House, intake: Intake, file: File) -> None:
    """A file that came by another door may be of any type and size; it is not thrown away for that."""
    rules = house.prober.rules
    if file.media_type not in MEDIA_TYPES:
        raise MediaRefused(intake.field, f"is {file.media_type}; {', '.join(MEDIA_TYPES)} are taken")
    if kind_of(file.media_type) == "image" and file.size_bytes > rules.image_bytes_max:
        raise MediaRefused(intake.field, f"has more than {rules.image_bytes_max} bytes")


async def _look(house: House, intake: Intake, file: File) -> Looked:
    try:
        if file.status is not FileStatus.STORED:
            await storage.assemble_upload(house.store, file, intake.parts)
        return await house.prober.probe(
            partial(house.store.read_range, file.key),
            size_bytes=file.size_bytes,
            media_type=file.media_type,
            field=intake.field,
            owner=intake.home.tenant_id,
        )
    except (MediaRefused, UploadMismatch):
        await _throw_away(house, intake, file)
        raise


async def _throw_away(house: House, intake: Intake, file: File) -> None:
    """A file that was stored before is its owner's, whatever it is; an upload that is not what it says is not."""
    if file.status is FileStatus.STORED:
        return
    async with house.tenant_tx(intake.home) as tx:
        deleted = await storage.delete_file(tx, file.id, intake.user_id)
    await storage.erase_object(house.store, deleted)


async def _keep_poster(house: House, intake: Intake, file: File, poster: bytes) -> File:
    """Announced before it is written, like every file: so none is left in the store that nobody knows of."""
    announced = await storage.prepare_upload(
        house.store,
        intake.home.tenant_id,
        name=f"{file.name[:POSTER_NAME_CHARS_MAX]}.poster.webp",
        media_type=POSTER_TYPE,
        size_bytes=len(poster),
    )
    async with house.tenant_tx(intake.home) as tx:
        pending = await storage.announce_upload(tx, announced, user_id=intake.user_id)
    await house.store.write(pending.key, poster, media_type=POSTER_TYPE)
    return pending
