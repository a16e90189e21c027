"""All jobs of one user in one stream."""

import pytest

from comfyfleet.api.crediting import credit
from comfyfleet.audit import Actor
from tests.api.asking import at
from tests.api.ordering import Studio
from tests.builders import Member, a_member
from tests.watching import Replica, Stage, reading


async def test_all_jobs_of_a_user_and_nobody_elses(replica: Replica, stage: Stage, owner: Member) -> None:
    before = await stage.job_of(owner)
    async with reading(replica, owner) as reader:
        await reader.until("status", job_id=str(before), status="queued")
        stranger = await stage.job_of(await a_member(replica.house))
        later = await stage.job_of(owner)
        await reader.until("status", job_id=str(later), status="queued")
        leased = {await stage.worker.lease(replica) for _ in range(3)}
        assert leased == {before, later, stranger}
        for job_id in leased:
            await stage.worker.report(replica, job_id, 1, kind="preview")
            await stage.worker.report(replica, job_id, 2, kind="log")
            await stage.worker.report(replica, job_id, 3)
        for job_id in (before, later):
            await stage.worker.complete(replica, job_id)
            await reader.until("status", job_id=str(job_id), status="completed")
    of_jobs = [each for each in reader.read if each.event != "effects"]
    assert {each.data["job_id"] for each in of_jobs} == {str(before), str(later)}
    assert {each.event for each in of_jobs} == {"status", "queue", "progress"}
    assert reader.values() == [3, 3]


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
async def test_previews_come_on_request(replica: Replica, stage: Stage, owner: Member) -> None:
    job_id = await stage.job_of(owner)
    await stage.worker.lease(replica)
    async with reading(replica, owner, previews="true") as reader:
        await reader.until("status", status="processing")
        await stage.worker.report(replica, job_id, 7, kind="preview")
        assert (await reader.until("preview")).data["data"] == {"value": 7}


async def test_who_comes_back_hears_of_what_ended_meanwhile(replica: Replica, stage: Stage, owner: Member) -> None:
    ended, running = await stage.job_of(owner), await stage.job_of(owner)
    async with reading(replica, owner) as reader:
        seen = await reader.until("status", job_id=str(running))
    for _ in range(2):
        await stage.worker.lease(replica)
    await stage.worker.report(replica, running, 1, 2)
    await stage.worker.complete(replica, ended)
    async with reading(replica, owner, after=seen.id) as again:
        await again.until("progress", value=2)
    told = {each.data["job_id"]: each.data["status"] for each in again.read if each.event == "status"}
    assert told[str(ended)] == "completed"
    assert again.values() == [2]


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
async def test_a_garbled_id_is_as_none(replica: Replica, stage: Stage, owner: Member) -> None:
    job_id = await stage.job_of(owner)
    for garbage in ("x", "2026-01-01T00:00:00", "9" * 300):
        async with reading(replica, owner, after=garbage) as reader:
            await reader.until("status", job_id=str(job_id))


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
async def test_what_is_ordered_and_begun_shows_at_once(replica: Replica, monkeypatch: pytest.MonkeyPatch) -> None:
    """Told by those who did it, not found by looking."""
    for name in ("states.LOOK_EVERY_S", "watch_user.LIST_EVERY_S"):
        monkeypatch.setattr(f"comfyfleet.live.{name}", 3600.0)
    studio = await Studio.open(replica.house, replica.client)
    async with reading(replica, studio.member) as reader:
        first = await studio.ordered()
        await reader.until("status", job_id=first, status="queued")
        await studio.leased()
        await reader.until("status", job_id=first, status="processing")
        second = (await studio.say("cancel", await studio.ordered())).json()["id"]
        await reader.until("status", job_id=second, status="cancelled")
        waits = await studio.ordered(properties={"prompt": "x"})
        await studio.relay()
        assert (await reader.until("queue", job_id=waits)).data["position"] == 1
        assert (await studio.job(waits))["queue"]["position"] == 1


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
async def test_tokens_that_were_added_are_told_to_their_owner(replica: Replica, stage: Stage, owner: Member) -> None:
    await stage.job_of(owner)
    async with reading(replica, owner) as reader:
        await reader.until("status")
        stranger = await a_member(replica.house)
        for each in (stranger, owner):
            await credit(replica.house, each.tenant, each.user.id, 5, "pay-1", actor=Actor("cli", "test"))
        await reader.until("wallet")
    assert [each.event for each in reader.read].count("wallet") == 1
    # The next stream is not told of it as if it were new: only of what comes.
    job_id = await stage.job_of(owner)
    async with reading(replica, owner) as later:
        await later.until("status", job_id=str(job_id))
        await credit(replica.house, owner.tenant, owner.user.id, 5, "pay-2", actor=Actor("cli", "test"))
        await later.until("wallet")
    assert [each.event for each in later.read].count("wallet") == 1


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
async def test_a_stream_says_that_it_lives(
    replica: Replica, stage: Stage, owner: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By an event: browsers show no comments."""
    monkeypatch.setattr("comfyfleet.live.watch.PING_EVERY_S", 0.0)
    job_id = await stage.job_of(owner)
    await stage.worker.lease(replica)
    async with reading(replica, owner) as reader:
        await reader.until("status", job_id=str(job_id), status="processing")
        await stage.worker.report(replica, job_id, 1)
        await reader.until("progress")
        await stage.worker.report(replica, job_id, 2)
        await reader.until("progress", value=2)
    assert reader.pings > 0


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
async def test_an_endless_stream_asked_for_in_process_ends_and_says_so(
    replica: Replica, owner: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when `..` in an address is folded away, and another one answers than was meant."""
    monkeypatch.setattr("tests.api.asking.ANSWER_WITHIN_S", 0.3)
    async with at(replica.app) as client:
        with pytest.raises(AssertionError, match="GET /api/events: is it an endless stream"):
            await client.get("/api/ai-jobs/../events", headers=owner.headers)
    assert not replica.house.live._readers
