"""The bytes have come: look at them, then say so in the row."""

from collections.abc import Sequence

from comfyfleet.db import TenantTx
from comfyfleet.kernel.errors import AlreadyExists, InvalidInput, NotFound, UploadMismatch, UploadMissing
from comfyfleet.kernel.ids import FileId, UserId
from comfyfleet.storage import sql
from comfyfleet.storage.lifecycle import FileStatus
from comfyfleet.storage.model import File, ObjectStore, StoredObject, UploadedPart
from comfyfleet.storage.parts import check_parts
from comfyfleet.storage.read import read_file, require_same_disk


async def confirm_upload(
    tx: TenantTx, store: ObjectStore, file_id: FileId, user_id: UserId, *, parts: Sequence[UploadedPart] = ()
) -> File:
    """Confirming twice gives the stored file twice. `parts` is for an upload in parts."""
    file = await read_file(tx, file_id, user_id)
    if file.status is FileStatus.STORED:
        return file
    found = await assemble_upload(store, file, parts)
    if found.size_bytes != file.size_bytes:
        raise UploadMismatch(expected_bytes=file.size_bytes, found_bytes=found.size_bytes)
    row = await tx.maybe(sql.mark_stored(file_id, user_id))
    # Somebody else was faster: confirmed it, which is as good, or deleted it, which is not.
    return File.from_row(row) if row is not None else await read_file(tx, file_id, user_id)


async def assemble_upload(store: ObjectStore, file: File, parts: Sequence[UploadedPart] = ()) -> StoredObject:
    """Make one object of the parts; there already is fine, so a crash before the row was written costs nothing.

    `confirm_upload` does this itself. Joining gigabytes takes a while: an edge that must not keep its
    transaction open so long calls this first, without one.
    """
    require_same_disk(store, file)
    found = await store.head(file.key)
    if found is not None:
        return found
    if file.multipart_id is None and parts:
        raise InvalidInput("parts", "this upload is a single PUT and has none")
    if file.multipart_id is None or not parts:
        raise UploadMissing(file.id)
    try:
        return await store.complete_multipart(
            file.key, file.multipart_id, check_parts(parts, size_bytes=file.size_bytes)
        )
    except (AlreadyExists, NotFound):
        found = await store.head(file.key)
    if found is None:
        raise UploadMissing(file.id)
    return found
