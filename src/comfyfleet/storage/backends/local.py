"""Objects in a folder, with the promises of S3. The control plane serves its signed URLs (`api/objects.py`)."""

import hashlib
import os
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Literal, TypeVar

import anyio
import anyio.to_thread

from comfyfleet.kernel.errors import (
    AlreadyExists,
    InvalidInput,
    SignatureRefused,
    StorageFull,
    StorageUnavailable,
    UploadMismatch,
)
from comfyfleet.kernel.origin import absolute
from comfyfleet.kernel.secret import Secret
from comfyfleet.storage.backends.folder import Folder, Incoming
from comfyfleet.storage.backends.grants import GetGrant, Grant, GrantSigner, PartGrant, PutGrant
from comfyfleet.storage.model import (
    MIB,
    ObjectKey,
    SignedRequest,
    StoredObject,
    UploadedPart,
    check_key,
    check_url_life,
    put_headers,
)
from comfyfleet.storage.parts import in_blocks

# One trip to a thread per so many bytes; also all that an upload holds in memory.
WRITE_BYTES = MIB
SPACE_EVERY_BYTES = 64 * MIB
# A share of its own: a slow disk must not take the threads that everybody else waits for.
THREADS_MAX = 16
# How long an upload may go on after its URL has expired; shorter than what the collection of outputs waits for.
UPLOAD_LATE_S = 1_800.0
JOINS_MAX = 1

T = TypeVar("T")


