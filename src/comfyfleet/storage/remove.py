"""A file goes: first from the books, then, once that is committed, from the store."""

from collections.abc import Sequence

from comfyfleet.db import PoolTx, TenantTx
from comfyfleet.kernel.errors import NotFound
from comfyfleet.kernel.ids import FileId, UserId
from comfyfleet.storage import sql
from comfyfleet.storage.model import File, ObjectStore, thumb_key
from comfyfleet.storage.read import require_same_disk
from comfyfleet.storage.thumbs import may_have_thumb


async def delete_file(tx: TenantTx, file_id: FileId, user_id: UserId) -> File:
    """From here on nobody sees it. Call `erase_object` after the commit, never before: a row that says stored
    must have its bytes.

    Deleting twice gives the file again, so that whoever crashed before erasing can come back and erase.
    """
    row = await tx.maybe(sql.mark_deleted(file_id, user_id)) or await tx.maybe(sql.by_id(file_id, user_id))
    if row is None:
        raise NotFound("file", file_id)
    return File.from_row(row)


async def delete_files(tx: TenantTx, file_ids: Sequence[FileId], user_id: UserId) -> list[File]:
    """Several at once, for whatever they belonged to. Those that were gone before do not come back."""
    rows = await tx.all(sql.mark_all_deleted(list(file_ids), user_id)) if file_ids else []
    return [File.from_row(row) for row in rows]


async def drop_files(tx: PoolTx, file_ids: Sequence[FileId]) -> list[File]:
    """The same for upkeep, whoever they belong to. An object that is not erased at once is erased by
    `collect_uploads` later."""
    rows = await tx.all(sql.drop_files(list(file_ids))) if file_ids else []
    return [File.from_row(row) for row in rows]


async def erase_object(store: ObjectStore, file: File) -> None:
    """With its thumb. Nothing there is fine: it may be called any number of times."""
    require_same_disk(store, file)
    if file.multipart_id is not None:
        await store.abort_multipart(file.key, file.multipart_id)
    await store.delete(file.key)
    if may_have_thumb(file):
        await store.delete(thumb_key(file.tenant_id, file.id))
