"""Pipelines and runs over HTTP: a run played to its end, taken in hand, and all that is refused."""

from typing import Any
from uuid import UUID

import httpx2
import pytest

from comfyfleet.house import House
from comfyfleet.kernel.ids import JobId, new_id
from tests.api.asking import Json, fault, row_counts
from tests.builders import a_member
from tests.database.pipelines.studio import PRICE, RICH, STEPS, VARIABLES, Studio

Client = httpx2.AsyncClient
RUN: Json = {
    "pipeline": "gym-shoot",
    "name": "night",
    "variables": VARIABLES,
    "target_folder": "gym/november",
    "variants": 2,
    "top": 1,
    "concurrency": 4,
}


class Desk:
    """A user's programs, and the house behind them."""

    def __init__(self, client: Client, studio: Studio) -> None:
        self.client, self.studio, self.headers = client, studio, studio.member.headers

    async def ask(self, method: str, path: str, **said: Any) -> httpx2.Response:
        return await self.client.request(method, f"/api{path}", headers=self.headers, **said)

    async def post(self, path: str, body: Json | None = None, *, status: int = 200) -> Json:
        answer = await self.ask("POST", path, json=body if body is not None else {})
        assert answer.status_code == status, answer.text
        found: Json = answer.json()
        return found

    async def get(self, path: str, **params: Any) -> Json:
        answer = await self.ask("GET", path, params=params)
        assert answer.status_code == 200, answer.text
        found: Json = answer.json()
        return found

    async def refused(self, path: str, body: Json, *, status: int = 422) -> str:
        before = await row_counts(self.studio.house)
        answer = await self.ask("POST", path, json=body)
        assert answer.status_code == status, answer.text
        assert await row_counts(self.studio.house) == before
        return str(fault(answer)["message"])

    async def start(self, **given: Any) -> str:
        return str((await self.post("/pipeline-runs", {**RUN, **given}, status=201))["id"])


@pytest.fixture
async def desk(client: Client, house: House) -> Desk:
    return Desk(client, await Studio.open(house))


async def test_a_run_over_http_from_pipeline_to_finals(desk: Desk) -> None:
    applied = await desk.post("/pipelines", {"name": "Gym shoot", "steps": STEPS})
    assert (applied["is_new"], applied["pipeline"]["variables"]) == (False, ["subject", "prompt"])
    assert [each["slug"] for each in (await desk.get("/pipelines"))["pipelines"]] == ["gym-shoot"]
    run_id = await desk.start()
    await desk.studio.work()
    run = await desk.get(f"/pipeline-runs/{run_id}")
    assert (run["status"], run["steps"][0]["made"], run["tokens_spent"]) == ("waiting_for_approval", 2, 2 * PRICE)
    pair = (await desk.get(f"/pipeline-runs/{run_id}/pair", position=0))["pair"]
    vote = {"winner_id": pair[0]["id"], "loser_id": pair[1]["id"], "idempotency_key": "v"}
    assert (await desk.post("/votes", vote, status=201)) == (await desk.post("/votes", vote, status=201))
    ranking = (await desk.get(f"/pipeline-runs/{run_id}/ranking"))["candidates"]
    assert [each["elo"] for each in ranking] == [1016.0, 984.0]
    await desk.post(f"/pipeline-runs/{run_id}/approve", {"position": 0})
    await desk.studio.work()
    await desk.post(f"/pipeline-runs/{run_id}/approve", {"position": 1, "top": 2})
    await desk.studio.work()
    run = await desk.get(f"/pipeline-runs/{run_id}")
    assert (run["status"], [step["made"] for step in run["steps"]]) == ("completed", [2, 2, 4])
    children = (await desk.get(f"/candidates/{pair[0]['id']}/children"))["candidates"]
    assert {each["parent_id"] for each in children} == {pair[0]["id"]}
    final = (await desk.get(f"/pipeline-runs/{run_id}/candidates", position=2))["candidates"][0]
    assert final["name"].startswith(f"gym/november/finish/{final['id']}_")
    assert final["name"].endswith(".png")
    assert final["url"]
    making = await desk.get(f"/candidates/{final['id']}/making")
    assert (making["effect"], making["graph"]["4"]["inputs"]["seed"]) == ("refine", final["seed"])
    assert len((await desk.get(f"/pipeline-runs/{run_id}/votes"))["votes"]) == 1
    assert [each["id"] for each in (await desk.get("/pipeline-runs", status="completed"))["runs"]] == [run_id]


