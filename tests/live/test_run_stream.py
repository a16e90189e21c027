"""Runs of a user on their stream: told by whoever changed them, at whichever replica."""

from uuid import UUID

import pytest

from comfyfleet.house import House
from comfyfleet.kernel.ids import RunId
from tests.builders import a_member
from tests.database.pipelines.studio import Studio
from tests.watching import Replica, reading


async def _end_all(studio: Studio, house: House) -> None:
    """As upkeep does it."""
    for row in await studio.under_way():
        await studio.complete(row.job_id)
        house.live.changed_runs([RunId(row.run_id)])


async def test_a_run_is_told_as_it_changes(replica: Replica, monkeypatch: pytest.MonkeyPatch) -> None:
    """By those who did it, not found by looking."""
    monkeypatch.setattr("comfyfleet.live.watch_user.LIST_EVERY_S", 3600.0)
    studio = await Studio.open(replica.house)
    headers = studio.member.headers
    body = {"pipeline": "gym-shoot", "variables": {"subject": "cat", "prompt": "p"}, "target_folder": "gym"}
    async with reading(replica, studio.member) as reader:
        made = await replica.client.post(
            "/api/pipeline-runs", json={**body, "variants": 2, "top": 1, "concurrency": 4}, headers=headers
        )
        run_id = made.json()["id"]
        await reader.until("run", run_id=run_id, status="pending")
        await studio.advance()
        assert (await reader.until("run", run_id=run_id, in_flight=2)).data["steps"][0]["made"] == 0
        await _end_all(studio, replica.house)
        await studio.advance()
        told = await reader.until("run", run_id=run_id, status="waiting_for_approval")
        assert told.data["steps"][0] == {
            "position": 0, "made": 2, "alive": 2, "in_flight": 0, "failures": 0, "votes": 0, "top": None,
        }  # fmt: skip
        first, second = await studio.candidates(RunId(UUID(run_id)))
        vote = {"winner_id": str(first.id), "loser_id": str(second.id)}
        await replica.client.post("/api/votes", json=vote, headers=headers)
        while (await reader.until("run", run_id=run_id)).data["steps"][0]["votes"] != 1:
            pass
        await replica.client.post(f"/api/pipeline-runs/{run_id}/pause", headers=headers)
        await reader.until("run", run_id=run_id, status="paused")
    stranger = await a_member(replica.house)
    async with reading(replica, stranger) as other, reading(replica, studio.member) as again:
        await again.until("run", run_id=run_id, status="paused")
        await replica.client.post(f"/api/pipeline-runs/{run_id}/stop", headers=headers)
        await again.until("run", run_id=run_id, status="stopped")
    assert [each for each in other.read if each.event == "run"] == []


@pytest.mark.parametrize("engine", ["postgresql"], indirect=True)
async def test_a_run_is_told_at_another_replica(
    replica: Replica, other: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("comfyfleet.live.watch_user.LIST_EVERY_S", 3600.0)
    studio = await Studio.open(replica.house)
    run_id = await studio.start(concurrency=4)
    async with reading(other, studio.member) as reader:
        await reader.until("run", run_id=str(run_id), status="pending")
        await studio.advance()
        await reader.until("run", run_id=str(run_id), in_flight=2)
        await _end_all(studio, replica.house)
        await studio.advance()
        await reader.until("run", run_id=str(run_id), status="waiting_for_approval")
