"""Files that come with a call: streamed to the store, taken in as the user's own, or thrown away without a trace."""

import hashlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import partial

import anyio
import structlog

from comfyfleet import storage, videos
from comfyfleet.api.forms import Part
from comfyfleet.api.tenant.intake import Intake, take_in
from comfyfleet.house import House
from comfyfleet.kernel.errors import FleetError, InvalidInput, MediaRefused
from comfyfleet.kernel.ids import FileId, TenantId, UserId, VideoId
from comfyfleet.media.model import MEDIA_TYPES, kind_of
from comfyfleet.media.sniff import HEAD_BYTES, describe, name_type, require_type
from comfyfleet.storage import File
from comfyfleet.tenants import Home

# Each holds some MiB while it comes; a bucket takes them in parts.
UPLOADS_MAX = 16

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Received:
    """`field`: what a refusal names."""

    file: File
    sha256: str
    field: str


class Inbox:
    """The files of one call."""

    def __init__(self, house: House, home: Home, user_id: UserId, *, bytes_max: int) -> None:
        self._house, self._home, self._user_id, self._bytes_max = house, home, user_id, bytes_max
        self._announced: list[File] = []
        self._videos: list[VideoId] = []

    @property
    def tenant_id(self) -> TenantId:
        return self._home.tenant_id

    async def receive(self, part: Part, content: AsyncIterator[bytes], *, field: str) -> Received:
        """Announced before it is written, like every file: what a crash leaves behind, upkeep collects."""
        head, rest = await _peek(content)
        media_type = _type_of(part, head, field)
        bytes_max = self._bytes_max
        if kind_of(media_type) == "image":
            bytes_max = min(bytes_max, self._house.prober.rules.image_bytes_max)
        upload = storage.expect_stream(
            self._house.store,
            self._home.tenant_id,
            name=part.file_name or field,
            media_type=media_type,
            size_bytes_max=bytes_max,
        )
        async with self._house.tenant_tx(self._home) as tx:
            quota = self._house.quota_of(self._home)
            file = await storage.announce_upload(tx, upload, user_id=self._user_id, quota_bytes=quota)
        self._announced.append(file)
        meter = _Meter(field, bytes_max)
        await storage.receive_stream(self._house.store, file, meter.read(head, rest))
        sha256 = meter.digest.hexdigest()
        async with self._house.tenant_tx(self._home) as tx:
            file = await storage.note_size(tx, file.id, self._user_id, meter.size_bytes, sha256=sha256)
        return Received(file, sha256, field)

    async def become_video(self, received: Received) -> VideoId:
        intake = Intake(self._home, self._user_id, received.file.id, field=received.field)
        video = await take_in(self._house, intake)
        self._videos.append(video.id)
        return video.id

    async def become_file(self, received: Received) -> FileId:
        """Looked at as a video would be: what it is used for must be able to read it."""
        file = received.file
        await self._house.prober.probe(
            partial(self._house.store.read_range, file.key),
            size_bytes=file.size_bytes,
            media_type=file.media_type,
            field=received.field,
            owner=self._home.tenant_id,
        )
        async with self._house.tenant_tx(self._home) as tx:
            return (await storage.confirm_upload(tx, file.id, self._user_id)).id

    async def throw_away(self) -> None:
        """Also when the caller has gone. A store or a database that is away leaves it to upkeep."""
        with anyio.CancelScope(shield=True):
            try:
                await self._throw_away()
            except FleetError as problem:
                log.warning("inbox.left_behind", files=len(self._announced), problem=problem.code)

    async def _throw_away(self) -> None:
        if not self._announced:
            return
        async with self._house.tenant_tx(self._home) as tx:
            made = [await videos.delete_video(tx, video_id, self._user_id) for video_id in self._videos]
            files = [await storage.delete_file(tx, file.id, self._user_id) for file in self._announced]
        for file in [*files, *(file for group in made for file in group)]:
            await storage.erase_object(self._house.store, file)


class _Meter:
    """Counts, hashes, and ends what is too much."""

    def __init__(self, field: str, bytes_max: int) -> None:
        self._field, self._bytes_max = field, bytes_max
        self.digest, self.size_bytes = hashlib.sha256(), 0

    async def read(self, head: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        yield self._measured(head)
        async for piece in rest:
            yield self._measured(piece)

    def _measured(self, piece: bytes) -> bytes:
        self.size_bytes += len(piece)
        if self.size_bytes > self._bytes_max:
            raise MediaRefused(self._field, f"has more than {self._bytes_max} bytes")
        self.digest.update(piece)
        return piece


async def _peek(content: AsyncIterator[bytes]) -> tuple[bytes, AsyncIterator[bytes]]:
    head = bytearray()
    while len(head) < HEAD_BYTES and (piece := await anext(content, b"")):
        head += piece
    return bytes(head), content


def _type_of(part: Part, head: bytes, field: str) -> str:
    """What its sender says, if it says something that is taken; else by its first bytes, for curl knows no films."""
    if not head:
        raise InvalidInput(field, "is empty")
    media_type = part.media_type if part.media_type in MEDIA_TYPES else name_type(head)
    if media_type is None:
        raise MediaRefused(field, f"holds {describe(head)}; {', '.join(MEDIA_TYPES)} are taken")
    require_type(head, media_type, field=field)
    return media_type