async def test_a_run_is_paused_raised_retried_reopened_and_stopped(desk: Desk) -> None:
    run_id = await desk.start(jobs_max=3, concurrency=1)
    studio = desk.studio
    await studio.advance()
    [row] = await studio.under_way()
    await studio.fail(row.job_id)
    failed = (await desk.get(f"/pipeline-runs/{run_id}/jobs", state="failed"))["jobs"]
    assert [(each["job_id"], each["error"]) for each in failed] == [(str(row.job_id), "it broke")]
    assert (await desk.post(f"/pipeline-runs/{run_id}/pause"))["status"] == "paused"
    retried = await desk.post(f"/pipeline-runs/{run_id}/jobs/{row.job_id}/retry", status=201)
    await studio.complete(JobId(UUID(retried["job_id"])))
    assert (await desk.post(f"/pipeline-runs/{run_id}/resume"))["status"] == "running"
    await studio.work()
    await desk.post(f"/pipeline-runs/{run_id}/approve", {"position": 0})
    await studio.advance()
    run = await desk.get(f"/pipeline-runs/{run_id}")
    assert (run["status"], run["status_reason"]) == ("paused", "budget_jobs")
    assert (await desk.post(f"/pipeline-runs/{run_id}/budget", {"jobs_max": 9}))["status"] == "running"
    assert (await desk.post(f"/pipeline-runs/{run_id}/reopen", {"position": 0}))["steps"][0]["top"] is None
    await desk.post(f"/pipeline-runs/{run_id}/approve", {"position": 0})
    await studio.advance()
    stopped = await desk.post(f"/pipeline-runs/{run_id}/stop")
    assert (stopped["status"], stopped["in_flight"]) == ("stopped", 0)
    assert await studio.balance() == RICH - 2 * PRICE
    assert await studio.broken() == []


async def test_a_rejected_candidate_takes_its_branch_and_its_queued_jobs_along(desk: Desk) -> None:
    run_id = await desk.start(approval={"kind": "all"}, top=2)
    await desk.studio.advance()
    for row in await desk.studio.under_way():
        await desk.studio.complete(row.job_id)
    await desk.studio.advance()
    bad = (await desk.get(f"/pipeline-runs/{run_id}/candidates"))["candidates"][0]
    answer = await desk.post(f"/candidates/{bad['id']}/reject")
    assert (answer["gone"], answer["candidate"]["status"]) == (1, "rejected")
    assert len(await desk.studio.under_way()) == 2
    assert await desk.studio.balance() == RICH - 4 * PRICE
    assert (await desk.get(f"/pipeline-runs/{run_id}/jobs", state="cancelled"))["jobs"]
    assert await desk.studio.broken() == []


def a_step(**given: Any) -> Json:
    return {"name": "Base", "effect": "base", "needs": {"variables": ["prompt"]}, **given}


