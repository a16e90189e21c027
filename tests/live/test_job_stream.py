"""One job's stream over a real socket, on both engines."""

import asyncio
import socket
from datetime import UTC, datetime

import pytest

from comfyfleet import jobs
from comfyfleet.kernel.page import PageRequest
from comfyfleet.tenants import Role
from comfyfleet.tenants.credentials import list_keys, revoke_key
from tests.builders import Member, a_member
from tests.watching import Replica, Stage, reading, settle


async def test_a_job_is_told_from_its_place_in_the_queue_to_its_end(
    replica: Replica, stage: Stage, owner: Member
) -> None:
    first, second = await stage.job_of(owner), await stage.job_of(owner)
    async with reading(replica, owner, second) as reader:
        assert (await reader.until("status")).data["status"] == "queued"
        queue = await reader.until("queue")
        assert (queue.data["position"], queue.data["estimated_start_s"]) == (2, 24.0)
        assert await stage.worker.lease(replica) == first
        assert (await reader.until("queue")).data["position"] == 1
        assert await stage.worker.lease(replica) == second
        assert (await reader.until("status")).data["status"] == "processing"
        await stage.worker.report(replica, second, 1, 2)
        await stage.worker.report(replica, second, 3, kind="node")
        await stage.worker.report(replica, second, 4, kind="log")
        await stage.worker.report(replica, second, 5, kind="preview", image="x")
        assert (await reader.until("preview")).data["data"] == {"value": 5, "image": "x"}
        await stage.worker.complete(replica, second)
        *_, last = await reader.rest()
    assert (last.event, last.data["status"], last.data["error"]) == ("status", "completed", None)
    assert [each.event for each in reader.read if each.event not in ("queue", "status")] == [
        "progress",
        "progress",
        "node",
        "log",
        "preview",
    ]
    assert {each.data["job_id"] for each in reader.read} == {str(second)}


async def test_a_queued_job_is_told_when_its_last_worker_left_and_until_when_it_waits(
    replica: Replica, stage: Stage, owner: Member
) -> None:
    job_id = await stage.job_of(owner)
    async with reading(replica, owner, job_id) as reader:
        queue = await reader.until("queue")
        assert (queue.data["waits_because"], queue.data["estimated_start_s"]) == (None, 12.0)
        await stage.worker.say(replica, "deregister")
        queue = await reader.until("queue")
        assert queue.data["waits_because"] == "No worker that can run it is online; a job waits until one is back."
        assert datetime.fromisoformat(queue.data["deadline_at"]) > datetime.now(UTC)


