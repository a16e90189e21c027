"""What both object stores promise, asked over real sockets: SeaweedFS for `s3`, our own routes for `local`."""

import asyncio
from collections.abc import AsyncIterator
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import httpx2
import pytest

from comfyfleet.jobs.collect import Erased, Leftovers, erase_leftovers
from comfyfleet.kernel.errors import AlreadyExists, InvalidInput, NotFound
from comfyfleet.kernel.ids import JobId, TenantId, new_id
from comfyfleet.storage.model import MIB, ObjectKey, ObjectStore, SignedRequest, UploadedPart, object_key

PNG = "image/png"
BODY = b"0123456789" * 1000


def put_request(store: ObjectStore, key: ObjectKey, body: bytes = BODY, *, expires_s: int = 60) -> SignedRequest:
    return store.presign_put(key, media_type=PNG, size_bytes=len(body), expires_s=expires_s)


def get_request(store: ObjectStore, key: ObjectKey, *, expires_s: int = 60) -> SignedRequest:
    return store.presign_get(key, media_type=PNG, expires_s=expires_s)


async def send(
    http: httpx2.AsyncClient,
    request: SignedRequest,
    body: bytes | None = None,
    *,
    method: str | None = None,
    **changed: str | None,
) -> httpx2.Response:
    """Send it as signed, but for what `changed` says; None leaves a header out."""
    headers = dict(request.headers) | {name.replace("_", "-"): value for name, value in changed.items()}
    if body is not None and "Content-Length" in headers:
        headers["Content-Length"] = str(len(body))
    kept = {name: value for name, value in headers.items() if value is not None}
    return await http.request(method or request.method, request.url, content=body, headers=kept)


async def upload(http: httpx2.AsyncClient, store: ObjectStore, key: ObjectKey, body: bytes = BODY) -> None:
    assert (await send(http, put_request(store, key, body), body)).status_code == 200


async def download(http: httpx2.AsyncClient, store: ObjectStore, key: ObjectKey) -> bytes:
    response = await send(http, get_request(store, key))
    assert response.status_code == 200
    return response.content


def code_of(response: httpx2.Response) -> str:
    """Ours is JSON, S3's is XML; both name what is wrong."""
    if response.headers["content-type"].startswith("application/json"):
        return str(response.json()["error"]["code"])
    return response.text.split("<Code>")[1].split("</Code>")[0]


def assert_signature_refused(response: httpx2.Response) -> None:
    assert response.status_code == 403
    assert code_of(response) in ("signature_refused", "SignatureDoesNotMatch", "AccessDenied")


# --- round trip


async def test_what_is_put_is_what_is_got(store: ObjectStore, http: httpx2.AsyncClient, key: ObjectKey) -> None:
    request = put_request(store, key)
    assert dict(request.headers) == {
        "Content-Type": PNG,
        "Content-Length": str(len(BODY)),
        "If-None-Match": "*",
    }
    put = await send(http, request, BODY)
    assert put.status_code == 200
    got = await send(http, get_request(store, key))
    assert got.status_code == 200
    assert got.content == BODY
    assert got.headers["content-type"] == PNG
    assert got.headers["content-length"] == str(len(BODY))
    assert got.headers["content-disposition"] == "attachment"
    head = await store.head(key)
    assert head is not None
    assert (head.key, head.size_bytes) == (key, len(BODY))
    assert head.etag == put.headers["etag"].strip('"')


async def test_the_type_is_the_signers_even_for_a_page(
    store: ObjectStore, http: httpx2.AsyncClient, key: ObjectKey
) -> None:
    await upload(http, store, key, b"<script>alert(1)</script>")
    got = await send(http, store.presign_get(key, media_type="text/plain", expires_s=60))
    assert got.headers["content-type"] == "text/plain"
    assert got.headers["content-disposition"].startswith("attachment")


