"""Bytes that come through the control plane itself: written as they come, their number known only at the end."""

from collections.abc import AsyncIterator

from comfyfleet.db import TenantTx
from comfyfleet.kernel.errors import NotFound
from comfyfleet.kernel.ids import FileId, TenantId, UserId, new_id
from comfyfleet.storage import sql
from comfyfleet.storage.announce import clean_name
from comfyfleet.storage.model import File, NewUpload, ObjectStore, StoredObject, file_key


def expect_stream(
    store: ObjectStore, tenant_id: TenantId, *, name: str, media_type: str, size_bytes_max: int
) -> NewUpload:
    """To be announced like any other upload, so that none is left in the store that nobody knows of."""
    file_id = FileId(new_id())
    key = file_key(tenant_id, file_id)
    return NewUpload(file_id, clean_name(name), store.disk, key, media_type, size_bytes_max, multipart_id=None)


async def receive_stream(store: ObjectStore, file: File, chunks: AsyncIterator[bytes]) -> StoredObject:
    """No transaction is open meanwhile. What is not finished leaves no object."""
    return await store.write_stream(file.key, chunks, media_type=file.media_type)


async def note_size(tx: TenantTx, file_id: FileId, user_id: UserId, size_bytes: int, *, sha256: str) -> File:
    """What was announced was the most that could come. It stays pending until somebody takes it."""
    row = await tx.maybe(sql.set_size(file_id, user_id, size_bytes=size_bytes, sha256=sha256))
    if row is None:
        raise NotFound("file", file_id)
    return File.from_row(row)