async def test_a_reader_that_comes_back_gets_the_rest_once(replica: Replica, stage: Stage, owner: Member) -> None:
    job_id = await stage.job_of(owner)
    await stage.worker.lease(replica)
    async with reading(replica, owner, job_id) as reader:
        await stage.worker.report(replica, job_id, 1, 2, 3)
        seen = await reader.until("progress", value=2)
    await stage.worker.report(replica, job_id, 4)
    async with reading(replica, owner, job_id, after=seen.id) as again:
        await stage.worker.report(replica, job_id, 5)
        await again.until("progress", value=5)
    assert again.values() == [3, 4, 5]
    assert not [each for each in again.read if each.event == "gap"]
    await stage.worker.complete(replica, job_id)
    async with reading(replica, owner, job_id, after=seen.id) as over:
        await over.rest()
    assert over.values() == [3, 4, 5]
    assert over.read[-1].data["status"] == "completed"
    headers = {**owner.headers, "Last-Event-ID": str(over.read[-1].id)}
    assert (await replica.client.get(f"/api/ai-jobs/{job_id}/events", headers=headers)).status_code == 204


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
async def test_after_a_restart_the_end_is_still_told(replica: Replica, stage: Stage, owner: Member) -> None:
    """What was in memory is gone, and whoever had read some of it is told that there is a gap."""
    job_id = await stage.job_of(owner)
    await stage.worker.lease(replica)
    await stage.worker.complete(replica, job_id)
    async with reading(replica, owner, job_id, after="1_0123456789ab.17") as reader:
        assert [each.event for each in await reader.rest()] == ["gap", "status"]
    async with reading(replica, owner, job_id, after="no id of ours") as reader:
        assert [(each.event, each.data["status"]) for each in await reader.rest()] == [("status", "completed")]


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
async def test_an_end_that_nobody_hinted_at_is_found(replica: Replica, stage: Stage, owner: Member) -> None:
    job_id = await stage.job_of(owner, queued=False)
    async with reading(replica, owner, job_id) as reader:
        await reader.until("status", status="queued")
        async with replica.house.tenant_tx(owner.tenant) as tx:
            assert await jobs.start_job(tx, job_id)
        await reader.until("status", status="processing")


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
async def test_a_failed_job_says_why_in_words_for_users(replica: Replica, stage: Stage, owner: Member) -> None:
    job_id = await stage.job_of(owner)
    await stage.worker.lease(replica)
    error = '{"exception_message": "no face found", "traceback": "/opt/secret/path"}'
    await stage.worker.say(replica, "fail", **stage.worker.jobs[job_id], error=error, error_class="user_input")
    await settle(replica)
    async with reading(replica, owner, job_id) as reader:
        [told] = await reader.rest()
    assert (told.data["status"], told.data["error"], told.data["error_class"]) == (
        "failed",
        "no face found",
        "user_input",
    )


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
async def test_nobody_but_its_owner_may_watch(replica: Replica, stage: Stage, owner: Member) -> None:
    job_id = await stage.job_of(owner)
    colleague = await a_member(replica.house, tenant=owner.tenant, role=Role.ADMIN)
    for who in (colleague, await a_member(replica.house)):
        answer = await replica.client.get(f"/api/ai-jobs/{job_id}/events", headers=who.headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
async def test_a_revoked_key_ends_the_stream(replica: Replica, stage: Stage, owner: Member) -> None:
    job_id = await stage.job_of(owner)
    async with reading(replica, owner, job_id) as reader, reading(replica, owner) as all_jobs:
        await reader.until("status")
        async with replica.house.control_tx() as tx:
            [key] = (await list_keys(tx, owner.user.id, PageRequest())).rows
            await revoke_key(tx, key.id)
        await asyncio.gather(reader.rest(), all_jobs.rest())
    assert "stopping" not in {each.event for each in [*reader.read, *all_jobs.read]}


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
async def test_a_server_that_stops_says_so(replica: Replica, stage: Stage, owner: Member) -> None:
    job_id = await stage.job_of(owner)
    async with reading(replica, owner, job_id) as reader, reading(replica, owner) as all_jobs:
        await reader.until("status")
        await all_jobs.until("status")
        await replica.stop()
        assert (await reader.rest())[-1].event == "stopping"
        assert (await all_jobs.rest())[-1].event == "stopping"


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
async def test_who_reads_nothing_any_more_is_let_go(
    replica: Replica, stage: Stage, owner: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its connection stands, but nobody takes anything: what is kept for it must not stay for ever."""
    monkeypatch.setattr("comfyfleet.api.tenant.events.SENT_WITHIN_S", 0.2)
    job_id = await stage.job_of(owner)
    await stage.worker.lease(replica)
    with socket.socket() as asleep:
        asleep.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        asleep.connect(("127.0.0.1", int(replica.url.rpartition(":")[2])))
        head = f"GET /api/ai-jobs/{job_id}/events HTTP/1.1\r\nHost: x\r\n"
        asleep.sendall(f"{head}Authorization: {owner.headers['Authorization']}\r\n\r\n".encode())
        async with asyncio.timeout(30):
            while not replica.house.live._readers:  # noqa: ASYNC110 nobody is told
                await asyncio.sleep(0.01)
            while replica.house.live._readers:
                await stage.worker.report(replica, job_id, 1, kind="preview", image="x" * 500_000)
                await asyncio.sleep(0.01)
    assert replica.house.live.hub.topics == []
    assert not replica.house.live.states._followed


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
async def test_one_user_has_so_many_streams_and_no_more(
    replica: Replica, stage: Stage, owner: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("comfyfleet.live.live.STREAMS_PER_USER_MAX", 1)
    job_id = await stage.job_of(owner)
    async with reading(replica, owner, job_id) as reader:
        await reader.until("status")
        answer = await replica.client.get("/api/events", headers=owner.headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (429, "rate_limited")
    async with asyncio.timeout(10):
        while replica.house.live._readers:  # noqa: ASYNC110 a reader that hangs up is noticed
            await asyncio.sleep(0.01)
    assert replica.house.live.hub.topics == []