@pytest.mark.parametrize("name", ["plain.png", "Ünïcödé €.png", 'quote".png', "new\r\nline.png", "semi;colon.png"])
async def test_a_download_gets_its_name(
    store: ObjectStore, http: httpx2.AsyncClient, key: ObjectKey, name: str
) -> None:
    await upload(http, store, key)
    got = await send(http, store.presign_get(key, media_type=PNG, download_name=name, expires_s=60))
    assert got.status_code == 200
    plain, extended = got.headers["content-disposition"].removeprefix("attachment; ").split("; ")
    assert plain.removeprefix('filename="').removesuffix('"').replace(".", "").replace("_", "").isalnum()
    assert dict(parse_qsl(extended.replace("''", "=").removeprefix("filename*="))) == {"UTF-8": name}


async def test_a_range_is_served(store: ObjectStore, http: httpx2.AsyncClient, key: ObjectKey) -> None:
    await upload(http, store, key)
    got = await send(http, get_request(store, key), Range="bytes=5-14")
    assert got.status_code == 206
    assert got.content == BODY[5:15]
    assert got.headers["content-range"] == f"bytes 5-14/{len(BODY)}"
    beyond = await send(http, get_request(store, key), Range=f"bytes={len(BODY)}-")
    assert beyond.status_code == 416


async def test_an_empty_object_is_an_object(store: ObjectStore, http: httpx2.AsyncClient, key: ObjectKey) -> None:
    await upload(http, store, key, b"")
    head = await store.head(key)
    assert head is not None
    assert head.size_bytes == 0


async def test_deleting_is_for_good_and_may_be_repeated(
    store: ObjectStore, http: httpx2.AsyncClient, key: ObjectKey
) -> None:
    await upload(http, store, key)
    await store.delete(key)
    await store.delete(key)
    assert await store.head(key) is None
    missing = await send(http, get_request(store, key))
    assert missing.status_code == 404
    assert code_of(missing) in ("not_found", "NoSuchKey")


async def test_the_control_plane_writes_once_and_reads_within_a_bound(store: ObjectStore, key: ObjectKey) -> None:
    made = await store.write(key, b"checkpoint", media_type="application/json")
    assert made == await store.head(key)
    with pytest.raises(AlreadyExists):
        await store.write(key, b"forged", media_type="application/json")
    assert await store.read(key, bytes_max=10) == b"checkpoint"
    with pytest.raises(InvalidInput):
        await store.read(key, bytes_max=9)


@pytest.mark.parametrize("pieces", [0, 3, 19], ids=["nothing", "one part", "several"])
async def test_a_stream_is_written_as_it_comes(store: ObjectStore, key: ObjectKey, pieces: int) -> None:
    async def chunks(count: int = pieces) -> AsyncIterator[bytes]:
        for number in range(count):
            yield bytes([number]) * MIB

    made = await store.write_stream(key, chunks(), media_type=PNG)
    found = await store.head(key)
    assert found is not None
    assert (made.key, found.size_bytes) == (key, pieces * MIB)
    if pieces:
        assert await store.read_range(key, (pieces - 1) * MIB - 1, 3) == bytes([pieces - 2, pieces - 1, pieces - 1])
    with pytest.raises(AlreadyExists):
        await store.write_stream(key, chunks(), media_type=PNG)


@pytest.mark.parametrize("pieces", [1, 17], ids=["one part", "several"])
async def test_a_stream_that_breaks_off_leaves_nothing(store: ObjectStore, key: ObjectKey, pieces: int) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(pieces):
            yield bytes(MIB)
        raise InvalidInput("file", "is too large")

    with pytest.raises(InvalidInput):
        await store.write_stream(key, chunks(), media_type=PNG)
    assert await store.head(key) is None


async def test_reading_what_is_not_there_says_so(store: ObjectStore, key: ObjectKey) -> None:
    with pytest.raises(NotFound):
        await store.read(key, bytes_max=10)


