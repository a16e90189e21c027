"""Retention of media: files go after their time, rows much later, and nothing goes that is in use."""

import asyncio

import pytest
import sqlalchemy as sa

from comfyfleet import storage, videos
from comfyfleet.db.tables import files
from comfyfleet.db.tables import videos as table
from comfyfleet.house import House
from comfyfleet.kernel.errors import IllegalMove, NotFound
from comfyfleet.storage import File
from comfyfleet.upkeep import UpkeepRules, collect_uploads, expire_videos
from comfyfleet.videos import Video, VideoStatus
from tests.builders import Member, a_member
from tests.conftest import ManualClock
from tests.database.videos.shelf import a_video, an_output, complete, fail, read, start

DAY_S = 86_400.0
RULES = UpkeepRules(retention_s=30 * DAY_S)


@pytest.fixture
async def member(house: House) -> Member:
    return await a_member(house)


async def tick(house: House) -> int:
    return await expire_videos.tick(house, "main", rules=RULES)


async def files_of(house: House, member: Member, video: Video) -> list[File]:
    async with house.tenant_tx(member.tenant, read_only=True) as tx:
        return list((await storage.read_files(tx, video.file_ids, member.user.id)).values())


async def test_a_video_expires_with_its_bytes_and_is_forgotten_as_long_after(
    house: House, member: Member, clock: ManualClock
) -> None:
    video = await a_video(house, member)
    job_id = await start(house, member, video.id)
    await complete(house, member, video.id, job_id, await an_output(house, member))
    stored = await files_of(house, member, await read(house, member, video.id))
    assert len(stored) == 3
    clock.advance(30 * DAY_S - 60)
    assert await tick(house) == 0
    clock.advance(120)
    assert sum(await asyncio.gather(*(tick(house) for _ in range(3)))) == 1
    expired = await read(house, member, video.id)
    assert expired.status is VideoStatus.EXPIRED
    assert [await house.store.head(file.key) for file in stored] == [None, None, None]
    assert await files_of(house, member, expired) == []
    assert await tick(house) == 0
    with pytest.raises(IllegalMove, match="expired"):
        await start(house, member, video.id)
    clock.advance(30 * DAY_S + 60)
    assert await tick(house) == 1
    with pytest.raises(NotFound):
        await read(house, member, video.id)
    assert await collect_uploads.tick(house, "main") == 3


async def test_what_a_job_works_on_does_not_age_and_what_was_touched_is_young(
    house: House, member: Member, clock: ManualClock
) -> None:
    running, touched, idle = [await a_video(house, member, title=name) for name in ("running", "touched", "idle")]
    await start(house, member, running.id)
    clock.advance(20 * DAY_S)
    await fail(house, member, touched.id, await start(house, member, touched.id), "no")
    clock.advance(20 * DAY_S)
    assert await tick(house) == 1
    statuses = [(await read(house, member, each.id)).status for each in (running, touched, idle)]
    assert statuses == [VideoStatus.PROCESSING, VideoStatus.FAILED, VideoStatus.EXPIRED]
    clock.advance(20 * DAY_S)
    assert await tick(house) == 1
    assert (await read(house, member, running.id)).status is VideoStatus.PROCESSING


async def test_a_crash_before_the_bytes_are_erased_is_mended_by_the_collector(
    house: House, member: Member, clock: ManualClock
) -> None:
    video = await a_video(house, member)
    clock.advance(31 * DAY_S)
    async with house.pool_tx("main") as tx:
        count, dropped = await videos.expire_videos(tx, await videos.list_aged(tx, age_s=RULES.retention_s, rows=10))
    assert (count, len(dropped)) == (1, 2)
    assert await house.store.head(dropped[0].key) is not None
    assert await tick(house) == 0
    clock.advance(collect_uploads.AGE_S + 10)
    assert await collect_uploads.tick(house, "main") == 2
    assert [await house.store.head(file.key) for file in dropped] == [None, None]
    assert (await read(house, member, video.id)).status is VideoStatus.EXPIRED


async def test_a_tick_does_a_batch_and_the_next_one_the_rest(
    house: House, member: Member, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expire_videos, "BATCH", 2)
    for _ in range(5):
        await a_video(house, member)
    clock.advance(31 * DAY_S)
    assert [await tick(house) for _ in range(4)] == [2, 2, 1, 0]
    async with house.pools["main"].engine.connect() as connection:
        statuses = await connection.scalars(sa.select(table.c.status))
        assert set(statuses) == {"expired"}


async def test_files_of_another_store_are_marked_and_left_for_whoever_has_it(
    house: House, member: Member, clock: ManualClock
) -> None:
    video = await a_video(house, member)
    async with house.pools["main"].engine.begin() as connection:
        await connection.execute(sa.update(files).values(disk="s3"))
    clock.advance(31 * DAY_S)
    assert await tick(house) == 1
    assert (await read(house, member, video.id)).status is VideoStatus.EXPIRED
