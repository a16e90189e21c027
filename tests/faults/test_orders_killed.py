"""SIGKILL of the server while fifty programs order: each sends its request again, and has one job, paid for once."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import httpx2
import pytest

from comfyfleet.db.tables import ai_jobs, token_transactions
from comfyfleet.house import House
from comfyfleet.settings import Settings
from tests.builders import Member, a_member
from tests.database.jobs.atelier import PRICE, Atelier
from tests.database.videos.shelf import a_video
from tests.server import ServerProcess, server_process

USERS, EACH = 10, 5


@pytest.fixture
def twin(settings: Settings, tmp_path: Path) -> Iterator[ServerProcess]:
    """`comfyfleet up` over the same databases, the same key and the same objects as the house of the test."""
    assert settings.secret_key is not None
    given = {
        "DATABASE_URL": settings.central_url(),
        "POOLS": json.dumps(settings.pool_urls()),
        "SECRET_KEY": settings.secret_key.get_secret_value(),
    }
    with server_process(tmp_path, **given) as found:
        yield found


async def all_queued(atelier: Atelier, ids: set[str]) -> bool:
    return {str(row.id) for row in await atelier.dispatches()} == ids


async def in_time(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(60):
        while not await holds():  # noqa: ASYNC110 another process does it, and signals nobody
            await asyncio.sleep(0.1)


async def test_c1_to_c6_a_server_killed_under_orders_loses_none_and_makes_none_twice(
    house: House, twin: ServerProcess
) -> None:
    atelier = await Atelier.open(house)
    members = [await a_member(house, tenant=atelier.member.tenant, tokens=EACH * PRICE) for _ in range(USERS)]
    shown = {member.user.id: await a_video(house, member, media_type="image/png") for member in members}

    async def send(client: httpx2.AsyncClient, member: Member, number: int) -> httpx2.Response:
        body = {
            "effect": atelier.effect.slug,
            "video_id": str(shown[member.user.id].id),
            "properties": {"prompt": f"number {number}"},
            "idempotency_key": f"k-{number}",
        }
        return await client.post("/api/ai-jobs", json=body, headers=member.headers)

    wanted = [(member, number) for member in members for number in range(EACH)]
    async with httpx2.AsyncClient(base_url=twin.url, timeout=60) as client:
        tasks = [asyncio.create_task(send(client, *each)) for each in wanted]
        for _, answered in zip(range(len(wanted) // 4), asyncio.as_completed(tasks), strict=False):
            await answered
        twin.kill()
        first = await asyncio.gather(*tasks, return_exceptions=True)
        told = {str(each.json()["id"]) for each in first if isinstance(each, httpx2.Response)}
        assert 0 < len(told) < len(wanted), "it died in the middle"
        assert await atelier.broken() == []
        twin.start()
        answers = await asyncio.gather(*(send(client, *each) for each in wanted))
    assert {each.status_code for each in answers} == {201}, answers[0].text
    ids = {str(each.json()["id"]) for each in answers}
    assert told <= ids, "whatever was answered is still there"
    assert ids == {str(row.id) for row in await atelier.rows(ai_jobs)}
    assert len(ids) == len(await atelier.rows(token_transactions, type="JOB_RESERVE")) == len(wanted)
    await in_time(lambda: all_queued(atelier, ids))
    twin.kill()
    assert await atelier.broken() == []