async def test_a_piece_is_read_and_ends_where_the_object_ends(store: ObjectStore, key: ObjectKey) -> None:
    await store.write(key, BODY, media_type=PNG)
    assert await store.read_range(key, 0, 4) == BODY[:4]
    assert await store.read_range(key, 17, 100) == BODY[17:117]
    assert await store.read_range(key, len(BODY) - 3, 10) == BODY[-3:]
    assert await store.read_range(key, len(BODY), 10) == b""
    with pytest.raises(NotFound):
        await store.read_range(object_key("tenants", "nobody"), 0, 4)


async def test_a_working_store_passes_its_check(store: ObjectStore) -> None:
    await store.check()
    await store.check()


# --- what a signature binds


async def test_an_expired_url_is_refused(store: ObjectStore, http: httpx2.AsyncClient, key: ObjectKey) -> None:
    put, get = put_request(store, key, expires_s=1), get_request(store, key, expires_s=1)
    await asyncio.sleep(2.1)
    assert_signature_refused(await send(http, put, BODY))
    assert await store.head(key) is None
    await upload(http, store, key)
    assert_signature_refused(await send(http, get))


def change_last_character(text: str) -> str:
    # The last base64 character may carry unused bits; the one before it never does.
    place = len(text) - 2
    return text[:place] + ("0" if text[place] != "0" else "1") + text[place + 1 :]


def tamper_with_signature(url: str) -> str:
    parts = urlsplit(url)
    if not parts.query:
        return change_last_character(url)
    fields = dict(parse_qsl(parts.query))
    fields["X-Amz-Signature"] = change_last_character(fields["X-Amz-Signature"])
    return urlunsplit(parts._replace(query=urlencode(fields)))


async def test_a_tampered_signature_is_refused(store: ObjectStore, http: httpx2.AsyncClient, key: ObjectKey) -> None:
    put = put_request(store, key)
    forged = SignedRequest("PUT", tamper_with_signature(put.url), put.headers, 60)
    assert_signature_refused(await send(http, forged, BODY))
    assert await store.head(key) is None
    await upload(http, store, key)
    get = get_request(store, key)
    assert_signature_refused(await send(http, SignedRequest("GET", tamper_with_signature(get.url), {}, 60)))


async def test_a_signature_is_for_one_key(store: ObjectStore, http: httpx2.AsyncClient, key: ObjectKey) -> None:
    """The signature of one URL on the key of another."""
    other = object_key("tenants", "other", "files", "secret")
    await store.delete(other)
    await store.write(other, b"secret", media_type=PNG)
    mine, theirs = get_request(store, key).url, get_request(store, other).url
    if urlsplit(mine).query:
        forged = urlunsplit(urlsplit(mine)._replace(path=urlsplit(theirs).path))
    else:
        forged = theirs.rpartition(".")[0] + "." + mine.rpartition(".")[2]
    assert_signature_refused(await send(http, SignedRequest("GET", forged, {}, 60)))


async def test_a_url_is_for_one_method(store: ObjectStore, http: httpx2.AsyncClient, key: ObjectKey) -> None:
    put, get = put_request(store, key), get_request(store, key)
    written = await send(http, get, BODY, method="PUT", Content_Type=PNG, If_None_Match="*")
    assert_signature_refused(written)
    assert await store.head(key) is None
    await upload(http, store, key)
    assert_signature_refused(await send(http, put, method="GET", Content_Length=None))
    for request in (put, get):
        deleted = await send(http, request, method="DELETE", Content_Length=None)
        assert deleted.status_code in (403, 405)
    assert await download(http, store, key) == BODY


@pytest.mark.parametrize(
    "changed",
    [{"Content_Type": "text/html"}, {"Content_Type": None}, {"If_None_Match": None}, {"If_None_Match": '"x"'}],
    ids=["another type", "no type", "no condition", "another condition"],
)
async def test_a_put_must_send_the_headers_it_was_signed_with(
    store: ObjectStore, http: httpx2.AsyncClient, key: ObjectKey, changed: dict[str, str | None]
) -> None:
    request = put_request(store, key)
    headers = dict(request.headers) | {name.replace("_", "-"): value for name, value in changed.items()}
    kept = {name: value for name, value in headers.items() if value is not None}
    assert_signature_refused(await http.put(request.url, content=BODY, headers=kept))
    assert await store.head(key) is None


