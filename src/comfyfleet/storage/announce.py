"""A file is announced before its bytes come: what, how large, and by which signed requests."""

import re
import unicodedata

from comfyfleet.db import TenantTx
from comfyfleet.kernel.errors import IllegalMove, InvalidInput
from comfyfleet.kernel.ids import FileId, TenantId, UserId, new_id
from comfyfleet.storage import sql
from comfyfleet.storage.lifecycle import FILE, FileEvent
from comfyfleet.storage.model import Announced, File, NewUpload, ObjectStore, PartsUpload, SingleUpload, file_key
from comfyfleet.storage.parts import part_size, plan_parts
from comfyfleet.storage.quota import require_quota
from comfyfleet.storage.read import read_file, require_same_disk

NAME_CHARS_MAX = 255
MEDIA_TYPE_CHARS_MAX = 127
UPLOAD_BYTES_MAX = 5 * 1024**3

_MEDIA_TYPE = re.compile(r"[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]*/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]*")


async def prepare_upload(
    store: ObjectStore,
    tenant_id: TenantId,
    *,
    name: str,
    media_type: str,
    size_bytes: int,
    size_bytes_max: int = UPLOAD_BYTES_MAX,
) -> NewUpload:
    """Check what is announced and, for a large file, open a multipart in the store. No transaction is open
    meanwhile; a crash before the row is written leaves at most an empty multipart, which the store ages out."""
    _check_name(name)
    _check_media_type(media_type)
    if not 1 <= size_bytes <= size_bytes_max:
        raise InvalidInput("size", f"must be from 1 to {size_bytes_max}")
    in_parts = len(plan_parts(size_bytes)) > 1
    await store.require_space(size_bytes * (2 if in_parts else 1))  # parts are joined into a second copy
    file_id = FileId(new_id())
    key = file_key(tenant_id, file_id)
    multipart_id = await store.start_multipart(key, media_type=media_type) if in_parts else None
    return NewUpload(file_id, name, store.disk, key, media_type, size_bytes, multipart_id)


async def announce_upload(tx: TenantTx, upload: NewUpload, *, user_id: UserId, quota_bytes: int | None = None) -> File:
    """The row is there before any byte, and stays pending until they are confirmed. Sign it after the commit.

    `quota_bytes`: what the tenant's files may have together. Raises StorageQuotaExceeded.
    """
    await require_quota(tx, upload.size_bytes, limit_bytes=quota_bytes)
    return File.from_row(await tx.one(sql.insert_file(upload, user_id=user_id)))


async def read_unfinished(tx: TenantTx, file_id: FileId, user_id: UserId) -> File:
    """A file whose bytes have not all come: its requests may be signed again."""
    file = await read_file(tx, file_id, user_id)
    if file.status not in FILE.sources(FileEvent.STORE):
        raise IllegalMove("file", state=file.status, event="upload")
    return file


def sign_upload(store: ObjectStore, file: File, *, expires_s: int) -> Announced:
    """The same file always gets the same plan, so this can be done again when the first requests have expired."""
    require_same_disk(store, file)
    if file.multipart_id is None:
        request = store.presign_put(
            file.key, media_type=file.media_type, size_bytes=file.size_bytes, expires_s=expires_s
        )
        return Announced(file, SingleUpload(request))
    requests = [
        store.presign_part(file.key, file.multipart_id, number, size_bytes=size, expires_s=expires_s)
        for number, size in enumerate(plan_parts(file.size_bytes), start=1)
    ]
    return Announced(file, PartsUpload(requests, part_size(file.size_bytes)))


def _check_name(name: str) -> None:
    if not 1 <= len(name) <= NAME_CHARS_MAX:
        raise InvalidInput("name", f"must have 1 to {NAME_CHARS_MAX} characters")
    # Control characters break headers and logs; lone surrogates cannot be written down at all.
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in name):
        raise InvalidInput("name", "must not hold control characters")
    if name in (".", "..") or "/" in name or "\\" in name:
        raise InvalidInput("name", "must be a file name, not a path")


def _check_media_type(media_type: str) -> None:
    if len(media_type) > MEDIA_TYPE_CHARS_MAX or not _MEDIA_TYPE.fullmatch(media_type):
        raise InvalidInput("mime_type", "must be a type such as 'image/png', without parameters")


def clean_name(name: str) -> str:
    """What is left of a name when all that `_check_name` refuses is taken away."""
    last = name.replace("\\", "/").rsplit("/", 1)[-1]
    kept = "".join(each for each in last if unicodedata.category(each) not in ("Cc", "Cs"))[-NAME_CHARS_MAX:]
    return kept if kept not in ("", ".", "..") else "output"


def clean_media_type(media_type: str) -> str:
    plain = media_type.partition(";")[0].strip()
    is_good = len(plain) <= MEDIA_TYPE_CHARS_MAX and _MEDIA_TYPE.fullmatch(plain) is not None
    return plain if is_good else "application/octet-stream"
