"""Announce, upload, confirm, read, delete; every point at which somebody may crash; on both engines."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace

import pytest

from comfyfleet import storage
from comfyfleet.db import TenantTx
from comfyfleet.house import House
from comfyfleet.kernel.errors import (
    IllegalMove,
    InvalidInput,
    NotFound,
    StorageUnavailable,
    UploadMismatch,
    UploadMissing,
)
from comfyfleet.kernel.ids import FileId, new_id
from comfyfleet.kernel.page import PageRequest
from comfyfleet.storage import (
    Announced,
    File,
    FileStatus,
    PartsUpload,
    SignedRequest,
    SingleUpload,
    UploadedPart,
    parts,
)
from comfyfleet.storage.backends.grants import GetGrant
from comfyfleet.storage.backends.local import LocalStore
from comfyfleet.storage.model import MIB
from tests.builders import Member, a_member, a_user

PNG = "image/png"
BODY = b"the bytes of a picture"


@pytest.fixture
async def member(house: House) -> Member:
    return await a_member(house)


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "SINGLE_BYTES_MAX", MIB)
    monkeypatch.setattr(parts, "PART_BYTES_MIN", MIB)


def local(house: House) -> LocalStore:
    assert isinstance(house.store, LocalStore)
    return house.store


async def announce(house: House, member: Member, size_bytes: int = len(BODY), name: str = "cat.png") -> Announced:
    upload = await storage.prepare_upload(
        house.store, member.tenant.id, name=name, media_type=PNG, size_bytes=size_bytes
    )
    async with house.tenant_tx(member.tenant) as tx:
        file = await storage.announce_upload(tx, upload, user_id=member.user.id)
    return storage.sign_upload(house.store, file, expires_s=60)


async def send(house: House, request: SignedRequest, body: bytes) -> str:
    """What the route does with a PUT."""

    async def chunks() -> AsyncIterator[bytes]:
        yield body

    grant = local(house).open_grant(request.url.rpartition("/")[2])
    assert not isinstance(grant, GetGrant)
    return await local(house).receive(grant, chunks())


async def send_parts(house: House, announced: Announced, body: bytes) -> list[UploadedPart]:
    upload = announced.upload
    assert isinstance(upload, PartsUpload)
    size = upload.part_size_bytes
    return [
        UploadedPart(number, await send(house, request, body[(number - 1) * size : number * size]))
        for number, request in enumerate(upload.requests, start=1)
    ]


async def confirm(house: House, member: Member, file_id: FileId, named: list[UploadedPart] | None = None) -> File:
    """As the route does it: no transaction is open while the store works."""
    file = await read(house, member, file_id)
    if file.status is not FileStatus.STORED:
        await storage.assemble_upload(house.store, file, named or [])
    async with house.tenant_tx(member.tenant) as tx:
        return await storage.confirm_upload(tx, file_id, member.user.id)


async def a_stored_file(house: House, member: Member, name: str = "cat.png") -> File:
    announced = await announce(house, member, name=name)
    assert isinstance(announced.upload, SingleUpload)
    await send(house, announced.upload.request, BODY)
    return await confirm(house, member, announced.file.id)


async def read(house: House, member: Member, file_id: FileId) -> File:
    async with house.tenant_tx(member.tenant, read_only=True) as tx:
        return await storage.read_file(tx, file_id, member.user.id)


async def delete(house: House, member: Member, file_id: FileId) -> File:
    async with house.tenant_tx(member.tenant) as tx:
        return await storage.delete_file(tx, file_id, member.user.id)


async def test_a_file_is_announced_sent_confirmed_and_read_back(house: House, member: Member) -> None:
    announced = await announce(house, member)
    file = announced.file
    assert (file.status, file.stored_at, file.multipart_id) == (FileStatus.PENDING, None, None)
    assert (file.name, file.media_type, file.size_bytes, file.disk) == ("cat.png", PNG, len(BODY), "local")
    assert file.key == f"tenants/{member.tenant.id}/files/{file.id}"
    assert isinstance(announced.upload, SingleUpload)
    await send(house, announced.upload.request, BODY)
    stored = await confirm(house, member, file.id)
    assert stored.stored_at is not None
    assert stored == replace(file, status=FileStatus.STORED, stored_at=stored.stored_at)
    assert await read(house, member, file.id) == stored
    download = storage.sign_download(house.store, stored, expires_s=60)
    grant = local(house).open_grant(download.url.rpartition("/")[2])
    assert isinstance(grant, GetGrant)
    assert (grant.key, grant.media_type, grant.download_name) == (file.key, PNG, "cat.png")


async def test_an_upload_that_never_came_cannot_be_confirmed_and_may_still_come(house: House, member: Member) -> None:
    announced = await announce(house, member)
    with pytest.raises(UploadMissing):
        await confirm(house, member, announced.file.id)
    with pytest.raises(UploadMissing):
        storage.sign_download(house.store, announced.file, expires_s=60)
    assert (await read(house, member, announced.file.id)).status is FileStatus.PENDING
    assert isinstance(announced.upload, SingleUpload)
    await send(house, announced.upload.request, BODY)
    assert (await confirm(house, member, announced.file.id)).status is FileStatus.STORED


async def test_confirming_twice_gives_the_same_file(house: House, member: Member) -> None:
    stored = await a_stored_file(house, member)
    assert await confirm(house, member, stored.id) == stored


async def test_confirming_at_the_same_time_gives_the_same_file(house: House, member: Member) -> None:
    announced = await announce(house, member)
    assert isinstance(announced.upload, SingleUpload)
    await send(house, announced.upload.request, BODY)
    first, *others = await asyncio.gather(*(confirm(house, member, announced.file.id) for _ in range(4)))
    assert first.status is FileStatus.STORED
    assert others == [first] * 3


async def test_an_object_of_another_size_is_not_confirmed(house: House, member: Member) -> None:
    announced = await announce(house, member)
    await house.store.write(announced.file.key, BODY + b"!", media_type=PNG)
    with pytest.raises(UploadMismatch):
        await confirm(house, member, announced.file.id)
    assert (await read(house, member, announced.file.id)).status is FileStatus.PENDING


LARGE = b"".join(bytes([number]) * MIB for number in (1, 2)) + b"the rest"


@pytest.mark.usefixtures("small_parts")
async def test_a_large_file_comes_in_parts(house: House, member: Member) -> None:
    announced = await announce(house, member, len(LARGE))
    named = await send_parts(house, announced, LARGE)
    assert len(named) == 3
    stored = await confirm(house, member, announced.file.id, named[::-1])
    assert stored.status is FileStatus.STORED
    assert await house.store.read(stored.key, bytes_max=len(LARGE)) == LARGE
    assert await confirm(house, member, announced.file.id, named) == stored


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("says_parts_again", [True, False])
async def test_a_crash_after_joining_the_parts_is_mended_by_confirming_again(
    house: House, member: Member, says_parts_again: bool
) -> None:
    announced = await announce(house, member, len(LARGE))
    named = await send_parts(house, announced, LARGE)
    await storage.assemble_upload(house.store, announced.file, named)
    assert (await read(house, member, announced.file.id)).status is FileStatus.PENDING
    again = named if says_parts_again else []
    assert (await confirm(house, member, announced.file.id, again)).status is FileStatus.STORED


@pytest.mark.usefixtures("small_parts")
async def test_parts_that_do_not_fit_make_no_file(house: House, member: Member) -> None:
    announced = await announce(house, member, len(LARGE))
    named = await send_parts(house, announced, LARGE)
    wrong = UploadedPart(3, "0" * 64)
    for chosen in (named[:2], [*named, wrong], [named[0], named[0], named[2]], [*named[:2], wrong]):
        with pytest.raises(InvalidInput, match="parts"):
            await confirm(house, member, announced.file.id, chosen)
    with pytest.raises(UploadMissing):
        await confirm(house, member, announced.file.id)
    assert await house.store.head(announced.file.key) is None
    assert (await confirm(house, member, announced.file.id, named)).status is FileStatus.STORED


@pytest.mark.usefixtures("small_parts")
async def test_parts_that_the_store_no_longer_has_are_missing(house: House, member: Member) -> None:
    announced = await announce(house, member, len(LARGE))
    named = await send_parts(house, announced, LARGE)
    assert announced.file.multipart_id is not None
    await house.store.abort_multipart(announced.file.key, announced.file.multipart_id)
    with pytest.raises(UploadMissing):
        await confirm(house, member, announced.file.id, named)


async def test_a_single_upload_has_no_parts(house: House, member: Member) -> None:
    announced = await announce(house, member)
    with pytest.raises(InvalidInput, match="parts"):
        await confirm(house, member, announced.file.id, [UploadedPart(1, "etag")])


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("size_bytes", [len(BODY), len(LARGE)])
async def test_an_upload_can_be_signed_again_until_it_is_stored(house: House, member: Member, size_bytes: int) -> None:
    announced = await announce(house, member, size_bytes)
    async with house.tenant_tx(member.tenant, read_only=True) as tx:
        unfinished = await storage.read_unfinished(tx, announced.file.id, member.user.id)
    renewed = storage.sign_upload(house.store, unfinished, expires_s=9)
    assert renewed.file == announced.file
    assert type(renewed.upload) is type(announced.upload)
    if isinstance(renewed.upload, SingleUpload):
        await send(house, renewed.upload.request, BODY)
        await confirm(house, member, announced.file.id)
    else:
        await confirm(house, member, announced.file.id, await send_parts(house, renewed, LARGE))
    with pytest.raises(IllegalMove):
        async with house.tenant_tx(member.tenant, read_only=True) as tx:
            await storage.read_unfinished(tx, announced.file.id, member.user.id)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", ""),
        ("name", "x" * 256),
        ("name", "a/b.png"),
        ("name", "a\\b.png"),
        ("name", ".."),
        ("name", "line\nbreak"),
        ("name", "nul\x00"),
        ("name", "\ud800"),
        ("mime_type", "image"),
        ("mime_type", "image/png; charset=x"),
        ("mime_type", "image/pn\r\ng"),
        ("mime_type", "bïld/png"),
        ("mime_type", "a/" + "b" * 126),
        ("size", 0),
        ("size", -1),
        ("size", 1001),
    ],
)
async def test_what_cannot_be_is_refused(house: House, member: Member, field: str, value: object) -> None:
    """By the name that its sender knows."""
    named = {"mime_type": "media_type", "size": "size_bytes"}.get(field, field)
    given: dict[str, object] = {"name": "cat.png", "media_type": PNG, "size_bytes": 1000, named: value}
    with pytest.raises(InvalidInput, match=f"^{field}:"):
        await storage.prepare_upload(
            house.store,
            member.tenant.id,
            size_bytes_max=1000,
            **given,  # type: ignore[arg-type]
        )


async def test_files_come_newest_first_in_pages(house: House, member: Member) -> None:
    neighbour = Member(member.tenant, await a_user(house, member.tenant), member.key)
    names = [f"{number}.png" for number in range(5)]
    for name in names:
        await announce(house, member, name=name)
        await announce(house, neighbour, name=f"not mine {name}")
    gone = await announce(house, member, name="deleted.png")
    await delete(house, member, gone.file.id)
    found, cursor = [], None
    for rows in (2, 2, 1):
        async with house.tenant_tx(member.tenant, read_only=True) as tx:
            page = await storage.list_files(tx, member.user.id, PageRequest.parse(rows=2, cursor=cursor))
        assert len(page.rows) == rows
        found += [file.name for file in page.rows]
        cursor = page.next_cursor
    assert found == names[::-1]
    assert cursor is None


Verb = Callable[[TenantTx, House, FileId, Member], Awaitable[object]]
VERBS: dict[str, Verb] = {
    "read": lambda tx, house, file_id, who: storage.read_file(tx, file_id, who.user.id),
    "confirm": lambda tx, house, file_id, who: storage.confirm_upload(tx, file_id, who.user.id),
    "renew": lambda tx, house, file_id, who: storage.read_unfinished(tx, file_id, who.user.id),
    "delete": lambda tx, house, file_id, who: storage.delete_file(tx, file_id, who.user.id),
}


@pytest.mark.parametrize("verb", VERBS)
async def test_anothers_file_is_answered_as_one_that_never_was(house: House, member: Member, verb: str) -> None:
    stored = await a_stored_file(house, member)
    colleague = Member(member.tenant, await a_user(house, member.tenant), member.key)
    stranger = await a_member(house)
    unknown = FileId(new_id())
    for who, file_id in ((colleague, stored.id), (stranger, stored.id), (member, unknown)):
        with pytest.raises(NotFound) as refused:
            async with house.tenant_tx(who.tenant) as tx:
                await VERBS[verb](tx, house, file_id, who)
        assert refused.value.facts == {"noun": "file", "name": str(file_id)}
    assert await read(house, member, stored.id) == stored


@pytest.mark.parametrize("verb", [name for name in VERBS if name != "delete"])
async def test_a_deleted_file_is_answered_as_one_that_never_was(house: House, member: Member, verb: str) -> None:
    stored = await a_stored_file(house, member)
    assert (await delete(house, member, stored.id)).status is FileStatus.DELETED
    with pytest.raises(NotFound):
        async with house.tenant_tx(member.tenant) as tx:
            await VERBS[verb](tx, house, stored.id, member)


async def test_the_bytes_go_after_the_row_and_a_crash_between_is_mended(house: House, member: Member) -> None:
    stored = await a_stored_file(house, member)
    await delete(house, member, stored.id)
    assert await house.store.head(stored.key) is not None
    again = await delete(house, member, stored.id)
    for _ in range(2):
        await storage.erase_object(house.store, again)
    assert await house.store.head(stored.key) is None


async def test_a_deletion_that_is_rolled_back_costs_no_bytes(house: House, member: Member) -> None:
    stored = await a_stored_file(house, member)

    async def delete_and_crash() -> None:
        async with house.tenant_tx(member.tenant) as tx:
            await storage.delete_file(tx, stored.id, member.user.id)
            raise RuntimeError("crash")

    with pytest.raises(RuntimeError, match="crash"):
        await delete_and_crash()
    assert await read(house, member, stored.id) == stored
    assert await house.store.read(stored.key, bytes_max=100) == BODY


@pytest.mark.usefixtures("small_parts")
async def test_deleting_an_unfinished_upload_takes_its_parts_along(house: House, member: Member) -> None:
    announced = await announce(house, member, len(LARGE))
    named = await send_parts(house, announced, LARGE)
    await storage.erase_object(house.store, await delete(house, member, announced.file.id))
    with pytest.raises(UploadMissing):
        await storage.assemble_upload(house.store, announced.file, named)


async def test_a_file_on_the_other_store_is_not_looked_for_in_this_one(house: House, member: Member) -> None:
    elsewhere = replace(await a_stored_file(house, member), disk="s3")
    with pytest.raises(StorageUnavailable):
        await storage.erase_object(house.store, elsewhere)
    with pytest.raises(StorageUnavailable):
        await storage.assemble_upload(house.store, elsewhere)
    assert await house.store.head(elsewhere.key) is not None


async def test_a_stream_has_the_length_that_came(house: House, member: Member) -> None:
    upload = storage.expect_stream(
        house.store, member.tenant.id, name="../a\x00cat.png", media_type=PNG, size_bytes_max=MIB
    )
    async with house.tenant_tx(member.tenant) as tx:
        file = await storage.announce_upload(tx, upload, user_id=member.user.id)
    assert (file.name, file.size_bytes, file.status) == ("acat.png", MIB, FileStatus.PENDING)

    async def chunks() -> AsyncIterator[bytes]:
        yield BODY

    stored = await storage.receive_stream(house.store, file, chunks())
    other = await a_user(house, member.tenant)
    async with house.tenant_tx(member.tenant) as tx:
        with pytest.raises(NotFound):
            await storage.note_size(tx, file.id, other.id, stored.size_bytes, sha256="a" * 64)
        sized = await storage.note_size(tx, file.id, member.user.id, stored.size_bytes, sha256="b" * 64)
    assert (sized.size_bytes, sized.sha256, sized.status) == (len(BODY), "b" * 64, FileStatus.PENDING)
    assert (await confirm(house, member, file.id)).status is FileStatus.STORED
    async with house.tenant_tx(member.tenant) as tx:
        with pytest.raises(NotFound):  # somebody relies on it now
            await storage.note_size(tx, file.id, member.user.id, 1, sha256="c" * 64)