REFUSED_PIPELINES: list[tuple[list[Json], str]] = [
    ([a_step(effect="nothing")], "steps.0.effect: there is no effect"),
    ([a_step(), a_step(name="Next")], "steps.1.needs.parent: the effect 'base' takes no picture"),
    ([a_step(effect="refine")], "steps.0.effect: 'refine' needs a picture"),
    ([a_step(needs={"parent": True})], "steps.0.needs.parent: the first step"),
    ([a_step(needs={})], "steps.0.properties.prompt: is needed"),
    ([a_step(), a_step()], "steps.1.name: makes the same folder name"),
    ([a_step(name="!!!")], "steps.0.name: needs a letter"),
    ([a_step(name="con")], "steps.0.slug: 'con' is a name that Windows"),
    ([a_step(properties={"colour": "red"})], "steps.0.properties.colour: is not open"),
    ([a_step(properties={"steps": 500})], "steps.0.properties.steps:"),
    ([a_step(properties={"prompt": "a {subject}"})], "steps.0.properties.prompt: uses the variable 'subject'"),
    ([a_step(needs={"variables": ["a b"]})], "steps.0.needs.variables.0: must begin with a letter"),
    (
        [a_step(needs={"parent": "Next"}), a_step(name="Next", needs={"parent": "Base"})],
        "steps.0.needs.parent: the needs go round in a circle: 'Base' → 'Next' → 'Base'",
    ),
    ([a_step(), a_step(name="Next", needs={"parent": "Next"})], "steps.1.needs.parent: the needs go round"),
    ([a_step(), a_step(name="Next", needs={"parent": "Nobody"})], "steps.1.needs.parent: there is no step 'Nobody'"),
]


async def test_a_pipeline_that_cannot_work_is_refused_by_the_field(desk: Desk) -> None:
    for steps, message in REFUSED_PIPELINES:
        said = await desk.refused("/pipelines", {"name": "Bad", "steps": steps})
        assert said.startswith(message), (said, message)


REFUSED_RUNS: list[tuple[Json, str]] = [
    ({"variables": {"subject": "x"}}, "variables.prompt: is needed"),
    ({"variables": {**VARIABLES, "more": 1}}, "variables.more: is not used"),
    ({"variables": {**VARIABLES, "prompt": "a\x00b"}}, "variables.prompt: holds a NUL"),
    ({"target_folder": "../up"}, "target_folder: must not contain '..'"),
    ({"target_folder": "/etc"}, "target_folder: must be relative"),
    ({"tokens_max": -1}, "tokens_max:"),
    ({"jobs_max": -1}, "jobs_max:"),
    ({"hours_max": -0.5}, "hours_max:"),
    ({"concurrency": 101}, "concurrency: must be from 1 to 100"),
    ({"approval": {"kind": "votes"}}, "approval.after:"),
    ({"approval": {"kind": "scorer", "scorer": "taste"}}, "approval.scorer: must be one of"),
    ({"pipeline_id": str(new_id())}, "pipeline_id: name the pipeline"),
]


async def test_a_run_that_cannot_work_is_refused_and_nothing_is_started(desk: Desk) -> None:
    for given, message in REFUSED_RUNS:
        said = await desk.refused("/pipeline-runs", {**RUN, **given})
        assert said.startswith(message), (said, message)
    await desk.refused("/pipeline-runs", {**RUN, "pipeline": "nobody"}, status=404)


async def test_votes_and_gates_that_make_no_sense_are_refused(desk: Desk, house: House) -> None:
    run_id = await desk.start(approval={"kind": "all"})
    assert "no candidates" in await desk.refused(f"/pipeline-runs/{run_id}/approve", {"position": 0})
    await desk.studio.work()
    one, two = (await desk.get(f"/pipeline-runs/{run_id}/candidates", position=0))["candidates"]
    child = (await desk.get(f"/pipeline-runs/{run_id}/candidates", position=1))["candidates"][0]
    assert "same step" in await desk.refused("/votes", {"winner_id": one["id"], "loser_id": child["id"]})
    assert "last step" in await desk.refused(f"/pipeline-runs/{run_id}/approve", {"position": 2})
    await desk.post(f"/candidates/{two['id']}/reject")
    assert "was rejected" in await desk.refused("/votes", {"winner_id": one["id"], "loser_id": two["id"]})
    stranger = Desk(desk.client, Studio(house, await a_member(house), desk.studio.pipeline))
    for body in ({"winner_id": one["id"], "loser_id": two["id"]}, {"winner_id": str(new_id()), "loser_id": one["id"]}):
        said = await stranger.refused("/votes", body, status=404)
        assert said == f"There is no candidate '{body['winner_id']}'."
