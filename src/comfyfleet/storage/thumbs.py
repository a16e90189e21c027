"""The small copy of a picture or a film, for pages that show many: made once, by whoever first asks for it.

It stands beside the file in the store and in no book. What is left of one that was made while its file was deleted
goes with the file's row: `collect_uploads` erases once more before it forgets.
"""

from contextlib import suppress
from functools import partial

from comfyfleet.kernel.errors import AlreadyExists, MediaRefused, NotFound, UploadMissing
from comfyfleet.media.model import FAMILIES, POSTER_TYPE
from comfyfleet.media.probe import Prober
from comfyfleet.storage.lifecycle import FileStatus
from comfyfleet.storage.model import MIB, File, ObjectStore, thumb_key
from comfyfleet.storage.read import require_same_disk

# What stands in place of a picture that cannot be read: nobody tries again.
NOTHING = b""


def may_have_thumb(file: File) -> bool:
    return file.media_type in FAMILIES


async def read_thumb(store: ObjectStore, prober: Prober, file: File) -> bytes:
    """Raises NotFound for what is no picture and no film, or cannot be read as one; `ProbeOverdue` when too many
    others wait for theirs."""
    if not may_have_thumb(file):
        raise NotFound("thumb", file.id)
    if file.status is not FileStatus.STORED:
        raise UploadMissing(file.id)
    require_same_disk(store, file)
    try:
        thumb = await store.read(thumb_key(file.tenant_id, file.id), bytes_max=MIB)
    except NotFound:
        thumb = await _draw(store, prober, file)
    if not thumb:
        raise NotFound("thumb", file.id)
    return thumb


async def has_thumb(store: ObjectStore, file: File) -> bool:
    return await store.head(thumb_key(file.tenant_id, file.id)) is not None


async def _draw(store: ObjectStore, prober: Prober, file: File) -> bytes:
    read = partial(store.read_range, file.key)
    try:
        thumb = await prober.thumb(
            read, size_bytes=file.size_bytes, media_type=file.media_type, field="file", owner=file.user_id
        )
    except MediaRefused:
        thumb = NOTHING
    with suppress(AlreadyExists):  # two asked at the same time, and one was faster
        await store.write(thumb_key(file.tenant_id, file.id), thumb, media_type=POSTER_TYPE)
    return thumb
