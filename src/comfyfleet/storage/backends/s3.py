"""Objects in S3, or in anything that speaks it. Signing is local; the few control calls run in threads."""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import anyio
import anyio.to_thread

from comfyfleet.kernel.errors import AlreadyExists, FleetError, InvalidInput, NotFound, StorageUnavailable
from comfyfleet.kernel.ids import new_id
from comfyfleet.kernel.secret import Secret
from comfyfleet.storage.model import (
    MIB,
    NAMES_MAX,
    ObjectKey,
    SignedRequest,
    StoredObject,
    UploadedPart,
    check_key,
    check_names,
    check_url_life,
    content_disposition,
    object_key,
    put_headers,
)
from comfyfleet.storage.parts import in_blocks

# boto3 is an extra: it is imported when a store is made, so that nobody else needs it.
if TYPE_CHECKING:
    from botocore.exceptions import ClientError
    from mypy_boto3_s3 import S3Client

CONNECT_TIMEOUT_S = 3
READ_TIMEOUT_S = 20
ATTEMPTS_MAX = 3
# A share of its own: a slow S3 must not take the threads that everybody else waits for.
THREADS_MAX = 16
# What a stream is cut into; S3 takes no smaller ones than 5 MiB, and no more than 10,000.
PART_BYTES = 8 * MIB

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class S3Options:
    bucket: str
    region: str = "us-east-1"
    endpoint_url: str | None = None  # AWS
    access_key: str | None = None  # the AWS credential chain
    secret_key: Secret | None = None


class S3Store:
    disk: Literal["s3"] = "s3"

    def __init__(self, options: S3Options) -> None:
        self._bucket = options.bucket
        self._client = _connect(options)
        self._threads = anyio.CapacityLimiter(THREADS_MAX)
        self._proved_writable = False

    def presign_get(
        self, key: ObjectKey, *, media_type: str, download_name: str | None = None, expires_s: int
    ) -> SignedRequest:
        bound = {
            "ResponseContentType": media_type,
            "ResponseContentDisposition": content_disposition(download_name),
        }
        return SignedRequest("GET", self._sign("get_object", key, expires_s, **bound), {}, expires_s)

    def presign_put(self, key: ObjectKey, *, media_type: str, size_bytes: int | None, expires_s: int) -> SignedRequest:
        bound = {"ContentType": media_type, "IfNoneMatch": "*"}
        length = {} if size_bytes is None else {"ContentLength": size_bytes}
        url = self._sign("put_object", key, expires_s, **bound, **length)
        return SignedRequest("PUT", url, put_headers(media_type, size_bytes), expires_s)

    def presign_part(
        self, key: ObjectKey, multipart_id: str, number: int, *, size_bytes: int, expires_s: int
    ) -> SignedRequest:
        bound = {"UploadId": multipart_id, "PartNumber": number, "ContentLength": size_bytes}
        headers = {"Content-Length": str(size_bytes)}
        return SignedRequest("PUT", self._sign("upload_part", key, expires_s, **bound), headers, expires_s)

    async def head(self, key: ObjectKey) -> StoredObject | None:
        try:
            found = await self._call(key, self._client.head_object, Key=check_key(key))
        except NotFound:
            return None
        return StoredObject(key, found["ContentLength"], _bare(found["ETag"]))

    async def delete(self, key: ObjectKey) -> None:
        await self._call(key, self._client.delete_object, Key=check_key(key))

    async def write(self, key: ObjectKey, data: bytes, *, media_type: str) -> StoredObject:
        made = await self._call(
            key, self._client.put_object, Key=check_key(key), Body=data, ContentType=media_type, IfNoneMatch="*"
        )
        return StoredObject(key, len(data), _bare(made["ETag"]))

    async def write_stream(self, key: ObjectKey, chunks: AsyncIterator[bytes], *, media_type: str) -> StoredObject:
        blocks = in_blocks(chunks, bytes_min=PART_BYTES)
        first = bytes(await anext(blocks, b""))
        if len(first) < PART_BYTES:
            return await self.write(key, first, media_type=media_type)
        multipart_id = await self.start_multipart(key, media_type=media_type)
        try:
            parts = [await self._send_part(key, multipart_id, 1, first)]
            async for block in blocks:
                parts.append(await self._send_part(key, multipart_id, len(parts) + 1, bytes(block)))
            return await self.complete_multipart(key, multipart_id, parts)
        except BaseException:
            with anyio.CancelScope(shield=True), suppress(StorageUnavailable):
                await self.abort_multipart(key, multipart_id)
            raise

    async def _send_part(self, key: ObjectKey, multipart_id: str, number: int, block: bytes) -> UploadedPart:
        sent = await self._call(
            key, self._client.upload_part, Key=check_key(key), UploadId=multipart_id, PartNumber=number, Body=block
        )
        return UploadedPart(number, sent["ETag"])

    async def read(self, key: ObjectKey, *, bytes_max: int) -> bytes:
        def fetch() -> bytes:
            with self._client.get_object(Bucket=self._bucket, Key=check_key(key))["Body"] as body:
                return body.read(bytes_max + 1)

        data = await self._run(key, fetch)
        if len(data) > bytes_max:
            raise InvalidInput("object", f"has more than {bytes_max} bytes")
        return data

    async def read_range(self, key: ObjectKey, offset: int, size_bytes: int) -> bytes:
        def fetch() -> bytes:
            from botocore.exceptions import ClientError

            piece = f"bytes={offset}-{offset + size_bytes - 1}"
            try:
                found = self._client.get_object(Bucket=self._bucket, Key=check_key(key), Range=piece)
            except ClientError as error:
                if error.response.get("ResponseMetadata", {}).get("HTTPStatusCode") == 416:
                    return b""  # it begins after the last byte
                raise
            with found["Body"] as body:
                return body.read(size_bytes)

        return await self._run(key, fetch)

    async def list_names(self, prefix: ObjectKey, *, names_max: int | None = None) -> list[str]:
        start = f"{check_key(prefix)}/"

        def fetch() -> list[str]:
            found: list[str] = []
            pages = self._client.get_paginator("list_objects_v2")
            for page in pages.paginate(Bucket=self._bucket, Prefix=start, Delimiter="/"):
                found += [each["Key"] for each in page.get("Contents", [])]
                found += [each["Prefix"] for each in page.get("CommonPrefixes", [])]
                if len(found) > (NAMES_MAX if names_max is None else names_max):
                    break
            return [name.removeprefix(start) for name in found]

        return check_names(await self._run(prefix, fetch), names_max=names_max)

    async def start_multipart(self, key: ObjectKey, *, media_type: str) -> str:
        started = await self._call(
            key, self._client.create_multipart_upload, Key=check_key(key), ContentType=media_type
        )
        return started["UploadId"]

    async def complete_multipart(
        self, key: ObjectKey, multipart_id: str, parts: Sequence[UploadedPart]
    ) -> StoredObject:
        named: Any = {"Parts": [{"PartNumber": part.number, "ETag": f'"{_bare(part.etag)}"'} for part in parts]}
        try:
            await self._call(
                key,
                self._client.complete_multipart_upload,
                Key=check_key(key),
                UploadId=multipart_id,
                MultipartUpload=named,
                IfNoneMatch="*",
            )
        except NotFound:
            # Completed before: some servers forget the upload before they look at the condition.
            if await self.head(key) is not None:
                raise AlreadyExists("object", key) from None
            raise
        stored = await self.head(key)
        if stored is None:
            raise NotFound("object", key)
        return stored

    async def abort_multipart(self, key: ObjectKey, multipart_id: str) -> None:
        try:
            await self._call(key, self._client.abort_multipart_upload, Key=check_key(key), UploadId=multipart_id)
        except NotFound:
            return

    async def require_space(self, size_bytes: int) -> None:
        return  # a bucket has no end

    async def check(self) -> None:
        try:
            await self._call(self._bucket, self._client.head_bucket)
        except NotFound as error:
            raise StorageUnavailable(problem=f"the bucket {self._bucket!r} does not exist") from error
        if not self._proved_writable:
            # Once per process: in a versioned bucket every probe would leave something behind.
            probe = object_key("checks", new_id())
            await self.write(probe, b"", media_type="application/octet-stream")
            await self.delete(probe)
            self._proved_writable = True

    async def close(self) -> None:
        self._client.close()

    def _sign(self, operation: str, key: ObjectKey, expires_s: int, **bound: Any) -> str:
        params = {"Bucket": self._bucket, "Key": check_key(key), **bound}
        with _translated(key):
            return self._client.generate_presigned_url(operation, Params=params, ExpiresIn=check_url_life(expires_s))

    async def _call(self, name: str, operation: Callable[..., T], **params: Any) -> T:
        return await self._run(name, partial(operation, Bucket=self._bucket, **params))

    async def _run(self, name: str, operation: Callable[[], T]) -> T:
        with _translated(name):
            # Whoever stops waiting may go: S3 does each of these wholly or not at all.
            return await anyio.to_thread.run_sync(operation, limiter=self._threads, abandon_on_cancel=True)


