"""Two replicas on one PostgreSQL: what is posted to one reaches the readers of the other, in order, once."""

import asyncio

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from comfyfleet.kernel.ids import new_id
from comfyfleet.live import Followed, wait_until_over
from comfyfleet.settings import Settings
from comfyfleet.wire import replica_v1 as wire
from tests.builders import Member
from tests.watching import Replica, Stage, a_replica, acquainted, reading

pytestmark = pytest.mark.parametrize("engine", ["postgresql"], indirect=True)


async def test_events_cross_over_in_order_and_once(
    replica: Replica, other: Replica, stage: Stage, owner: Member
) -> None:
    job_id = await stage.job_of(owner)
    await stage.worker.lease(other)
    await stage.worker.report(other, job_id, 0)
    async with reading(replica, owner, job_id) as here, reading(other, owner, job_id) as there:
        await here.until("progress", value=0)
        for value in range(1, 60):
            # Now to one, now to the other, as a load balancer would have it.
            await stage.worker.report(replica if value % 3 else other, job_id, value)
        await stage.worker.report(other, job_id, 1, kind="preview")
        await stage.worker.complete(other, job_id)
        await asyncio.gather(here.rest(), there.rest())
    assert here.values() == there.values() == list(range(60))
    assert here.values("preview") == there.values("preview") == [1]
    assert here.read[-1].data["status"] == there.read[-1].data["status"] == "completed"
    assert "gap" not in {each.event for each in [*here.read, *there.read]}


async def test_a_reader_goes_on_at_the_other_replica(
    replica: Replica, other: Replica, stage: Stage, owner: Member
) -> None:
    job_id = await stage.job_of(owner)
    await stage.worker.lease(replica)
    async with reading(replica, owner, job_id) as reader:
        await stage.worker.report(replica, job_id, 1, 2)
        await stage.worker.report(other, job_id, 3)
        seen = await reader.until("progress", value=3)
    await stage.worker.report(replica, job_id, 4)
    await stage.worker.report(other, job_id, 5)
    async with reading(other, owner, job_id, after=seen.id) as again:
        await again.until("progress", value=5)
    assert again.values() == [4, 5]
    await stage.worker.complete(replica, job_id)
    async with reading(other, owner, job_id, after=seen.id) as over:
        await over.rest()
    assert over.values() == [4, 5]
    assert (over.read[-1].event, over.read[-1].data["status"]) == ("status", "completed")
    assert "gap" not in {each.event for each in [*again.read, *over.read]}


async def test_the_stream_of_a_user_hears_of_jobs_made_elsewhere(
    replica: Replica, other: Replica, stage: Stage, owner: Member
) -> None:
    async with reading(replica, owner) as reader:
        async with asyncio.timeout(10):
            while owner.user.id not in other.house.live.hub._ears:  # noqa: ASYNC110 nobody is told
                await asyncio.sleep(0.01)
        job_id = await stage.job_of(owner, replica=other)
        await reader.until("status", job_id=str(job_id), status="queued")
        await stage.worker.lease(other)
        await reader.until("status", status="processing")
        await stage.worker.report(other, job_id, 1)
        await reader.until("progress", value=1)
        await stage.worker.complete(other, job_id)
        await reader.until("status", status="completed")


async def test_a_replica_that_dies_takes_nobody_with_it(
    settings: Settings, replica: Replica, stage: Stage, owner: Member
) -> None:
    job_id = await stage.job_of(owner)
    async with reading(replica, owner, job_id) as reader:
        async with a_replica(settings) as short_lived:
            await acquainted(replica, short_lived)
            await stage.worker.lease(short_lived)
            await stage.worker.report(short_lived, job_id, 1)
            seen = await reader.until("progress", value=1)
        await stage.worker.report(replica, job_id, 2)
        await reader.until("progress", value=2)
        async with a_replica(settings) as successor:
            await acquainted(replica, successor)
            await stage.worker.report(successor, job_id, 3)
            await reader.until("progress", value=3)
        async with reading(replica, owner, job_id, after=seen.id) as again:
            assert (await again.next()).event == "gap"  # type: ignore[union-attr]
            await again.until("progress", value=2)
    assert reader.values() == [1, 2, 3]


async def test_a_replica_lets_nobody_listen_who_does_not_hold_the_key(replica: Replica, other: Replica) -> None:
    url = f"ws{replica.url.removeprefix('http')}{wire.PATH}"
    live = replica.house.live
    good = live.signer.token(caller=new_id(), called=live.me.id).reveal()
    old = live.signer.token(caller=new_id(), called=live.me.id, at=1_000_000_000).reveal()
    for_another = live.signer.token(caller=new_id(), called=other.house.live.me.id).reveal()
    for header in (
        None,
        "Bearer x",
        "Replica x",
        f"Replica {good[:-4]}AAAA",
        f"Replica {old}",
        f"Replica {for_another}",
    ):
        with pytest.raises(InvalidStatus):
            async with connect(url, additional_headers={"Authorization": header} if header else {}, proxy=None):
                pass
    async with connect(url, additional_headers={"Authorization": f"Replica {good}"}, proxy=None) as connection:
        await connection.send(b"no message of ours")
        await connection.wait_closed()


async def test_a_replica_that_stops_is_forgotten(settings: Settings, replica: Replica) -> None:
    async with a_replica(settings) as short_lived:
        await acquainted(replica, short_lived)
        assert replica.house.live.links_open == 1
    async with asyncio.timeout(20):
        while replica.house.live._links:
            await replica.house.live.meet()
            await asyncio.sleep(0.05)


async def test_how_far_a_job_is_can_be_asked_of_any_replica(
    replica: Replica, other: Replica, stage: Stage, owner: Member
) -> None:
    job_id = await stage.job_of(owner)
    await stage.worker.lease(other)
    for fraction in (0.25, 0.5):
        lease = {**stage.worker.jobs[job_id], "progress": fraction, "node": "3"}
        await stage.worker.say(other, "heartbeat", leases=[lease])
        for asked in (replica, other):
            shown = (await asked.client.get(f"/api/ai-jobs/{job_id}", headers=owner.headers)).json()
            assert (shown["status"], shown["queue"]) == ("processing", None)
            assert (shown["progress"]["fraction"], shown["progress"]["node"]) == (fraction, "3")
    assert replica.house.live.hub.topics == []


async def test_who_waits_for_an_end_is_woken_by_whoever_settles(
    replica: Replica, other: Replica, stage: Stage, owner: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the hint alone: nobody looks by itself here."""
    monkeypatch.setattr("comfyfleet.live.states.LOOK_EVERY_S", 3600.0)
    job_id = await stage.job_of(owner)
    await stage.worker.lease(other)
    job = Followed(job_id, owner.tenant.id, owner.user.id, "main")
    waiting = asyncio.create_task(wait_until_over(replica.house.live, job, within_s=30))
    async with asyncio.timeout(20):
        while job_id not in other.house.live.hub._ears:  # noqa: ASYNC110 nobody is told
            await asyncio.sleep(0.01)
    await stage.worker.complete(other, job_id)
    assert await waiting
    assert await wait_until_over(replica.house.live, job, within_s=30)
    assert not await wait_until_over(
        replica.house.live, Followed(await stage.job_of(owner), owner.tenant.id, owner.user.id, "main"), within_s=0
    )
    assert replica.house.live.hub.topics == []