@pytest.mark.parametrize("body", [BODY[:-1], BODY + b"x", b""], ids=["shorter", "longer", "empty"])
async def test_a_put_of_another_length_is_refused(
    store: ObjectStore, http: httpx2.AsyncClient, key: ObjectKey, body: bytes
) -> None:
    refused = await send(http, put_request(store, key), body)
    assert refused.status_code == 403
    assert code_of(refused) in ("length_mismatch", "SignatureDoesNotMatch")
    assert await store.head(key) is None


@pytest.mark.parametrize("body", [b"x", BODY], ids=["short", "long"])
async def test_a_put_signed_without_a_length_takes_any_and_creates_once(
    store: ObjectStore, http: httpx2.AsyncClient, key: ObjectKey, body: bytes
) -> None:
    request = store.presign_put(key, media_type=PNG, size_bytes=None, expires_s=60)
    assert (await send(http, request, body)).status_code == 200
    assert await download(http, store, key) == body
    assert (await send(http, request, b"something else")).status_code == 412
    assert await download(http, store, key) == body


async def test_a_put_of_unknown_length_is_refused(store: ObjectStore, http: httpx2.AsyncClient, key: ObjectKey) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        yield BODY

    request = put_request(store, key)
    headers = {name: value for name, value in request.headers.items() if name != "Content-Length"}
    refused = await http.put(request.url, content=chunks(), headers=headers)
    assert refused.status_code in (403, 411)
    assert await store.head(key) is None


@pytest.mark.parametrize("expires_s", [0, -1, 7 * 86_400 + 1])
async def test_a_url_lives_neither_too_short_nor_too_long(store: ObjectStore, key: ObjectKey, expires_s: int) -> None:
    with pytest.raises(InvalidInput):
        get_request(store, key, expires_s=expires_s)


HOSTILE_KEYS = [
    "",
    "/etc/passwd",
    "..",
    "a/../../b",
    "a/./b",
    "a//b",
    "a/",
    ".hidden",
    "a/.hidden",
    "A/b",
    "a\\b",
    "a\x00b",
    "a\n",
    "a b",
    "a%2fb",
    "ä",
    "a" * 600,
    "/".join(["a" * 100] * 6),
]


@pytest.mark.parametrize("hostile", HOSTILE_KEYS)
async def test_a_key_that_is_not_made_of_ids_is_refused_everywhere(store: ObjectStore, hostile: str) -> None:
    key = ObjectKey(hostile)
    with pytest.raises(InvalidInput):
        get_request(store, key)
    with pytest.raises(InvalidInput):
        put_request(store, key)
    with pytest.raises(InvalidInput):
        store.presign_part(key, "0" * 32, 1, size_bytes=1, expires_s=60)
    for call in (
        store.head(key),
        store.delete(key),
        store.read(key, bytes_max=1),
        store.read_range(key, 0, 1),
        store.write(key, b"", media_type=PNG),
        store.start_multipart(key, media_type=PNG),
        store.complete_multipart(key, "0" * 32, []),
    ):
        with pytest.raises(InvalidInput):
            await call


# --- created once


async def test_a_second_put_is_refused_and_changes_nothing(
    store: ObjectStore, http: httpx2.AsyncClient, key: ObjectKey
) -> None:
    await upload(http, store, key)
    forged = bytes(reversed(BODY))
    for request in (put_request(store, key), put_request(store, key)):
        second = await send(http, request, forged)
        assert second.status_code == 412
        assert code_of(second) in ("already_exists", "PreconditionFailed")
    assert await download(http, store, key) == BODY


