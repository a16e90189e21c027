"""The bytes have come: look at them, then say so in the row."""

from collections.abc import Sequence
from typing import Any

from comfyfleet.db import TenantTx
from comfyfleet.kernel.errors import AlreadyExists, InvalidInput, NotFound, UploadMismatch, UploadMissing
from comfyfleet.kernel.ids import FileId, UserId, new_id
from comfyfleet.storage import sql
from comfyfleet.storage.announce import clean_media_type, clean_name
from comfyfleet.storage.model import Disk, File, MadeFile, ObjectKey, ObjectStore, StoredObject, UploadedPart
from comfyfleet.storage.parts import check_parts
from comfyfleet.storage.read import read_file, require_same_disk


async def assemble_upload(store: ObjectStore, file: File, parts: Sequence[UploadedPart] = ()) -> StoredObject:
    """Find the object, or make it of its parts; there already is fine, so a crash before the row was written
    costs nothing. Joining gigabytes takes a while, so no transaction is open meanwhile."""
    require_same_disk(store, file)
    found = await store.head(file.key) or await _join(store, file, parts)
    if found.size_bytes != file.size_bytes:
        raise UploadMismatch(expected_bytes=file.size_bytes, found_bytes=found.size_bytes)
    return found


async def confirm_upload(tx: TenantTx, file_id: FileId, user_id: UserId) -> File:
    """Call it with the object found by `assemble_upload`. Confirming twice gives the stored file twice."""
    row = await tx.maybe(sql.mark_stored(file_id, user_id))
    # Somebody else was faster: confirmed it, which is as good, or deleted it, which is not.
    return File.from_row(row) if row is not None else await read_file(tx, file_id, user_id)


def made_file(
    key: ObjectKey,
    *,
    disk: Disk,
    name: str,
    media_type: str,
    size_bytes: int,
    metadata: dict[str, Any] | None = None,
) -> MadeFile:
    """An object that a worker made, found in the store before. What it is called is the worker's word, so that is made
    harmless, not refused: a result must not be lost for its name."""
    kind = clean_media_type(media_type)
    return MadeFile(FileId(new_id()), clean_name(name), disk, key, kind, size_bytes, metadata or {})


async def record_made(tx: TenantTx, made: Sequence[MadeFile], *, user_id: UserId) -> None:
    """From here on they are this user's files."""
    rows = [
        {
            "id": each.id,
            "user_id": user_id,
            "name": each.name,
            "disk": each.disk,
            "path": each.key,
            "mime_type": each.media_type,
            "size": each.size_bytes,
            "metadata": each.metadata,
        }
        for each in made
    ]
    if rows:
        await tx.run_each(sql.insert_made(), rows)


async def _join(store: ObjectStore, file: File, parts: Sequence[UploadedPart]) -> StoredObject:
    if file.multipart_id is None and parts:
        raise InvalidInput("parts", "this upload is a single PUT and has none")
    if file.multipart_id is None or not parts:
        raise UploadMissing(file.id)
    chosen = check_parts(parts, size_bytes=file.size_bytes)
    try:
        return await store.complete_multipart(file.key, file.multipart_id, chosen)
    except (AlreadyExists, NotFound):
        # Another confirmation joined them first, or there is nothing to join.
        found = await store.head(file.key)
    if found is None:
        raise UploadMissing(file.id)
    return found
