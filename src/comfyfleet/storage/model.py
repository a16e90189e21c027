"""Files, the objects that hold their bytes, and the requests by which bytes move."""

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NewType, Protocol, Self
from urllib.parse import quote
from uuid import UUID

from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.kernel.ids import FileId, TenantId, UserId
from comfyfleet.storage.lifecycle import FileStatus

MIB = 1024**2
KEY_CHARS_MAX = 512
NAMES_MAX = 100_000
URL_LIFE_S_MAX = 7 * 86_400  # what S3 allows

Disk = Literal["s3", "local"]
ObjectKey = NewType("ObjectKey", str)

# No segment starts with a dot, so none is hidden, "." or "..".
_SEGMENT = r"[a-z0-9][a-z0-9._-]{0,127}"
_KEY = re.compile(rf"{_SEGMENT}(?:/{_SEGMENT})*")


def check_key(text: str) -> ObjectKey:
    """The back ends call it too: a key that is not made of ids must not become a path or a URL."""
    if len(text) > KEY_CHARS_MAX or not _KEY.fullmatch(text):
        raise InvalidInput("key", "is not an object key")
    return ObjectKey(text)


def object_key(*segments: str | UUID) -> ObjectKey:
    """A key from ids and fixed words. Nothing that a user wrote belongs in it."""
    return check_key("/".join(str(segment) for segment in segments))


def file_key(tenant_id: TenantId, file_id: FileId) -> ObjectKey:
    return object_key("tenants", tenant_id, "files", file_id)


def thumb_key(tenant_id: TenantId, file_id: FileId) -> ObjectKey:
    """Beside the file, and not in the books: it goes with the file."""
    return object_key("tenants", tenant_id, "thumbs", file_id)


def check_names(names: list[str], *, names_max: int | None) -> list[str]:
    if names_max is not None:
        return sorted(names)[:names_max]
    if len(names) > NAMES_MAX:
        raise InvalidInput("prefix", f"holds more than {NAMES_MAX} names")
    return sorted(names)


def check_url_life(expires_s: int) -> int:
    if not 1 <= expires_s <= URL_LIFE_S_MAX:
        raise InvalidInput("expires_s", f"must be from 1 to {URL_LIFE_S_MAX}")
    return expires_s


def put_headers(media_type: str, size_bytes: int | None) -> dict[str, str]:
    length = {} if size_bytes is None else {"Content-Length": str(size_bytes)}
    return {"Content-Type": media_type, **length, "If-None-Match": "*"}


def content_disposition(download_name: str | None) -> str:
    """Always a download, never a page: what users upload must not run in anybody's browser."""
    if download_name is None:
        return "attachment"
    plain = re.sub(r"[^A-Za-z0-9._-]", "_", download_name)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(download_name, safe='')}"


@dataclass(frozen=True, slots=True)
class SignedRequest:
    """A request that works without further credentials until it expires. Its headers must be sent as they stand."""

    method: Literal["GET", "PUT"]
    url: str = field(repr=False)  # whoever reads it in a log could use it
    headers: Mapping[str, str]
    expires_in_s: int


@dataclass(frozen=True, slots=True)
class StoredObject:
    key: ObjectKey
    size_bytes: int
    etag: str


@dataclass(frozen=True, slots=True)
class UploadedPart:
    """`etag` is the ETag header that answered the part's PUT."""

    number: int
    etag: str


@dataclass(frozen=True, slots=True)
class SingleUpload:
    request: SignedRequest


@dataclass(frozen=True, slots=True)
class PartsUpload:
    """Request n carries part n + 1: `part_size_bytes` of the file, the last one what is left."""

    requests: Sequence[SignedRequest]
    part_size_bytes: int


@dataclass(frozen=True, slots=True)
class NewUpload:
    """A file that may come: checked, with its place in the store, and not yet in the books."""

    id: FileId
    name: str
    disk: Disk
    key: ObjectKey
    media_type: str
    size_bytes: int
    multipart_id: str | None


