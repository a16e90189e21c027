"""Orders of effects, many at once: keys, limits and money are exact, and a file that a job takes stays."""

import asyncio
import json
from dataclasses import replace

import pytest

from comfyfleet import storage, tenants, videos
from comfyfleet.api.tenant.ordering import order
from comfyfleet.db.tables import ai_jobs, files, job_files, token_transactions
from comfyfleet.house import House
from comfyfleet.jobs import JobStatus, Placed, delete_job, require_unused, retry_job, retry_order
from comfyfleet.kernel.errors import (
    FileInUse,
    IllegalMove,
    InsufficientTokens,
    InvalidInput,
    KeyReused,
    NotFound,
    TooManyActiveJobs,
)
from comfyfleet.kernel.ids import FileId, TenantId, new_id
from comfyfleet.upkeep import UpkeepRules, expire_files, expire_jobs, expire_videos
from comfyfleet.videos import VideoStatus
from comfyfleet.workflows import read_properties
from tests.api.ordering import GRAPH, an_effect
from tests.builders import a_workflow
from tests.builders import an_effect as an_effect_of
from tests.conftest import ManualClock
from tests.database.jobs.atelier import PRICE, RICH, Atelier
from tests.database.videos.shelf import a_video

FIFTY = range(50)
KINDS = {"image/png": ("image/png", "video/mp4"), "video/mp4": ("video/mp4", "image/png")}


@pytest.fixture
async def atelier(house: House) -> Atelier:
    return await Atelier.open(house)


async def test_c1_fifty_at_once_with_one_key_are_one_job_and_fifty_equal_answers(atelier: Atelier) -> None:
    placed = await asyncio.gather(*(atelier.order("k") for _ in FIFTY))
    assert all(each.job == placed[0].job for each in placed)
    assert sorted(each.replayed for each in placed) == [False] + [True] * 49
    assert len(await atelier.rows(ai_jobs)) == 1
    assert len(await atelier.rows(token_transactions, type="JOB_RESERVE")) == 1
    with pytest.raises(KeyReused):
        await atelier.order("k", priority=1)
    assert await atelier.broken() == []


async def test_five_at_once_and_no_sixth_however_many_ask(atelier: Atelier) -> None:
    asked = await asyncio.gather(*(atelier.order(f"k-{each}") for each in FIFTY), return_exceptions=True)
    assert sum(isinstance(each, Placed) for each in asked) == 5
    assert sum(isinstance(each, TooManyActiveJobs) for each in asked) == 45
    assert await atelier.balance() == RICH - 5 * PRICE
    assert await atelier.broken() == []


async def test_c8_orders_that_race_for_the_last_tokens_never_overdraw(house: House) -> None:
    atelier = await Atelier.open(house, tokens=3 * PRICE + 1)
    asked = await asyncio.gather(*(atelier.order(f"k-{each}") for each in range(20)), return_exceptions=True)
    assert sum(isinstance(each, Placed) for each in asked) == 3
    [said] = {str(each.facts) for each in asked if isinstance(each, InsufficientTokens)}
    assert said == str({"required_tokens": PRICE, "available_tokens": 1})
    assert await atelier.balance() == 1
    assert len(await atelier.rows(ai_jobs)) == 3
    assert await atelier.broken() == []


async def test_c9_a_file_is_deleted_or_taken_and_never_both(atelier: Atelier) -> None:
    async def delete(file_id: FileId) -> bool:
        async with atelier.house.tenant_tx(atelier.member.tenant) as tx:
            await require_unused(tx, [file_id], atelier.member.user.id)
            await storage.delete_file(tx, file_id, atelier.member.user.id)
            return True

    for _ in range(4):
        mask = await atelier.a_mask()
        wish = {"prompt": "x", "mask": str(mask)}
        both = asyncio.gather(delete(mask), atelier.order(properties=wish), return_exceptions=True)
        deleted, placed = await both
        if isinstance(placed, Placed):
            assert isinstance(deleted, FileInUse)
            assert mask in {row.file_id for row in await atelier.rows(job_files, job_id=placed.job.id)}
        else:
            assert (deleted, str(placed)) == (True, "properties.mask: there is no such file")
        assert await atelier.broken() == []


async def test_a_result_and_a_cancel_at_once_are_one_end_and_the_money_follows_it(atelier: Atelier) -> None:
    """What runs may be done first, and is paid for then; what waits is over at once."""
    for number in range(4):
        job_id = (await atelier.order()).job.id
        await atelier.relay()
        grant = await atelier.lease()
        made = await atelier.upload(grant)
        both = [atelier.cancel_order(job_id), atelier.complete_with(grant, made)]
        await asyncio.gather(*(both if number % 2 else reversed(both)))
        await atelier.settle()
        assert (await atelier.job(job_id)).status is JobStatus.COMPLETED
        assert await atelier.money(job_id) == ["JOB_CONSUME", "JOB_RESERVE"]
    waits = (await atelier.order()).job.id
    assert (await atelier.cancel_order(waits)).status is JobStatus.CANCELLED
    assert await atelier.money(waits) == ["JOB_REFUND", "JOB_RESERVE"]
    assert await atelier.balance() == RICH - 4 * PRICE
    assert await atelier.broken() == []


