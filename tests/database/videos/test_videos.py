"""Videos: made once per upload, following their last job, gone with their files; on both engines."""

import asyncio

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from comfyfleet import storage, videos
from comfyfleet.db.tables import videos as table
from comfyfleet.house import House
from comfyfleet.kernel.errors import IllegalMove, InvalidInput, NotFound
from comfyfleet.kernel.ids import JobId, VideoId, new_id
from comfyfleet.kernel.page import PageRequest
from comfyfleet.videos import VideoStatus
from tests.builders import Member, a_member, a_user
from tests.database.videos.shelf import (
    a_new_video,
    a_video,
    a_written_upload,
    an_output,
    complete,
    create,
    fail,
    file_statuses,
    read,
    same_upload,
    start,
)


@pytest.fixture
async def member(house: House) -> Member:
    return await a_member(house)


async def test_an_upload_becomes_a_video_and_its_files_count_as_stored(house: House, member: Member) -> None:
    new = await a_new_video(house, member)
    made = await create(house, member, new)
    assert (made.status, made.job_id, made.error) == (VideoStatus.UPLOADED, None, None)
    assert (made.width, made.height, made.duration_s, made.media_type) == (64, 48, 1.5, "video/mp4")
    assert made == await read(house, member, made.id)
    assert await file_statuses(house, member, made) == {
        new.original_file_id: "stored",
        new.poster_file_id: "stored",
    }


async def test_the_same_upload_at_the_same_time_is_one_video_and_keeps_one_poster(house: House, member: Member) -> None:
    new = await a_new_video(house, member)
    posters = [await a_written_upload(house, member, "poster.webp", "image/webp") for _ in range(5)]
    made = await asyncio.gather(*(create(house, member, same_upload(new, poster)) for poster in posters))
    assert len({each.id for each in made}) == 1
    async with house.tenant_tx(member.tenant, read_only=True) as tx:
        left = await storage.read_files(tx, [poster.id for poster in posters], member.user.id)
        found = await videos.find_video(tx, new.original_file_id, member.user.id)
    assert found == made[0]
    assert list(left) == [made[0].poster_file_id]


async def test_an_upload_that_was_deleted_meanwhile_makes_no_video(house: House, member: Member) -> None:
    new = await a_new_video(house, member)
    async with house.tenant_tx(member.tenant) as tx:
        await storage.delete_file(tx, new.original_file_id, member.user.id)
    with pytest.raises(NotFound):
        await create(house, member, new)
    async with house.tenant_tx(member.tenant, read_only=True) as tx:
        assert (await videos.list_videos(tx, member.user.id, PageRequest())).rows == []


async def test_a_job_without_input_makes_its_video(house: House, member: Member) -> None:
    job_id = JobId(new_id())
    async with house.tenant_tx(member.tenant) as tx:
        made = await videos.make_video(tx, member.user.id, job_id=job_id, title="x" * 300)
    assert (made.status, made.job_id, made.original_file_id, len(made.title)) == (
        VideoStatus.PROCESSING,
        job_id,
        None,
        255,
    )
    done = await complete(house, member, made.id, job_id, await an_output(house, member))
    assert done is not None
    assert (done.status, done.media_type) == (VideoStatus.COMPLETED, "video/mp4")
    with pytest.raises(InvalidInput, match="video_id"):
        async with house.tenant_tx(member.tenant, read_only=True) as tx:
            await videos.read_input(tx, made.id, member.user.id)


async def test_a_video_follows_its_job_to_the_end_and_the_end_is_told_once(house: House, member: Member) -> None:
    video = await a_video(house, member)
    job_id = await start(house, member, video.id)
    assert (await read(house, member, video.id)).status is VideoStatus.PROCESSING
    output = await an_output(house, member)
    ends = await asyncio.gather(*(complete(house, member, video.id, job_id, output) for _ in range(4)))
    assert len([each for each in ends if each is not None]) == 1
    assert await fail(house, member, video.id, job_id, "too late") is None
    done = await read(house, member, video.id)
    assert (done.status, done.processed_file_id, done.error) == (VideoStatus.COMPLETED, output, None)


async def test_a_failed_job_says_why_and_another_may_follow(house: House, member: Member) -> None:
    video = await a_video(house, member)
    first = await start(house, member, video.id)
    failed = await fail(house, member, video.id, first, "cancelled")
    assert failed is not None
    assert (failed.status, failed.error) == (VideoStatus.FAILED, "cancelled")
    second = await start(house, member, video.id)
    again = await read(house, member, video.id)
    assert (again.status, again.error, again.job_id) == (VideoStatus.PROCESSING, None, second)


async def test_an_older_job_that_ends_later_changes_nothing(house: House, member: Member) -> None:
    video = await a_video(house, member)
    older, newer = await start(house, member, video.id), await start(house, member, video.id)
    assert await start(house, member, video.id, newer) == newer
    assert await complete(house, member, video.id, older, await an_output(house, member)) is None
    assert await fail(house, member, video.id, older, "no") is None
    assert (await read(house, member, video.id)).status is VideoStatus.PROCESSING
    output = await an_output(house, member)
    assert await complete(house, member, video.id, newer, output) is not None
    assert (await read(house, member, video.id)).processed_file_id == output