class LocalStore:
    """`base_url` is what stands before `/objects/…`; empty: where the request came to, or nothing outside of one."""

    disk: Literal["local"] = "local"

    def __init__(self, root: Path, signing_key: Secret, base_url: str = "", *, free_bytes_min: int = 0) -> None:
        self._folder = Folder(root)
        self._free_bytes_min = free_bytes_min
        self._signer = GrantSigner(signing_key)
        self._base_url = base_url.rstrip("/")
        self._threads = anyio.CapacityLimiter(THREADS_MAX)
        # Apart, so that many uploads do not make the store look dead.
        self._probing = anyio.CapacityLimiter(1)
        self._joining = anyio.CapacityLimiter(JOINS_MAX)

    def presign_get(
        self, key: ObjectKey, *, media_type: str, download_name: str | None = None, expires_s: int
    ) -> SignedRequest:
        grant = GetGrant(check_key(key), media_type, download_name, _expiry(expires_s))
        return SignedRequest("GET", self._url(grant), {}, expires_s)

    def presign_put(self, key: ObjectKey, *, media_type: str, size_bytes: int | None, expires_s: int) -> SignedRequest:
        grant = PutGrant(check_key(key), media_type, size_bytes, _expiry(expires_s))
        return SignedRequest("PUT", self._url(grant), put_headers(media_type, size_bytes), expires_s)

    def presign_part(
        self, key: ObjectKey, multipart_id: str, number: int, *, size_bytes: int, expires_s: int
    ) -> SignedRequest:
        grant = PartGrant(check_key(key), multipart_id, number, size_bytes, _expiry(expires_s))
        return SignedRequest("PUT", self._url(grant), {"Content-Length": str(size_bytes)}, expires_s)

    def open_grant(self, token: str) -> Grant:
        """What the URL allows; raises `SignatureRefused` if it is not ours, was changed, or has expired."""
        return self._signer.open(token, now_s=time.time())

    async def receive(self, grant: PutGrant | PartGrant, chunks: AsyncIterator[bytes]) -> str:
        """Take an upload's bytes as they come. The answer is their etag."""
        chunks = _in_time(chunks, grant.expires_at_s)
        if isinstance(grant, PutGrant):
            async with self._arrival(chunks, size_bytes=grant.size_bytes) as incoming:
                return (await self._run(partial(self._folder.place, incoming.path, grant.key))).etag
        digest = hashlib.sha256()
        place_part = partial(self._folder.place_part, grant.key, grant.multipart_id, grant.number)
        async with self._arrival(chunks, size_bytes=grant.size_bytes, digest=digest) as incoming:
            await self._run(partial(place_part, incoming.path))
        return digest.hexdigest()

    async def locate(self, key: ObjectKey) -> tuple[Path, os.stat_result] | None:
        """Where the bytes are, for the route that streams them."""
        return await self._run(lambda: self._folder.locate(key))

    async def head(self, key: ObjectKey) -> StoredObject | None:
        return await self._run(lambda: self._folder.head(key))

    async def delete(self, key: ObjectKey) -> None:
        await self._run(lambda: self._folder.delete(key))

    async def write(self, key: ObjectKey, data: bytes, *, media_type: str) -> StoredObject:
        # Small and the server's own, such as a checkpoint of the audit log: also written when uploads are refused.
        async with self._arrival(_once(data), size_bytes=len(data), is_upload=False) as incoming:
            return await self._run(lambda: self._folder.place(incoming.path, key))

    async def write_stream(self, key: ObjectKey, chunks: AsyncIterator[bytes], *, media_type: str) -> StoredObject:
        async with self._arrival(chunks, size_bytes=None) as incoming:
            return await self._run(lambda: self._folder.place(incoming.path, key))

    async def read(self, key: ObjectKey, *, bytes_max: int) -> bytes:
        data = await self._run(lambda: self._folder.read(key, bytes_max + 1))
        if len(data) > bytes_max:
            raise InvalidInput("object", f"has more than {bytes_max} bytes")
        return data

    async def read_range(self, key: ObjectKey, offset: int, size_bytes: int) -> bytes:
        return await self._run(lambda: self._folder.read(key, size_bytes, offset=offset))

    async def list_names(self, prefix: ObjectKey, *, names_max: int | None = None) -> list[str]:
        return await self._run(lambda: self._folder.list_names(prefix, names_max=names_max))

    async def start_multipart(self, key: ObjectKey, *, media_type: str) -> str:
        return await self._run(lambda: self._folder.start_parts(key))

    async def complete_multipart(
        self, key: ObjectKey, multipart_id: str, parts: Sequence[UploadedPart]
    ) -> StoredObject:
        # One at a time: each holds a second copy of the file while it joins, and only the first is needed.
        async with self._joining:
            if await self.head(key) is not None:
                raise AlreadyExists("object", key)
            return await self._run(lambda: self._folder.join_parts(key, multipart_id, parts))

    async def abort_multipart(self, key: ObjectKey, multipart_id: str) -> None:
        await self._run(lambda: self._folder.drop_parts(key, multipart_id))

    async def require_space(self, size_bytes: int) -> None:
        """Databases may live on the same disk: they must not be the ones to find it full."""
        if self._free_bytes_min and await self._run(self._folder.free_bytes) - size_bytes < self._free_bytes_min:
            raise StorageFull

    async def check(self) -> None:
        await self._run(self._folder.probe, limiter=self._probing)
        await self._run(lambda: self._folder.sweep(now_s=time.time()), limiter=self._probing)

    async def close(self) -> None:
        return

    @asynccontextmanager
    async def _arrival(
        self,
        chunks: AsyncIterator[bytes],
        *,
        size_bytes: int | None,
        digest: "hashlib._Hash | None" = None,
        is_upload: bool = True,
    ) -> AsyncIterator[Incoming]:
        """Exactly `size_bytes`, safely on disk, in a file that is gone again whatever happens next. Without it, all
        that comes: whoever gives the chunks bounds them."""
        if is_upload:
            await self.require_space(size_bytes or 0)
        incoming = await self._run(lambda: self._folder.open_incoming(digest))
        try:
            received_bytes = 0
            async for block in in_blocks(chunks, bytes_min=WRITE_BYTES):
                received_bytes += len(block)
                if is_upload and received_bytes % SPACE_EVERY_BYTES < len(block):
                    await self.require_space(0)  # others write, too
                if size_bytes is not None and received_bytes > size_bytes:
                    break
                await self._run(partial(incoming.write, block))
            if size_bytes is not None and received_bytes != size_bytes:
                raise UploadMismatch(expected_bytes=size_bytes, found_bytes=received_bytes)
            await self._run(incoming.seal)
            yield incoming
        finally:
            with anyio.CancelScope(shield=True):
                await self._run(incoming.discard)

    def _url(self, grant: Grant) -> str:
        path = f"/objects/{self._signer.sign(grant)}"
        return f"{self._base_url}{path}" if self._base_url else absolute(path)

    async def _run(self, step: Callable[[], T], *, limiter: anyio.CapacityLimiter | None = None) -> T:
        # A probe may be left behind: whoever asks has a time-out. A write must be waited for, or it would go on unseen.
        waits = limiter is None
        try:
            return await anyio.to_thread.run_sync(step, limiter=limiter or self._threads, abandon_on_cancel=not waits)
        except OSError as error:
            raise StorageUnavailable(problem=f"the object folder: {error.strerror or error}") from error


async def _once(data: bytes) -> AsyncIterator[bytes]:
    yield data


async def _in_time(chunks: AsyncIterator[bytes], expires_at_s: int) -> AsyncIterator[bytes]:
    """Long after its URL has expired nothing may arrive: what nobody names has been collected by then."""
    async for chunk in chunks:
        if time.time() > expires_at_s + UPLOAD_LATE_S:
            raise SignatureRefused("This URL expired long before the upload ended. Ask for a new one.")
        yield chunk


def _expiry(expires_s: int) -> int:
    return int(time.time()) + check_url_life(expires_s)