async def test_an_effect_without_an_input_makes_the_video_that_shows_it(atelier: Atelier) -> None:
    atelier.effect = await an_effect(atelier.house, "dream", takes_input=False)
    placed = await atelier.order(video_id=None)
    assert placed.job.video_id is not None
    await atelier.relay()
    grant = await atelier.lease()
    await atelier.complete_with(grant, await atelier.upload(grant), await atelier.upload(grant, "output-2.png"))
    await atelier.settle()
    async with atelier.house.tenant_tx(atelier.member.tenant, read_only=True) as tx:
        video = await videos.read_video(tx, placed.job.video_id, atelier.member.user.id)
    first, _second = await atelier.outputs_of(placed.job.id)
    assert (video.status, video.processed_file_id, video.media_type) == (VideoStatus.COMPLETED, first, "image/png")
    assert (video.title, video.original_file_id) == ("Dream", None)
    assert await atelier.broken() == []


@pytest.mark.parametrize(("kind", "media_type"), [("image", "image/png"), ("video", "video/mp4")])
async def test_pictures_and_films_go_the_same_way(atelier: Atelier, kind: str, media_type: str) -> None:
    picture = {"name": "picture", "type": kind, "node": "1", "input_name": "image", "is_primary_input": True}
    flow = await a_workflow(atelier.house, "flow", graph={"1": GRAPH["1"]}, properties=read_properties([picture]))
    atelier.effect = await an_effect_of(atelier.house, "through", workflow=flow.slug, credits_cost=PRICE)
    right, wrong = [await a_video(atelier.house, atelier.member, media_type=each) for each in KINDS[media_type]]
    with pytest.raises(InvalidInput, match=f"properties.picture: is {wrong.media_type}"):
        await atelier.order(video_id=wrong.id, properties={})
    job_id = await atelier.delivered(video_id=right.id, properties={})
    async with atelier.house.tenant_tx(atelier.member.tenant, read_only=True) as tx:
        video = await videos.read_video(tx, right.id, atelier.member.user.id)
    assert (video.status, video.job_id, video.media_type) == (VideoStatus.COMPLETED, job_id, media_type)
    assert [video.processed_file_id] == await atelier.outputs_of(job_id)
    [asset] = json.loads((await atelier.payloads())[0].payload)["assets"]
    assert (asset["media_type"], asset["is_primary_input"]) == (media_type, True)
    assert await atelier.broken() == []


async def test_a_tenant_may_ask_for_as_much_priority_as_its_operator_lets_it(atelier: Atelier) -> None:
    async def ask(priority: int, limit: int | None) -> Placed:
        async with atelier.house.control_tx() as tx:
            tenant = await tenants.limit_priority(tx, atelier.member.tenant.id, limit)
        home = tenants.Home(tenant.id, tenant.slug, tenant.pool, tenant.status, tenant.priority_max)
        return await order(atelier.house, replace(atelier.wanted(priority=priority), home=home))

    assert (await ask(10, None)).job.priority == 10
    assert (await ask(50, 50)).job.priority == 50
    for priority, limit, most in ((11, None, 10), (51, 50, 50), (1, 0, 0)):
        with pytest.raises(InvalidInput, match=f"priority: must be from -100 to {most}"):
            await ask(priority, limit)
    for bad in (-1, 101):
        with pytest.raises(InvalidInput, match="priority_max"):
            await ask(0, bad)
    async with atelier.house.control_tx() as tx:
        with pytest.raises(NotFound):
            await tenants.limit_priority(tx, TenantId(new_id()), 3)


async def test_a_retry_stays_within_a_limit_that_was_lowered_since(atelier: Atelier) -> None:
    job_id, rules = (await atelier.order(priority=10)).job.id, atelier.house.job_rules
    await atelier.cancel_order(job_id)
    async with atelier.house.tenant_tx(atelier.member.tenant) as tx:
        placed = await retry_order(tx, job_id, atelier.member.user.id, rules=rules.of_tenant(3))
    assert (placed.job.priority, placed.job.retry_of) == (3, job_id)


# ── retention ───────────────────────────────────────────────────────────────────────────────

RULES = UpkeepRules()


async def expire(atelier: Atelier) -> list[int]:
    """As the loops do it: videos, then jobs."""
    house, pool = atelier.house, atelier.pool
    return [await each.tick(house, pool, rules=RULES) for each in (expire_videos, expire_jobs)]


