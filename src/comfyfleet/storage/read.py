"""Look at files, and hand out their bytes."""

from collections.abc import Sequence

from comfyfleet.db import TenantTx
from comfyfleet.db.direct import each_of, length_of
from comfyfleet.kernel.errors import NotFound, StorageUnavailable, UploadMissing
from comfyfleet.kernel.ids import FileId, UserId
from comfyfleet.kernel.page import Page, PageRequest
from comfyfleet.storage import sql
from comfyfleet.storage.lifecycle import FileStatus
from comfyfleet.storage.model import File, ObjectStore, SignedRequest


async def read_file(tx: TenantTx, file_id: FileId, user_id: UserId) -> File:
    row = await tx.maybe(sql.by_id(file_id, user_id))
    if row is None or row.status == FileStatus.DELETED:
        raise NotFound("file", file_id)
    return File.from_row(row)


async def read_files(tx: TenantTx, file_ids: Sequence[FileId], user_id: UserId) -> dict[FileId, File]:
    """Those that are there; what is another's or deleted is left out."""
    if not file_ids:
        return {}
    rows = await tx.all(sql.by_ids(length_of(file_ids)), of_user=user_id, **each_of("file", file_ids))
    return {row.id: File.from_row(row) for row in rows}


async def list_files(tx: TenantTx, user_id: UserId, request: PageRequest) -> Page[File]:
    """Newest first."""
    rows = await tx.all(sql.file_page(user_id, after=request.after, rows=request.rows))
    return Page.cut([File.from_row(row) for row in rows], [row.id for row in rows], request)


def sign_download(store: ObjectStore, file: File, *, expires_s: int) -> SignedRequest:
    if file.status is not FileStatus.STORED:
        raise UploadMissing(file.id)
    require_same_disk(store, file)
    return store.presign_get(file.key, media_type=file.media_type, download_name=file.name, expires_s=expires_s)


def require_same_disk(store: ObjectStore, file: File) -> None:
    """The settings changed from one store to the other, and the objects were not moved along."""
    if file.disk != store.disk:
        raise StorageUnavailable(problem=f"file {file.id} is on {file.disk!r}, the store in use is {store.disk!r}")