@pytest.mark.parametrize("_round", range(5))
async def test_of_puts_at_the_same_time_exactly_one_wins(
    store: ObjectStore, http: httpx2.AsyncClient, key: ObjectKey, _round: int
) -> None:
    bodies = [bytes([letter]) * (2 * MIB) for letter in b"abcd"]
    request = put_request(store, key, bodies[0])
    answers = await asyncio.gather(*(send(http, request, body) for body in bodies))
    assert sorted(answer.status_code for answer in answers) == [200, 412, 412, 412]
    (winner,) = (body for body, answer in zip(bodies, answers, strict=True) if answer.status_code == 200)
    assert await download(http, store, key) == winner


# --- in parts

FIRST, LAST = b"a" * (5 * MIB), b"the end"


async def send_parts(
    http: httpx2.AsyncClient, store: ObjectStore, key: ObjectKey, *bodies: bytes
) -> tuple[str, list[UploadedPart]]:
    multipart_id = await store.start_multipart(key, media_type=PNG)
    parts = []
    for number, body in enumerate(bodies, start=1):
        request = store.presign_part(key, multipart_id, number, size_bytes=len(body), expires_s=60)
        assert dict(request.headers) == {"Content-Length": str(len(body))}
        answer = await send(http, request, body)
        assert answer.status_code == 200
        parts.append(UploadedPart(number, answer.headers["etag"]))
    return multipart_id, parts


async def test_parts_become_one_object(store: ObjectStore, http: httpx2.AsyncClient, key: ObjectKey) -> None:
    multipart_id, parts = await send_parts(http, store, key, FIRST, LAST)
    assert await store.head(key) is None
    stored = await store.complete_multipart(key, multipart_id, parts)
    assert (stored.key, stored.size_bytes) == (key, len(FIRST) + len(LAST))
    assert await store.head(key) == stored
    assert await download(http, store, key) == FIRST + LAST


async def test_the_etags_quotes_do_not_matter(store: ObjectStore, http: httpx2.AsyncClient, key: ObjectKey) -> None:
    multipart_id, parts = await send_parts(http, store, key, LAST)
    bare = [UploadedPart(part.number, part.etag.strip('"')) for part in parts]
    assert (await store.complete_multipart(key, multipart_id, bare)).size_bytes == len(LAST)


async def test_a_part_may_be_sent_again_and_the_last_one_counts(
    store: ObjectStore, http: httpx2.AsyncClient, key: ObjectKey
) -> None:
    multipart_id, _first = await send_parts(http, store, key, b"once")
    again = store.presign_part(key, multipart_id, 1, size_bytes=5, expires_s=60)
    answer = await send(http, again, b"twice")
    await store.complete_multipart(key, multipart_id, [UploadedPart(1, answer.headers["etag"])])
    assert await download(http, store, key) == b"twice"


async def test_a_part_of_another_length_is_refused(
    store: ObjectStore, http: httpx2.AsyncClient, key: ObjectKey
) -> None:
    multipart_id = await store.start_multipart(key, media_type=PNG)
    request = store.presign_part(key, multipart_id, 1, size_bytes=10, expires_s=60)
    for body in (b"9 bytes..", b"11 bytes..."):
        assert (await send(http, request, body)).status_code == 403
    with pytest.raises((InvalidInput, NotFound)):
        await store.complete_multipart(key, multipart_id, [UploadedPart(1, "0" * 32)])
    assert await store.head(key) is None


@pytest.mark.parametrize("etag", ["0" * 32, "0" * 64, "not an etag"])
async def test_a_wrong_etag_makes_no_object(
    store: ObjectStore, http: httpx2.AsyncClient, key: ObjectKey, etag: str
) -> None:
    multipart_id, parts = await send_parts(http, store, key, FIRST, LAST)
    with pytest.raises(InvalidInput):
        await store.complete_multipart(key, multipart_id, [parts[0], UploadedPart(2, etag)])
    assert await store.head(key) is None
    assert (await store.complete_multipart(key, multipart_id, parts)).size_bytes == len(FIRST) + len(LAST)