def _connect(options: S3Options) -> "S3Client":
    try:
        import boto3
        from botocore.config import Config
    except ImportError as missing:
        raise ImportError("The S3 store needs boto3. Install it: pip install 'comfyfleet[s3]'") from missing
    config = Config(
        # The default for an endpoint of one's own is the old V2, which binds no header.
        signature_version="s3v4",
        s3={"addressing_style": "path" if options.endpoint_url else "auto"},
        connect_timeout=CONNECT_TIMEOUT_S,
        read_timeout=READ_TIMEOUT_S,
        retries={"mode": "standard", "total_max_attempts": ATTEMPTS_MAX},
        max_pool_connections=THREADS_MAX,
        # Checksums nobody asked for would become headers that every uploader must compute.
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
    )
    return boto3.client(
        "s3",
        region_name=options.region,
        endpoint_url=options.endpoint_url,
        aws_access_key_id=options.access_key,
        aws_secret_access_key=options.secret_key.reveal() if options.secret_key else None,
        config=config,
    )


@contextmanager
def _translated(name: str) -> Iterator[None]:
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except ClientError as error:
        raise _fact(name, error) from error
    except BotoCoreError as error:
        raise StorageUnavailable(problem=str(error)) from error


def _fact(name: str, error: "ClientError") -> FleetError:
    code = error.response.get("Error", {}).get("Code", "")
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    match code, status:
        case "NoSuchBucket", _:
            return StorageUnavailable(problem="the bucket does not exist")
        case (("NoSuchKey" | "NoSuchUpload"), _):
            return NotFound("object", name)
        case (("InvalidPart" | "InvalidPartOrder" | "EntityTooSmall"), _):
            return InvalidInput("parts", "a part was not uploaded, is too small, or has another etag")
        case _, 404:
            return NotFound("object", name)
        case _, 412:
            return AlreadyExists("object", name)
        case _, 403:
            return StorageUnavailable(problem=f"the bucket refuses the credentials ({code})")
        case _:
            # 409 as well: two wrote at once and neither is decided; the next try sees who won.
            return StorageUnavailable(problem=f"the object store answered {status} {code}")


def _bare(etag: str) -> str:
    return etag.strip('"')