@dataclass(frozen=True, slots=True)
class MadeFile:
    """One that a worker made. `metadata`: by which attempt, from which node."""

    id: FileId
    name: str
    disk: Disk
    key: ObjectKey
    media_type: str
    size_bytes: int
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class File:
    """`sha256`: of its bytes, where this server received and counted them. `metadata`: as of a `MadeFile`."""

    id: FileId
    tenant_id: TenantId
    user_id: UserId
    name: str
    disk: Disk
    key: ObjectKey
    media_type: str
    size_bytes: int
    status: FileStatus
    multipart_id: str | None
    created_at: datetime
    stored_at: datetime | None
    sha256: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_row(cls, row: Any) -> Self:
        return cls(
            id=row.id,
            tenant_id=row.tenant_id,
            user_id=row.user_id,
            name=row.name,
            disk=row.disk,
            key=row.path,
            media_type=row.mime_type,
            size_bytes=row.size,
            status=FileStatus(row.status),
            multipart_id=row.multipart_id,
            created_at=row.created_at,
            stored_at=row.stored_at,
            sha256=row.sha256,
            metadata=row.metadata or {},
        )


@dataclass(frozen=True, slots=True)
class Announced:
    file: File
    upload: SingleUpload | PartsUpload


class ObjectStore(Protocol):
    """Where bytes live. Every object is created once and never changed.

    Users and workers move bytes by signed requests only. Errors: `AlreadyExists` for a second creation,
    `NotFound` for what is not there, `InvalidInput` for parts that do not fit, `StorageUnavailable`.
    """

    @property
    def disk(self) -> Disk: ...

    def presign_get(
        self, key: ObjectKey, *, media_type: str, download_name: str | None = None, expires_s: int
    ) -> SignedRequest: ...

    def presign_put(self, key: ObjectKey, *, media_type: str, size_bytes: int | None, expires_s: int) -> SignedRequest:
        """Bound to type, length and `If-None-Match: *`: the first PUT creates, a second one gets 412.

        Without a length, for who does not know it yet, any that fits into one PUT.
        """

    async def head(self, key: ObjectKey) -> StoredObject | None: ...

    async def delete(self, key: ObjectKey) -> None:
        """Nothing there is fine."""

    async def write(self, key: ObjectKey, data: bytes, *, media_type: str) -> StoredObject:
        """Small objects of the control plane's own."""

    async def write_stream(self, key: ObjectKey, chunks: AsyncIterator[bytes], *, media_type: str) -> StoredObject:
        """As they come, a few MiB in memory at a time. Whoever gives the chunks bounds them; if that raises, nothing
        is left."""

    async def read(self, key: ObjectKey, *, bytes_max: int) -> bytes: ...

    async def read_range(self, key: ObjectKey, offset: int, size_bytes: int) -> bytes:
        """A piece of it; shorter where the object ends, and empty beyond."""

    async def list_names(self, prefix: ObjectKey, *, names_max: int | None = None) -> list[str]:
        """What stands directly under it, in order: objects, and folders with a slash at their end.

        Of more than `names_max` some; without it, more than 100,000 are refused.
        A folder may outlive its last object.
        """

    async def start_multipart(self, key: ObjectKey, *, media_type: str) -> str: ...

    def presign_part(
        self, key: ObjectKey, multipart_id: str, number: int, *, size_bytes: int, expires_s: int
    ) -> SignedRequest:
        """Bound to the length. A part may be sent again; the parts named at completion count."""

    async def complete_multipart(
        self, key: ObjectKey, multipart_id: str, parts: Sequence[UploadedPart]
    ) -> StoredObject: ...

    async def abort_multipart(self, key: ObjectKey, multipart_id: str) -> None:
        """Nothing there is fine."""

    async def require_space(self, size_bytes: int) -> None:
        """Raises StorageFull where so many more bytes would leave too few free."""

    async def check(self) -> None:
        """Raises `StorageUnavailable` unless objects can be created and removed."""

    async def close(self) -> None: ...