async def test_a_part_that_never_came_makes_no_object(
    store: ObjectStore, http: httpx2.AsyncClient, key: ObjectKey
) -> None:
    multipart_id, parts = await send_parts(http, store, key, FIRST)
    with pytest.raises(InvalidInput):
        await store.complete_multipart(key, multipart_id, [*parts, UploadedPart(2, "0" * 64)])
    assert await store.head(key) is None


async def test_a_second_completion_is_refused(store: ObjectStore, http: httpx2.AsyncClient, key: ObjectKey) -> None:
    multipart_id, parts = await send_parts(http, store, key, LAST)
    await store.complete_multipart(key, multipart_id, parts)
    with pytest.raises(AlreadyExists):
        await store.complete_multipart(key, multipart_id, parts)
    assert await download(http, store, key) == LAST


async def test_parts_do_not_replace_an_object(store: ObjectStore, http: httpx2.AsyncClient, key: ObjectKey) -> None:
    multipart_id, parts = await send_parts(http, store, key, LAST)
    await upload(http, store, key)
    with pytest.raises(AlreadyExists):
        await store.complete_multipart(key, multipart_id, parts)
    assert await download(http, store, key) == BODY


async def test_what_is_aborted_is_gone(store: ObjectStore, http: httpx2.AsyncClient, key: ObjectKey) -> None:
    multipart_id, parts = await send_parts(http, store, key, LAST)
    await store.abort_multipart(key, multipart_id)
    await store.abort_multipart(key, multipart_id)
    with pytest.raises(NotFound):
        await store.complete_multipart(key, multipart_id, parts)
    late = store.presign_part(key, multipart_id, 2, size_bytes=4, expires_s=60)
    assert (await send(http, late, b"late")).status_code == 404
    assert await store.head(key) is None


async def test_a_multipart_upload_belongs_to_its_key(
    store: ObjectStore, http: httpx2.AsyncClient, key: ObjectKey
) -> None:
    other = object_key("tenants", "other", key.rpartition("/")[2])
    multipart_id, parts = await send_parts(http, store, key, LAST)
    with pytest.raises(NotFound):
        await store.complete_multipart(other, multipart_id, parts)
    stray = store.presign_part(other, multipart_id, 1, size_bytes=5, expires_s=60)
    assert (await send(http, stray, b"stray")).status_code == 404
    await store.complete_multipart(key, multipart_id, parts)
    assert await download(http, store, key) == LAST


# --- listing


async def test_names_under_a_prefix_come_in_order_and_one_level_deep(store: ObjectStore, key: ObjectKey) -> None:
    for name in ("b.json", "a.json", "day-2/x.json", "day-2/y.json", "day-1/x.json"):
        await store.write(object_key(key, *name.split("/")), b"{}", media_type="application/json")
    await store.write(object_key(f"{key}-neighbour", "c.json"), b"{}", media_type="application/json")
    assert await store.list_names(key) == ["a.json", "b.json", "day-1/", "day-2/"]
    assert await store.list_names(object_key(key, "day-2")) == ["x.json", "y.json"]
    assert await store.list_names(object_key(key, "day-3")) == []
    some = await store.list_names(key, names_max=2)
    assert (len(some), set(some) <= {"a.json", "b.json", "day-1/", "day-2/"}) == (2, True)


async def test_an_upload_that_nobody_names_is_erased_also_one_that_comes_after_the_first_look(
    store: ObjectStore, http: httpx2.AsyncClient
) -> None:
    left = Leftovers(JobId(new_id()), TenantId(new_id()), frozenset())
    early, late = (object_key(left.folder, "1-abc", f"output-{name}.png") for name in ("early", "late"))
    signed = store.presign_put(late, media_type=PNG, size_bytes=4, expires_s=60)
    await store.write(early, b"half", media_type=PNG)
    assert await erase_leftovers(store, left) == Erased(1, is_all=True)
    assert (await send(http, signed, b"late")).status_code == 200
    assert await erase_leftovers(store, left) == Erased(1, is_all=True)
    assert [await store.head(each) for each in (early, late)] == [None, None]
