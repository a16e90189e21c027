"""Objects that nobody will ask for again."""

import asyncio

import sqlalchemy as sa

from comfyfleet.db.tables import files
from comfyfleet.house import House
from comfyfleet.storage import FileStatus
from comfyfleet.upkeep import collect_uploads
from tests.builders import a_member
from tests.conftest import ManualClock
from tests.database.storage.test_files import BODY, a_stored_file, announce, delete, read, send


async def rows(house: House) -> dict[str, str]:
    async with house.pools["main"].engine.connect() as connection:
        return {row.name: row.status for row in await connection.execute(sa.select(files.c.name, files.c.status))}


async def test_an_upload_that_never_came_goes_after_a_day_and_its_bytes_a_day_later(
    house: House, clock: ManualClock
) -> None:
    member = await a_member(house)
    announced = await announce(house, member, name="late.png")
    await send(house, announced.upload.request, BODY)  # type: ignore[union-attr]
    await a_stored_file(house, member, name="kept.png")
    clock.advance(collect_uploads.AGE_S - 10)
    assert await collect_uploads.tick(house, "main") == 0
    assert (await read(house, member, announced.file.id)).status is FileStatus.PENDING
    clock.advance(20)
    assert await collect_uploads.tick(house, "main") == 0
    assert await rows(house) == {"late.png": "deleted", "kept.png": "stored"}
    assert await house.store.head(announced.file.key) is not None
    clock.advance(collect_uploads.AGE_S + 10)
    counts = await asyncio.gather(*(collect_uploads.tick(house, "main") for _ in range(3)))
    assert sum(counts) == 1
    assert await rows(house) == {"kept.png": "stored"}
    assert await house.store.head(announced.file.key) is None


async def test_a_deleted_file_whose_bytes_were_left_behind_by_a_crash_is_erased(
    house: House, clock: ManualClock
) -> None:
    member = await a_member(house)
    file = await a_stored_file(house, member)
    await delete(house, member, file.id)
    clock.advance(collect_uploads.AGE_S + 10)
    assert await collect_uploads.tick(house, "main") == 1
    assert await house.store.head(file.key) is None
    assert await collect_uploads.tick(house, "main") == 0


async def test_files_of_another_disk_are_left_alone(house: House, clock: ManualClock) -> None:
    member = await a_member(house)
    file = await a_stored_file(house, member)
    await delete(house, member, file.id)
    async with house.pools["main"].engine.begin() as connection:
        await connection.execute(sa.update(files).values(disk="s3"))
    clock.advance(collect_uploads.AGE_S + 10)
    assert await collect_uploads.tick(house, "main") == 0
    assert await house.store.head(file.key) is not None


async def test_an_object_that_cannot_be_erased_keeps_its_row_and_holds_up_no_other(
    house: House, clock: ManualClock
) -> None:
    member = await a_member(house)
    bad, good = await a_stored_file(house, member, "bad.png"), await a_stored_file(house, member, "good.png")
    for file in (bad, good):
        await delete(house, member, file.id)
    async with house.pools["main"].engine.begin() as connection:
        await connection.execute(sa.update(files).where(files.c.name == "bad.png").values(path="../no/key"))
    clock.advance(collect_uploads.AGE_S + 10)
    assert await collect_uploads.tick(house, "main") == 1
    assert await rows(house) == {"bad.png": "deleted"}