async def test_what_was_made_expires_with_what_it_was_made_of_and_the_rows_say_so(
    atelier: Atelier, clock: ManualClock
) -> None:
    old, failed = await atelier.delivered("old"), await atelier.failed_order()
    clock.advance(RULES.retention_s / 2)
    young = await atelier.delivered("young")
    paths = await atelier.stored_paths()
    clock.advance(RULES.retention_s / 2 + 60)
    assert await expire(atelier) == [0, 2]
    gone = await atelier.job(old)
    assert (gone.status, gone.expired_at is None, gone.properties) == (JobStatus.COMPLETED, False, None)
    assert [row.payload for row in await atelier.rows(ai_jobs, id=old)] == [{}]
    assert (await atelier.job(failed)).expired_at is not None
    [left] = paths - await atelier.stored_paths()
    assert str(old) in left
    assert await atelier.house.store.head(left) is None  # type: ignore[arg-type]
    assert (await atelier.job(young)).expired_at is None
    assert (await atelier.video_now()).status is VideoStatus.COMPLETED, "it shows what the young one made"
    assert await expire(atelier) == [0, 0]
    clock.advance(RULES.retention_s)
    assert await expire(atelier) == [1, 1]
    assert (await atelier.video_now()).status is VideoStatus.EXPIRED
    assert await atelier.stored_paths() == set()
    assert await atelier.broken() == []


async def test_what_a_video_shows_lives_as_long_as_the_video(atelier: Atelier, clock: ManualClock) -> None:
    job_id = await atelier.delivered()
    clock.advance(RULES.retention_s + 60)
    assert await expire_jobs.tick(atelier.house, atelier.pool, rules=RULES) == 0
    assert (await atelier.job(job_id)).expired_at is None
    assert await expire(atelier) == [1, 1]


async def test_what_another_job_works_on_neither_expires_nor_is_thrown_away(
    atelier: Atelier, clock: ManualClock
) -> None:
    maker = await atelier.delivered()
    [made] = await atelier.outputs_of(maker)
    mask = (await a_video(atelier.house, atelier.member, media_type="image/png")).original_file_id
    clock.advance(RULES.retention_s + 60)
    taker = (await atelier.order(properties={"prompt": "x", "mask": str(made)})).job.id
    other = (await atelier.order(properties={"prompt": "x", "mask": str(mask)})).job.id
    assert await expire(atelier) == [0, 0]
    async with atelier.house.tenant_tx(atelier.member.tenant) as tx:
        with pytest.raises(FileInUse):
            await delete_job(tx, maker, atelier.member.user.id)
    assert await atelier.broken() == []
    for each in (taker, other):
        await atelier.cancel_order(each)
    assert await expire(atelier) == [1, 1]
    assert await atelier.broken() == []


async def test_a_job_whose_words_are_gone_cannot_be_tried_again(atelier: Atelier, clock: ManualClock) -> None:
    job_id = await atelier.failed_order()
    clock.advance(RULES.retention_s + 60)
    await expire(atelier)
    async with atelier.house.tenant_tx(atelier.member.tenant) as tx:
        with pytest.raises(IllegalMove, match="expired"):
            await retry_order(tx, job_id, atelier.member.user.id, rules=atelier.house.job_rules)
        with pytest.raises(IllegalMove, match="expired"):
            await retry_job(tx, job_id)


async def test_what_was_over_before_anybody_said_that_it_began_is_told_whole(atelier: Atelier) -> None:
    """Its replica died, or it took no time: `started` comes with the end."""
    for job_id, end in (await atelier.delivered(), "completed"), (await atelier.failed_order(), "failed"):
        job = await atelier.job(job_id)
        assert job.started_at is not None
        assert job.completed_at is not None
        assert job.created_at <= job.started_at <= job.completed_at
        assert await atelier.events_of(job_id) == sorted([f"job.{end}", "job.queued", "job.started"])
    cancelled = await atelier.cancel_order((await atelier.order()).job.id)
    assert cancelled.started_at is None
    assert await atelier.events_of(cancelled.id) == ["job.cancelled", "job.queued"]
    assert await atelier.broken() == []


async def test_the_hash_that_a_worker_told_is_not_believed(atelier: Atelier) -> None:
    """Else a wrong one would make every job fail that takes the result as its input."""
    [output] = await atelier.outputs_of(await atelier.delivered())
    assert [row.sha256 for row in await atelier.rows(files, id=output)] == [None]


async def test_a_file_that_is_part_of_nothing_goes_after_its_time(atelier: Atelier, clock: ManualClock) -> None:
    rules = UpkeepRules(retention_s=1_000.0)
    loose, taken = await atelier.a_mask(), await atelier.a_mask()
    made = await atelier.outputs_of(await atelier.delivered())
    under_way = await atelier.order(properties={"prompt": "x", "mask": str(taken)})
    clock.advance(999.0)
    assert await expire_files.tick(atelier.house, atelier.pool, rules=rules) == 0
    clock.advance(10.0)
    [path] = [row.path for row in await atelier.rows(files, id=loose)]
    assert await expire_files.tick(atelier.house, atelier.pool, rules=rules) == 1
    assert await atelier.house.store.head(path) is None
    stored = {row.id for row in await atelier.rows(files, status="stored")}
    assert loose not in stored
    assert {taken, *made, *atelier.video.file_ids} <= stored
    await atelier.cancel_order(under_way.job.id)
    assert await expire_files.tick(atelier.house, atelier.pool, rules=rules) == 1
    assert await expire_files.tick(atelier.house, atelier.pool, rules=rules) == 0
    assert await atelier.broken() == []