async def test_a_new_job_takes_the_old_result_off_the_video_but_not_from_the_store(
    house: House, member: Member
) -> None:
    video = await a_video(house, member)
    job_id, output = await start(house, member, video.id), await an_output(house, member)
    await complete(house, member, video.id, job_id, output)
    await start(house, member, video.id)
    assert (await read(house, member, video.id)).processed_file_id is None
    async with house.tenant_tx(member.tenant, read_only=True) as tx:
        assert (await storage.read_file(tx, output, member.user.id)).id == output


async def test_its_upload_is_a_jobs_input_until_it_is_deleted(house: House, member: Member) -> None:
    video = await a_video(house, member)
    async with house.tenant_tx(member.tenant, read_only=True) as tx:
        assert (await videos.read_input(tx, video.id, member.user.id)).id == video.original_file_id
    assert video.original_file_id is not None
    async with house.tenant_tx(member.tenant) as tx:
        await storage.delete_file(tx, video.original_file_id, member.user.id)
        with pytest.raises(InvalidInput, match="video_id"):
            await videos.read_input(tx, video.id, member.user.id)


async def test_deleting_takes_the_files_along_and_waits_for_no_crash(house: House, member: Member) -> None:
    video = await a_video(house, member)
    job_id = await start(house, member, video.id)
    with pytest.raises(IllegalMove, match="processing"):
        async with house.tenant_tx(member.tenant) as tx:
            await videos.delete_video(tx, video.id, member.user.id)
    output = await an_output(house, member)
    await complete(house, member, video.id, job_id, output)
    async with house.tenant_tx(member.tenant) as tx:
        files = await videos.delete_video(tx, video.id, member.user.id)
    assert {file.id for file in files} == {video.original_file_id, video.poster_file_id, output}
    with pytest.raises(NotFound):
        await read(house, member, video.id)
    for file in files:
        with pytest.raises(NotFound):
            async with house.tenant_tx(member.tenant) as tx:
                await storage.read_file(tx, file.id, member.user.id)


async def test_videos_come_newest_first_in_pages_and_by_status_and_kind(house: House, member: Member) -> None:
    neighbour = Member(member.tenant, await a_user(house, member.tenant), member.key)
    await a_video(house, neighbour, title="not mine")
    for number in range(4):
        media_type = "image/png" if number % 2 else "video/mp4"
        made = await a_video(house, member, title=str(number), media_type=media_type)
        if number >= 2:
            await start(house, member, made.id)

    async def titles(rows: int = 10, cursor: str | None = None, **filters: object) -> tuple[str, str | None]:
        async with house.tenant_tx(member.tenant, read_only=True) as tx:
            request = PageRequest.parse(rows=rows, cursor=cursor)
            page = await videos.list_videos(tx, member.user.id, request, **filters)  # type: ignore[arg-type]
        return "".join(each.title for each in page.rows), page.next_cursor

    first, cursor = await titles(3)
    assert first == "321"
    assert await titles(3, cursor) == ("0", None)
    assert await titles(status=VideoStatus.PROCESSING) == ("32", None)
    assert await titles(kind="image") == ("31", None)
    assert await titles(kind="video", status=VideoStatus.UPLOADED) == ("0", None)
    assert await titles(status=VideoStatus.EXPIRED) == ("", None)


async def test_anothers_video_is_answered_as_one_that_never_was(house: House, member: Member) -> None:
    video = await a_video(house, member)
    colleague = Member(member.tenant, await a_user(house, member.tenant), member.key)
    stranger = await a_member(house)
    for who, video_id in ((colleague, video.id), (stranger, video.id), (member, VideoId(new_id()))):
        for verb in (videos.read_video, videos.read_input, videos.delete_video):
            with pytest.raises(NotFound) as refused:
                async with house.tenant_tx(who.tenant) as tx:
                    await verb(tx, video_id, who.user.id)  # type: ignore[operator]
            assert refused.value.facts == {"noun": "video", "name": str(video_id)}
        with pytest.raises(NotFound):
            await start(house, who, video_id)
    assert await read(house, member, video.id) == video


async def test_a_settlement_for_a_video_that_is_gone_or_another_tenants_moves_nothing(
    house: House, member: Member
) -> None:
    video = await a_video(house, member)
    job_id, stranger = await start(house, member, video.id), await a_member(house)
    output = await an_output(house, stranger)
    for video_id in (video.id, VideoId(new_id())):
        assert await complete(house, stranger, video_id, job_id, output) is None
        assert await fail(house, stranger, video_id, job_id, "x") is None
    assert (await read(house, member, video.id)).status is VideoStatus.PROCESSING


async def test_the_database_itself_refuses_what_makes_no_sense(house: House, member: Member) -> None:
    await a_video(house, member)
    for status in ("completed", "processing", "lost"):
        with pytest.raises(IntegrityError):
            async with house.pools["main"].engine.begin() as connection:
                await connection.execute(sa.update(table).values(status=status))
