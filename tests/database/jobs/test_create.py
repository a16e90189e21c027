"""A job, its reservation and its submission stand or fall together."""

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from comfyfleet import jobs
from comfyfleet.house import House
from comfyfleet.jobs import JobStatus
from comfyfleet.kernel.errors import DuplicateKey, InsufficientTokens, InvalidInput, NotFound
from comfyfleet.kernel.ids import JobId, new_id
from comfyfleet.ledger import Tokens
from tests.builders import a_member
from tests.database.jobs.world import CREDIT, PRICE, World


@pytest.fixture
async def world(house: House) -> World:
    return await World.make(house)


async def test_a_job_is_queued_paid_for_and_on_its_way(world: World) -> None:
    job_id = await world.create()
    job = await world.job(job_id)
    assert (job.status, job.reserved_tokens, job.started_at) == (JobStatus.QUEUED, PRICE, None)
    assert await world.balance() == CREDIT - PRICE
    assert await world.money(job_id) == ["JOB_RESERVE"]
    assert [(each.job_id, each.sent_at) for each in await world.submissions()] == [(job_id, None)]


async def test_the_same_id_again_is_the_same_job_and_is_paid_for_once(world: World) -> None:
    new = world.new()

    async def create() -> None:
        async with world.house.tenant_tx(world.member.tenant) as tx:
            assert (await jobs.create_job(tx, new)).id == new.id

    await asyncio.gather(*(create() for _ in range(8)))
    assert await world.balance() == CREDIT - PRICE
    assert len(await world.submissions()) == 1


async def test_the_same_id_for_another_request_or_of_another_tenant_is_refused(world: World) -> None:
    new = world.new()
    async with world.house.tenant_tx(world.member.tenant) as tx:
        await jobs.create_job(tx, new)
    with pytest.raises(DuplicateKey):
        async with world.house.tenant_tx(world.member.tenant) as tx:
            await jobs.create_job(tx, replace(new, reserved_tokens=Tokens(1)))
    other = await a_member(world.house, tokens=CREDIT)
    with pytest.raises(DuplicateKey):
        async with world.house.tenant_tx(other.tenant) as tx:
            await jobs.create_job(tx, replace(new, user_id=other.user.id))
    with pytest.raises(NotFound):
        async with world.house.tenant_tx(other.tenant) as tx:
            await jobs.get_job(tx, new.id)


async def test_without_tokens_nothing_is_left_behind(world: World) -> None:
    with pytest.raises(InsufficientTokens):
        await world.create(reserved_tokens=Tokens(CREDIT + 1))
    assert await world.submissions() == []
    assert await world.balance() == CREDIT


async def test_a_batch_that_cannot_be_paid_for_creates_none_of_it(world: World) -> None:
    news = [world.new(reserved_tokens=Tokens(CREDIT // 2)) for _ in range(3)]
    with pytest.raises(InsufficientTokens):
        async with world.house.tenant_tx(world.member.tenant) as tx:
            await jobs.create_jobs(tx, news)
    assert await world.submissions() == []
    assert await world.balance() == CREDIT


@pytest.mark.parametrize(
    "payload", [{"x": float("nan")}, {"x": object()}, {"x": "a\0b"}, {"x": "\ud800"}, {"x": "y" * 7_000_000}]
)
async def test_a_payload_that_a_worker_could_not_be_sent_is_refused(world: World, payload: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        await world.create(payload=payload)


async def test_the_payload_is_whole_and_keeps_what_was_given(world: World) -> None:
    given = {"workflow": {"1": {"inputs": {"text": 'a "quote" and \\u0000 spelt out'}}}, "properties": {"seed": 7}}
    job_id = await world.queued(payload=given)
    sent = json.loads((await world.payloads())[0].payload)
    assert sent == {"job_id": str(job_id), "assets": [], "input_url": None, "outputs": [], **given}


async def test_a_start_is_told_once_and_never_to_a_job_that_has_ended(world: World) -> None:
    job_id = await world.completed()

    async def start(which: JobId) -> bool:
        async with world.house.tenant_tx(world.member.tenant) as tx:
            return await jobs.start_job(tx, which)

    assert [await start(job_id), await start(job_id)] == [True, False]
    assert (await world.job(job_id)).status is JobStatus.PROCESSING
    await world.settle()
    assert await start(job_id) is False
    assert (await world.job(job_id)).status is JobStatus.COMPLETED
    assert await start(JobId(new_id())) is False
